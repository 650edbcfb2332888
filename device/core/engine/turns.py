"""One turn of one queue: fetch, decode, execute, publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.engine.arguments import bad_bytes
from device.core.engine.batch import FEWEST, Batch, plan_batch
from device.core.engine.decoder import (
    PLAIN_COPY,
    PLAIN_REST,
    decode,
    head_of,
    unpack_copy,
)
from device.core.engine.queue import WorkQueue
from device.core.engine.steps import DOORBELL, RESET, Next
from device.core.errors import EngineFault
from firmware.abi._malformed import Malformed
from firmware.abi.faults import FaultReason, FaultRecord
from firmware.abi.ids import WORK_COMMAND_SIZE, Access
from firmware.abi.status import Status
from firmware.abi.work import WorkFlags
from firmware.link.errors import BadTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine.executor import Executor
    from device.core.engine.fences import Fences
    from device.core.engine.notices import Notices
    from device.core.engine.ports import Commands
    from device.core.engine.steps import Job, Outcome, Quantum
    from device.core.memory import MemoryController
    from firmware.abi.work import WorkCommand

_NO_FLAGS: Final = WorkFlags.NONE
_INTERRUPT: Final = int(WorkFlags.INTERRUPT)


@final
class Turns:
    """Runs queues, one turn at a time.

    Owner: the scheduler. Between turns it knows nothing but counters: what a queue was doing stands
    in the queue. Bytes of a ring never raise: they complete, give way, or stop their queue.
    """

    __slots__ = (
        "_copies",
        "_fences",
        "_local",
        "_marked",
        "_notices",
        "_now",
        "_singly",
        "_timed",
        "batched",
        "executor",
        "publish",
    )

    def __init__(
        self, memory: MemoryController, executor: Executor, fences: Fences, notices: Notices
    ) -> None:
        self._local = memory.local
        self._marked = memory.local.ecc.marked
        self.executor: Commands = executor
        """Runs commands; something may come in between that passes them on, and wants `singly`."""
        self._fences = fences
        self._copies = executor.copies
        self._now = 0
        self._notices = notices
        self._timed = executor.timed
        self._singly = int(self._timed)
        self.batched = 0
        """Commands that were moved by batches."""
        self.publish: Callable[[WorkQueue, Notices], None] = WorkQueue.publish
        """Publishes how far a queue is; something may come in front of it (see `ports`)."""

    def singly(self, *, wanted: bool) -> None:
        """Let every command go through the executor, one by one, or no more; askers are counted.

        Else plain copies take shorter ways.
        """
        self._singly += 1 if wanted else -1

    def run(self, queue: WorkQueue, now: int, quantum: Quantum) -> Outcome:
        """Go on with a queue for one turn and publish what was done.

        Raises:
            InternalError: a bug; the queue's command in hand is what it was doing.
        """
        self._now = now
        taken, completed = queue.taken, queue.completed
        outcome: Outcome | None = None
        command = queue.command
        if command is None:
            queue.clock = queue.started = now
        else:
            try:
                outcome = self._go_on(queue, command)
            except EngineFault as fault:
                return self._stop(queue, fault, Status.FAULT, command.OPCODE, command.tag)
        if outcome is None:
            outcome = self._take(queue, quantum)
        if queue.taken != taken or queue.completed != completed:
            queue.done += queue.completed - completed
            if outcome is not RESET:
                self.publish(queue, self._notices)
        return outcome

    def stop(self, queue: WorkQueue, now: int, fault: EngineFault) -> Next:
        """Stop a queue between two turns, as if what it does now had met a fault."""
        self._now = now
        command = queue.command
        opcode, tag = (0, 0) if command is None else (command.OPCODE, command.tag)
        return self._stop(queue, fault, Status.FAULT, opcode, tag)

    def _go_on(self, queue: WorkQueue, command: WorkCommand) -> Outcome | None:
        """Resume the command in hand: at the end of its model time, or with what is left of it."""
        if queue.job is None:
            return self._advance(queue, command, self.executor.execute(queue, command))
        queue.clock = self._now
        return self._advance(queue, command, queue.job)

    def _take(self, queue: WorkQueue, quantum: Quantum) -> Outcome:
        """Take commands from the ring, as many as the turn allows."""
        consumer = queue.consumer
        try:
            waiting = consumer.available()
        except BadTail as error:
            # No command was taken, so none has a number: the record names the one that is next.
            fault = EngineFault(FaultReason.BAD_TAIL, error.tail, Access.FETCH)
            return self._stop(queue, fault, Status.BAD_TAIL, 0, 0)
        if not waiting:
            return DOORBELL
        queue.begun = self._now
        if waiting == 1:
            return self._take_one(queue)
        count = min(waiting, quantum.commands)
        entries = consumer.peek(count)
        before = queue.taken
        try:
            outcome = self._run(queue, entries, count, quantum)
        except EngineFault as fault:
            at = queue.taken - before - 1
            consumer.retire(at + 1)
            opcode, tag = head_of(entries, at * WORK_COMMAND_SIZE)
            return self._stop(queue, fault, Status.FAULT, opcode, tag)
        taken = queue.taken - before
        consumer.retire(taken)
        if outcome is not None:
            return outcome
        return Next.TURN if taken < waiting else DOORBELL

    def _take_one(self, queue: WorkQueue) -> Outcome:
        entry = queue.consumer.fetch()
        try:
            outcome = self._run_one(queue, entry, 0)
        except EngineFault as fault:
            return self._stop(queue, fault, Status.FAULT, *head_of(entry))
        return DOORBELL if outcome is None else outcome

    def _run(
        self, queue: WorkQueue, entries: bytes, count: int, quantum: Quantum
    ) -> Outcome | None:
        """Run the fetched commands until one gives way or the turn's bytes are moved."""
        if count >= FEWEST and not self._singly and not self._marked:
            batch = plan_batch(queue.space, entries, quantum.bytes)
            if batch is not None:
                return self._run_batch(queue, entries, batch)
        return self._run_single(queue, entries, count, quantum)

    def _run_single(
        self, queue: WorkQueue, entries: bytes, count: int, quantum: Quantum
    ) -> Outcome | None:
        most = queue.bytes_moved + quantum.bytes
        for offset in range(0, count * WORK_COMMAND_SIZE, WORK_COMMAND_SIZE):
            outcome = self._run_one(queue, entries, offset)
            if outcome is not None:
                return outcome
            if queue.bytes_moved >= most:
                break
        return None

    def _run_batch(self, queue: WorkQueue, entries: bytes, batch: Batch) -> Outcome | None:
        offset = 0
        for run in batch.runs():
            if run.first_move < 0:
                outcome = self._run_one(queue, entries, offset)
                if outcome is not None:
                    return outcome
            else:
                queue.bytes_moved += batch.copy(self._local, run)
                queue.taken += run.length
                queue.completed += run.length
                self.batched += run.length
            offset += run.length * WORK_COMMAND_SIZE
        return None

    def _run_one(self, queue: WorkQueue, entries: bytes, offset: int) -> Outcome | None:
        """Run the command at `offset`; None when it is done."""
        queue.taken += 1
        head, source, destination, size, rest = unpack_copy(entries, offset)
        if (
            head == PLAIN_COPY
            and rest == PLAIN_REST
            and not self._singly
            and self._copies.copy_plain(queue.space, source, destination, size)
        ):
            queue.bytes_moved += size
            queue.completed += 1
            return None
        command = decode(entries, offset)
        if isinstance(command, Malformed):
            raise bad_bytes(command)
        queue.command = command
        queue.started = queue.clock
        if self._timed:
            queue.clock += self.executor.cost(command)
            if queue.clock > self._now:
                return Next.TIME
        return self._advance(queue, command, self.executor.execute(queue, command))

    def _advance(self, queue: WorkQueue, command: WorkCommand, job: Job | None) -> Outcome | None:
        """Take the next step of a command, or complete it."""
        if job is not None:
            queue.job = job
            step = next(job, None)
            if step is not None:
                return step
        queue.command = None
        queue.job = None
        queue.completed += 1
        # `int` first: the flags' own operators cost more than all the rest.
        if command.flags is not _NO_FLAGS and int(command.flags) & _INTERRUPT:
            queue.urgent = True
        return None

    def _stop(
        self, queue: WorkQueue, fault: EngineFault, status: Status, opcode: int, tag: int
    ) -> Next:
        """Write the fault record of the command that could not be done, then stop its queue."""
        record = FaultRecord(
            time_ticks=self._now,
            seqno=queue.completed + 1,
            va=fault.va,
            entry=fault.entry,
            queue_id=queue.queue_id,
            vmid=queue.space.vmid,
            tag=tag,
            reason=fault.reason,
            access=fault.access,
            level=fault.level,
            opcode=opcode,
            detail=fault.detail,
        )
        queue.faults += 1
        # The record is in the fault ring before the ring's state says that there is one.
        self._notices.add(queue.client.faults.report(record))
        queue.stop(status, self._notices)
        # Nor before whoever waits for fences behind it is told that they are lost.
        self._fences.abandon(queue, status)
        return RESET
