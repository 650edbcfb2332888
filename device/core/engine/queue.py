"""One work queue: its ring, its place in time and order, and the state that the host sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import msgspec

from device.core.effects import Notify
from device.core.engine.steps import Activity, Priority
from device.core.errors import InvariantError
from firmware.abi.rings import (
    COMPLETED,
    COMPLETION_SLEEPERS,
    COMPLETION_STATUS,
    ENDED_TICKS,
    HEAD,
    HEAD_EVENT,
    PRODUCER_SLEEPERS,
    STARTED_TICKS,
    STATE,
    STATUS,
    TAIL,
    RingState,
    waiting,
)
from firmware.abi.statistics import QueueStatistics
from firmware.abi.status import Status
from firmware.link.layout import work_shape
from firmware.link.rings import Consumer
from firmware.link.ringshape import format_ring

if TYPE_CHECKING:
    from device.core.engine.client import EngineClient
    from device.core.engine.notices import Notices
    from device.core.engine.steps import Job
    from device.core.inside import RingSource
    from device.core.paging import AddressSpace
    from firmware.abi.control import QueueKind
    from firmware.abi.work import WorkCommand


@final
class WorkQueue:
    """The consumer's end of one work ring.

    Owner: the device's record of its client; the scheduler while it is added there.
    Invariants: `completed` <= `taken` <= `completed` + 1 between turns (one command is in hand at
    most); the header shows `completed` and `head` no later than the end of the turn that raised
    them; once it stopped nothing is taken until `reset`. `reset` keeps the seqnos and the
    counters; a device reset keeps nothing (`lose`).
    """

    __slots__ = (
        "__weakref__",
        "_client_id",
        "_completed_at",
        "_completion",
        "_ended_at",
        "_started_at",
        "_tail_at",
        "_u32",
        "_u64",
        "abandoned",
        "activity",
        "begun",
        "bytes_moved",
        "client",
        "clock",
        "command",
        "completed",
        "consumer",
        "done",
        "faults",
        "header",
        "job",
        "kind",
        "pace",
        "priority",
        "queue_id",
        "space",
        "started",
        "state",
        "taken",
        "urgent",
        "waits",
    )

    def __init__(  # noqa: PLR0913, PLR0915 - what QUEUE_CREATE says, and where the ring was put
        self,
        queue_id: int,
        client: EngineClient,
        space: AddressSpace,
        *,
        kind: QueueKind,
        priority: int,
        header_offset: int,
        entry_count: int,
        seqno: int = 0,
    ) -> None:
        """Format the ring at `header_offset` of the client's segment and join it.

        Args:
            queue_id: its number, also of its doorbell.
            client: whose segment holds the ring.
            space: address space in which its commands run.
            kind: engines that serve it.
            priority: a `Priority`.
            header_offset: where the ring's header stands, a multiple of 64.
            entry_count: commands that the ring holds, a power of two.
            seqno: number of the last command before its first.

        Raises:
            ValueError: a priority or ring size that no queue has; nothing was written.
        """
        self.queue_id = queue_id
        self.client = client
        self.space = space
        self.kind = kind
        self.priority = Priority(priority)
        self.header = header_offset
        format_ring(client.words.u8, header_offset, work_shape(entry_count))
        self.consumer: RingSource = Consumer(client.words, header_offset, work_shape(entry_count))
        """Its end of the ring; something may come in front of it (see `inside`)."""
        self.state = RingState.RUNNING
        self.activity = Activity.IDLE
        self.taken = seqno
        """Seqno of the last command taken from the ring."""
        self.completed = seqno
        """Seqno of the last command done, or dropped by a reset."""
        self.command: WorkCommand | None = None
        """The command in hand: taken, not done."""
        self.job: Job | None = None
        """Its rest, once it gave way."""
        self.begun = 0
        """Device time at which commands were taken from the ring last."""
        self.started = 0
        """Device time at which the command in hand began."""
        self.clock = 0
        """Device time that the queue has reached; while delayed, when its command is due."""
        self.pace = 0
        """Bytes moved by chunks, divided by the queue's share: who has least goes next."""
        self.urgent = False
        """A completed command asked for the interrupt since the last publication."""
        self.done = self.abandoned = 0
        """Commands completed, those that a reset dropped not among them; and those in the ring of a
        stopped queue whose fences were told to be lost."""
        self.bytes_moved = self.faults = self.waits = 0
        self._client_id = client.client_id
        # Every publication tells of `completed` by the same words, so it is the same notice.
        self._completion = Notify(
            client.client_id, header_offset + COMPLETED, header_offset + COMPLETION_SLEEPERS
        )
        self._u32 = client.words.u32
        self._u64 = client.words.u64
        self._started_at = (header_offset + STARTED_TICKS) >> 3
        self._ended_at = (header_offset + ENDED_TICKS) >> 3
        self._completed_at = (header_offset + COMPLETED) >> 3
        self._tail_at = (header_offset + TAIL) >> 2
        self._u64[self._completed_at] = seqno

    @property
    def is_rung(self) -> bool:
        """Whether its tail is not what was taken: a turn finds commands, or a tail gone bad."""
        return self._u32[self._tail_at] != self.consumer.head

    def publish(self, notices: Notices) -> None:
        """Publish what was taken and done, and note who is to be woken."""
        # Payload and fences were stored when the commands ran. Now the times, then `completed`, by
        # which the host knows all; then the room, and after all stores the notices.
        u64 = self._u64
        u64[self._started_at] = self.begun
        # The command in hand, if any, began when the last one ended.
        u64[self._ended_at] = self.clock if self.command is None else self.started
        u64[self._completed_at] = self.completed
        old, new = self.consumer.publish_head()
        header = self.header
        completion = self._completion
        if self.urgent:
            completion = msgspec.structs.replace(completion, force=True)
            self.urgent = False
        room = header + PRODUCER_SLEEPERS
        notices.tell(
            completion, Notify(self._client_id, header + HEAD, room, header + HEAD_EVENT, old, new)
        )

    def stop(self, status: Status, notices: Notices) -> None:
        """Stop at the command in hand: it and what follows do not complete.

        The fault record is written before: who sees the state finds the record.
        """
        self.drop_command()
        self.publish(notices)
        self.state = RingState.STOPPED
        self.activity = Activity.STOPPED
        self._store_state(status)

    def reset(self) -> None:
        """Recover: the ring is empty and runs, whatever it did before.

        Dropped commands keep their numbers: `completed` becomes the number of the last one that
        the host published (a tail that no ring can have counts as none), so that both sides go on
        counting from the same number.
        """
        self.drop_command()
        dropped = waiting(self._u32[(self.header + TAIL) >> 2], self.consumer.head)
        if dropped <= self.consumer.shape.entry_count:
            self.taken += dropped
        self.completed = self.taken
        self.consumer.restart()
        self.abandoned = 0
        # The producer waits for the reply, so its line may be stored into, once.
        self._u32[(self.header + TAIL) >> 2] = 0
        self._u64[self._completed_at] = self.completed
        self.state = RingState.RUNNING
        self.activity = Activity.IDLE
        self._store_state(Status.OK)

    def lose(self, notices: Notices) -> None:
        """End the queue with its device or session: the host sees LOST and is woken."""
        self.drop_command()
        self.publish(notices)
        self.state = RingState.LOST
        self.activity = Activity.GONE
        self._store_state(Status.DEVICE_LOST)

    def drop_command(self) -> None:
        """Forget the command in hand and its rest; a chunk in flight ends by itself."""
        if self.job is not None:
            self.job.close()
        self.job = None
        self.command = None

    def statistics(self) -> QueueStatistics:
        """Return the counters of this queue since it was made."""
        consumer = self.consumer
        return QueueStatistics(
            client_id=self._client_id,
            queue_id=self.queue_id,
            vmid=self.space.vmid,
            kind=self.kind,
            state=self.state,
            head=consumer.head,
            tail=self._u32[(self.header + TAIL) >> 2],
            entry_count=consumer.shape.entry_count,
            completed=self.completed,
            bytes_copied=self.bytes_moved,
            faults=self.faults,
            waits=self.waits,
        )

    def check(self) -> None:
        """Raise InvariantError when the queue contradicts itself."""
        where = f"queue {self.queue_id} of client {self._client_id}"
        in_hand = self.command is not None
        stopped = self.activity in (Activity.STOPPED, Activity.GONE)
        if not stopped and self.taken != self.completed + in_hand:
            raise InvariantError(
                f"{where}: command {self.taken} taken, {self.completed} completed,"
                f" {'one' if in_hand else 'none'} in hand"
            )
        if self.job is not None and not in_hand:
            raise InvariantError(f"{where}: the rest of a command, but no command")
        if in_hand and self.activity in (Activity.IDLE, Activity.STOPPED):
            raise InvariantError(f"{where}: {self.activity.name} with a command in hand")
        if (self.state is RingState.STOPPED) != (self.activity is Activity.STOPPED):
            raise InvariantError(f"{where}: ring {self.state.name}, queue {self.activity.name}")

    def _store_state(self, status: Status) -> None:
        # Status first: who sees the new state reads the status that belongs to it.
        self._u32[(self.header + COMPLETION_STATUS) >> 2] = status
        self._u32[(self.header + STATUS) >> 2] = status
        self._u32[(self.header + STATE) >> 2] = self.state
