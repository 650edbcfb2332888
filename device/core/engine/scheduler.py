"""Whose turn it is: queues of all clients share the engines, by priority and without starving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.effects import Effect, RunChunk, WakeAt
from device.core.engine.counters import SchedulerStatistics
from device.core.engine.engines import CopyEngines
from device.core.engine.executor import Executor
from device.core.engine.fences import Fences
from device.core.engine.large import INLINE_BYTES
from device.core.engine.line import Line
from device.core.engine.notices import Notices
from device.core.engine.steps import (
    DOORBELL,
    IDLE,
    READY,
    RESET,
    SHARES,
    Activity,
    Hold,
    Later,
    Next,
    Outcome,
    Priority,
    Quantum,
)
from device.core.engine.turns import Turns
from device.core.errors import DeviceError, InternalError, InvariantError
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.engine.pools import FencePool
    from device.core.engine.ports import TakesTurns
    from device.core.engine.queue import WorkQueue
    from device.core.memory import Chunk, MemoryController
    from device.core.spec import DeviceSpec

MOST_TURNS: Final = 32
"""Turns of one call of `work`."""
MOST_LONG_STEPS: Final = 4
"""Turns of one call of `work` that were steps of commands which take long (milliseconds)."""
MOST_BYTES: Final = 4 << 20
"""Bytes that the turns of one call of `work` move, about: a millisecond or two."""
ALONE: Final = 16
"""A queue that is alone has turns this many times as long in commands, so that batches pay."""
ALONE_BYTES: Final = 4 << 20
"""Bytes of a turn of a queue that is alone: half a millisecond."""
_NORMAL: Final = SHARES[Priority.NORMAL]


@final
class Scheduler:
    """Runs the work queues of all clients.

    Owner: the device. Every client that has queues in line has one turn before any has a second,
    and so have the queues of each; a turn ends after so many commands or bytes. Invariants: a queue
    stands in line exactly while its activity is READY, among the delayed exactly while DELAYED;
    `work` is bounded by `MOST_TURNS` turns. A device reset loses or removes all queues; counters
    stay.
    """

    def __init__(self, memory: MemoryController, spec: DeviceSpec) -> None:
        self._notices = Notices()
        self.fences = Fences(self._notices)
        """Which queues wait for which fences."""
        self._engines = CopyEngines(spec.copy_engines)
        self._executor = Executor(memory, spec, self.fences)
        self.runner = Turns(memory, self._executor, self.fences, self._notices)
        """Runs queues."""
        self.turns: TakesTurns = self.runner
        """What is asked to; something may come in front of it (see `ports`)."""
        self._alone = Quantum(spec.slice_commands * ALONE, ALONE_BYTES)
        self._quanta = {
            priority: Quantum(
                max(1, spec.slice_commands * share // _NORMAL), INLINE_BYTES * share // _NORMAL
            )
            for priority, share in SHARES.items()
        }
        self._queues: dict[WorkQueue, None] = {}
        self._line = Line()
        self._delayed: list[WorkQueue] = []
        self._chunk_count = self._turn_count = 0
        self._past_commands = self._past_faults = 0
        self.current: WorkQueue | None = None
        """Between calls: the queue whose turn ended the last one with an exception, or None."""

    @property
    def has_work(self) -> bool:
        """Whether another call of `work` is useful now; looks at fences that queues wait for."""
        # Most of the time nobody waits for anything, and a device that polls asks all the time.
        return bool(self._line) or (self.waits and (self._engines.can_grant or self.fences.poll()))

    @property
    def waits(self) -> bool:
        """Whether queues wait for an engine or a fence, or were released by one."""
        return bool(self._engines.line or self.fences.waits or self.fences.released)

    def add(self, queue: WorkQueue) -> None:
        """Take over a queue; it runs from its first doorbell (`kick`) on.

        Raises:
            InternalError: it is here already, or was removed or lost before.
        """
        if queue in self._queues or queue.activity is not Activity.IDLE:
            raise InternalError(f"queue {queue.queue_id} added while {queue.activity.name}")
        self._queues[queue] = None

    def kick(self, queue: WorkQueue) -> None:
        """Look at a queue's ring: its doorbell word changed. Harmless at any time."""
        if queue.activity is IDLE:
            queue.activity = READY
            self._line.append(queue)
        elif queue.activity is Activity.STOPPED:
            # What comes now is never run, and whoever waits for it has to know.
            self.fences.abandon(queue, Status.FAULT)

    def work(self, now: int) -> list[Effect]:
        """Give queues in line their turns, so many, and return what the shell has to do.

        Raises:
            InternalError: a bug while `current` had its turn; everybody else is as before.
        """
        self.current = None
        fences, engines = self.fences, self._engines
        if self._delayed or fences.waits or fences.released:
            self._wake(now)
        line = self._line
        ready = len(line)
        long_steps = moved = 0
        for _ in range(min(ready, MOST_TURNS)):
            queue = self.current = line.popleft()
            quantum = self._alone if ready == 1 else self._quanta[queue.priority]
            before = queue.bytes_moved
            outcome = self.turns.run(queue, now, quantum)
            moved += queue.bytes_moved - before
            if outcome is DOORBELL:
                queue.activity = IDLE
            else:
                self._settle(queue, outcome)
            self.current = None
            self._turn_count += 1
            if fences.released:
                self._release()
            long_steps += outcome == ()
            if moved >= MOST_BYTES or long_steps == MOST_LONG_STEPS:
                break
        effects = self._notices.drain()
        if engines.line and engines.can_grant:
            chunks = engines.grant()
            self._chunk_count += len(chunks)
            effects += map(RunChunk, chunks)
        if self._delayed:
            effects.append(WakeAt(min(queue.clock for queue in self._delayed)))
        return effects

    def chunk_done(self, chunk: Chunk) -> None:
        """Take back a chunk that was run; `chunk.error` says how it went.

        Raises:
            InternalError: a chunk that is not in flight.
        """
        queue = self._engines.done(chunk)
        if queue is not None and queue.activity is Activity.MOVING:
            self._stand_in_line(queue)

    def quiesced(self, vmid: int, va: int, size: int) -> bool:
        """Whether no engine holds a translation of a range of an address space.

        Engines hold them between the steps of a large copy only, until its chunks are done: this
        is the acknowledgement of an invalidation. What comes later is translated anew.
        """
        return self._engines.quiesced(vmid, va, size)

    def busy(self, queue: WorkQueue) -> bool:
        """Whether a chunk of the queue runs in the shell; it may outlive the queue's removal."""
        return self._engines.busy(queue)

    def reset_queue(self, queue: WorkQueue) -> None:
        """Empty a queue's ring and let it run again (QUEUE_RESET).

        Raises:
            DeviceError: DEVICE_LOST for a queue that was lost; IN_USE while a chunk of it is in
                flight. Nothing changed.
        """
        if queue.activity is Activity.GONE:
            raise DeviceError(Status.DEVICE_LOST)
        if self._engines.busy(queue):
            raise DeviceError(Status.IN_USE)
        self._forget(queue)
        self.fences.abandon(queue, Status.FAULT)
        queue.reset()

    def remove(self, queue: WorkQueue) -> bool:
        """Let go of a queue; commands not begun, and the rest of one in hand, are dropped.

        Returns:
            Whether memory that it used is free again; False while a chunk is in flight (`busy`).
        """
        if queue in self._queues:
            self._forget(queue)
            del self._queues[queue]
            self.fences.abandon(queue, Status.DEVICE_LOST)
            queue.drop_command()
            queue.activity = Activity.GONE
            queue.client.past_commands += queue.done
            self._past_commands += queue.done
            self._past_faults += queue.faults
        return not self._engines.busy(queue)

    def lose(self, queue: WorkQueue) -> bool:
        """Remove a queue whose device or session ended: its ring becomes LOST, its waiters wake."""
        removed = self.remove(queue)
        queue.lose(self._notices)
        return removed

    def waits_in(self, pool: FencePool, client_id: int) -> bool:
        """Whether a queue of a client waits for a slot of a fence pool."""
        return self.fences.uses(pool, client_id)

    def statistics(self) -> SchedulerStatistics:
        """Return the counters since boot."""
        return SchedulerStatistics(
            queue_count=len(self._queues),
            commands=self._past_commands + sum(queue.done for queue in self._queues),
            batched=self.turns.batched,
            faults=self._past_faults + sum(queue.faults for queue in self._queues),
            chunks=self._chunk_count,
            turns=self._turn_count,
            in_flight=self._engines.in_flight,
            executor=self._executor.statistics(),
        )

    def check(self) -> None:
        """Raise InvariantError when queues, line, fences and engines contradict each other."""
        for queue in self._queues:
            queue.check()
            queue.client.faults.check()
        for activity, where in (
            (Activity.READY, list(self._line)),
            (Activity.DELAYED, self._delayed),
        ):
            expected = {queue for queue in self._queues if queue.activity is activity}
            if len(where) != len(expected) or set(where) != expected:
                raise InvariantError(
                    f"queues {sorted(queue.queue_id for queue in expected)} are {activity.name},"
                    f" in line for it stand {sorted(queue.queue_id for queue in where)}"
                )
        self.fences.check()
        self._engines.check()

    def _wake(self, now: int) -> None:
        """Put in line what waited for time or a fence."""
        due = [queue for queue in self._delayed if queue.clock <= now]
        for queue in sorted(due, key=lambda queue: queue.clock):
            self._delayed.remove(queue)
            self._stand_in_line(queue)
        self.fences.poll()
        self._release()

    def _release(self) -> None:
        for queue in self.fences.take_released():
            self._stand_in_line(queue)

    def _settle(self, queue: WorkQueue, outcome: Outcome) -> None:
        """Put a queue where its turn left it."""
        match outcome:
            case Next.DOORBELL:
                queue.activity = Activity.IDLE
            case Next.TURN | ():
                self._stand_in_line(queue)
            case Next.TIME:
                queue.activity = Activity.DELAYED
                self._delayed.append(queue)
            case Next.RESET | Next.NEVER:
                queue.activity = Activity.STOPPED if outcome is RESET else Activity.HUNG
            case Later(ticks):
                queue.clock += ticks
                queue.activity = Activity.DELAYED
                self._delayed.append(queue)
            case Hold():
                queue.activity = Activity.HOLDING
                self.fences.wait(queue, outcome)
            case _:
                queue.activity = Activity.MOVING
                self._engines.submit(queue, outcome)

    def _stand_in_line(self, queue: WorkQueue) -> None:
        queue.activity = READY
        self._line.append(queue)

    def _forget(self, queue: WorkQueue) -> None:
        """Take a queue out of every place where it waits."""
        self.fences.forget(queue)
        self._engines.forget(queue)
        if queue in self._delayed:
            self._delayed.remove(queue)
        if queue in self._line:
            self._line.remove(queue)
