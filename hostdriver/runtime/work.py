"""Work rings of one session: made and dropped with their queues, filled by any thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, final

from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.rings import HEAD, PRODUCER_SLEEPERS, STATUS, U32_MASK
from firmware.link.waiting import WordWait
from hostdriver.core.failures import device_lost, unknown
from hostdriver.core.questions import Offered
from hostdriver.core.queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.replies import QueueCreated
    from firmware.link.ends import HostEnd
    from firmware.link.notify import Doorbells


@final
class WorkRings:
    """The queues of one session by number.

    Owner: a session. Invariant: the commands of one `submit` stand in their ring in order, without
    those of another thread between them, when they fit into it together.
    """

    __slots__ = ("_end", "_lock", "_queues")

    def __init__(self, end: HostEnd) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._queues: dict[int, tuple[threading.Lock, WorkQueue]] = {}

    def open(self, created: QueueCreated) -> None:
        """Join the ring of a queue that the device has just made.

        Raises:
            ContractError: the ring is not as the reply says.
        """
        queue = WorkQueue(self._end.segment.words, created)
        with self._lock:
            self._queues[created.queue_id] = (threading.Lock(), queue)

    def drop(self, queue_id: int) -> None:
        """Forget a queue that the device has destroyed."""
        with self._lock:
            self._queues.pop(queue_id, None)

    def submit(self, queue_id: int, commands: Sequence[bytes]) -> int:
        """Put commands into a ring, waiting for room; return the number of the last one.

        Raises:
            ZeError: there is no such queue, or it stopped while it was full.
            LinkLost: the device is gone.
            ContractError: the ring's head is out of bounds.
        """
        lock, queue = self._find(queue_id)
        with lock:
            for first in range(0, len(commands), queue.entry_count):
                self._put(queue, commands[first : first + queue.entry_count])
            return queue.seqno

    def offer(self, queue_id: int, commands: bytes | memoryview) -> Offered:
        """Put as many encoded commands into a ring as fit now; never waits.

        Raises:
            ZeError: there is no such queue.
            ContractError: the ring's head is out of bounds.
        """
        lock, queue = self._find(queue_id)
        with lock:
            return offer_to(queue, self._end.doorbells, commands)

    def await_room(self, queue_id: int, count: int) -> None:
        """Wait until a ring has room for so many commands (at most all), or has stopped.

        Whoever waits is the only one who puts commands into this ring.

        Raises:
            ZeError: there is no such queue.
            LinkLost: the device is gone.
        """
        _, queue = self._find(queue_id)
        self._end.waiter.wait(_room_for(queue, min(count, queue.entry_count)))

    def has_room(self, queue_id: int, count: int) -> bool:
        """Whether `await_room` would return at once.

        Raises:
            ZeError: there is no such queue.
        """
        _, queue = self._find(queue_id)
        return has_room_in(queue, count)

    def _find(self, queue_id: int) -> tuple[threading.Lock, WorkQueue]:
        with self._lock:
            found = self._queues.get(queue_id)
        if found is None:
            raise unknown(f"queue {queue_id} does not exist")
        return found

    def _put(self, queue: WorkQueue, commands: Sequence[bytes]) -> None:
        count = len(commands)
        if queue.room < count:
            self._await_room(queue, count)
        put_into(queue, self._end.doorbells, b"".join(commands))

    def _await_room(self, queue: WorkQueue, count: int) -> None:
        if not self._end.waiter.wait(_room_for(queue, count)):
            raise device_lost(
                f"queue {queue.queue_id} stopped with status {queue.status} while it was full"
            )


def put_into(queue: WorkQueue, doorbells: Doorbells, commands: bytes | memoryview) -> None:
    """Put encoded commands that fit into a ring, and tell the device.

    Raises:
        RingFull: they do not fit; nothing was put in.
        ContractError: the ring's head is out of bounds.
    """
    published = queue.put(commands)
    doorbells.ring(queue.doorbell, queue.header, published.old, published.new)


def offer_to(queue: WorkQueue, doorbells: Doorbells, commands: bytes | memoryview) -> Offered:
    """Put as many encoded commands into a ring as fit now; none once it has stopped.

    Raises:
        ContractError: the ring's head is out of bounds.
    """
    status = queue.status
    taken = 0 if status else min(len(commands) // WORK_COMMAND_SIZE, queue.room)
    if taken:
        put_into(queue, doorbells, commands[: taken * WORK_COMMAND_SIZE])
    return Offered(taken, status, queue.completed)


def has_room_in(queue: WorkQueue, count: int) -> bool:
    """Whether a ring has room for so many commands (at most all), or has stopped."""
    return bool(queue.status) or queue.room >= min(count, queue.entry_count)


def _room_for(queue: WorkQueue, count: int) -> WordWait:
    """Return the wait that ends when `count` more commands fit."""
    return WordWait(
        word=queue.header + HEAD,
        target=(queue.tail + count - queue.entry_count) & U32_MASK,
        sleepers=queue.header + PRODUCER_SLEEPERS,
        wide=False,
        status=queue.header + STATUS,
    )
