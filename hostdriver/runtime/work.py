"""Work rings of one session: made and dropped with their queues, filled by any thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, final

from firmware.abi.rings import HEAD, PRODUCER_SLEEPERS, STATUS, U32_MASK
from firmware.link.waiting import WordWait
from hostdriver.core.failures import device_lost, unknown
from hostdriver.core.queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.replies import QueueCreated
    from firmware.link.ends import HostEnd


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
        with self._lock:
            found = self._queues.get(queue_id)
        if found is None:
            raise unknown(f"queue {queue_id} does not exist")
        lock, queue = found
        with lock:
            for first in range(0, len(commands), queue.entry_count):
                self._put(queue, commands[first : first + queue.entry_count])
            return queue.seqno

    def _put(self, queue: WorkQueue, commands: Sequence[bytes]) -> None:
        count = len(commands)
        if queue.room < count:
            self._await_room(queue, count)
        published = queue.put(commands)
        self._end.doorbells.ring(queue.doorbell, queue.header, published.old, published.new)

    def _await_room(self, queue: WorkQueue, count: int) -> None:
        wait = WordWait(
            word=queue.header + HEAD,
            target=(queue.tail + count - queue.entry_count) & U32_MASK,
            sleepers=queue.header + PRODUCER_SLEEPERS,
            wide=False,
            status=queue.header + STATUS,
        )
        if not self._end.waiter.wait(wait):
            raise device_lost(
                f"queue {queue.queue_id} stopped with status {queue.status} while it was full"
            )
