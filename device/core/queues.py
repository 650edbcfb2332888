"""Work queues of clients: their rings, doorbells and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.engine import WorkQueue
from device.core.errors import DeviceError
from firmware.abi.control import QueueKind
from firmware.abi.status import Status
from firmware.link.layout import work_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from device.core.acknowledge import Acknowledgement, Acknowledgements
    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.engine import Scheduler
    from device.core.ids import Ids
    from device.core.spaces import Spaces


@final
class Queues:
    """Makes, resets and destroys work queues.

    Owner: the device. It keeps nothing but the parts it works with. A queue is in its client's
    `queues` until QUEUE_DESTROY or the client's end; its ring area, its doorbell and its place in
    the address space are given back when no chunk of it is in flight any more.
    """

    def __init__(
        self,
        spaces: Spaces,
        scheduler: Scheduler,
        acknowledgements: Acknowledgements,
        configuration: Configuration,
        ids: Ids,
    ) -> None:
        self._spaces = spaces
        self._scheduler = scheduler
        self._acknowledgements = acknowledgements
        self._configuration = configuration
        self._ids = ids

    def create(
        self, client: Client, vmid: int, kind: QueueKind, entry_count: int, priority: int
    ) -> tuple[WorkQueue, int]:
        """Make a queue; return it and the index of its doorbell.

        Raises:
            DeviceError: BAD_SPACE, UNSUPPORTED (no engine of this kind), LIMIT (ring size, number
                of queues, room in the ring pool), BAD_ALIGNMENT (no power of two).
        """
        spec = self._configuration.spec
        space = self._spaces.find(client, vmid)
        if kind is QueueKind.COMPUTE and not spec.compute_engines:
            raise DeviceError(Status.UNSUPPORTED, kind)
        if not spec.min_ring_entries <= entry_count <= spec.max_ring_entries:
            low, high = spec.min_ring_entries, spec.max_ring_entries
            raise DeviceError(Status.LIMIT, low if entry_count < low else high)
        if entry_count & (entry_count - 1):
            raise DeviceError(Status.BAD_ALIGNMENT, entry_count, 1 << entry_count.bit_length())
        doorbell = client.doorbells.free_index()
        if len(client.queues) >= spec.max_queues or doorbell is None:
            raise DeviceError(Status.LIMIT, spec.max_queues)
        ring = client.pool.take(work_shape(entry_count).size)
        queue = WorkQueue(
            next(self._ids.queues),
            client.engine,
            space.space,
            kind=kind,
            priority=priority,
            header_offset=ring,
            entry_count=entry_count,
        )
        client.doorbells.join(doorbell, queue)
        client.queues[queue.queue_id] = queue
        space.queue_count += 1
        self._scheduler.add(queue)
        return queue, doorbell

    def find(self, client: Client, queue_id: int) -> WorkQueue:
        """Return a queue of a client.

        Raises:
            DeviceError: BAD_QUEUE.
        """
        queue = client.queues.get(queue_id)
        if queue is None:
            raise DeviceError(Status.BAD_QUEUE, queue_id)
        return queue

    def destroy(self, client: Client, queue_id: int) -> Acknowledgement:
        """Destroy a queue; commands not begun are dropped, a chunk in flight ends by itself.

        Raises:
            DeviceError: BAD_QUEUE.
        """
        queue = self.find(client, queue_id)
        self._scheduler.remove(queue)
        return self._let_go(client, queue)

    def end_all(self, client: Client, *, lost: bool) -> None:
        """Destroy every queue of a client whose session ends; `lost` tells waiters so."""
        for queue in list(client.queues.values()):
            if lost:
                self._scheduler.lose(queue)
            else:
                self._scheduler.remove(queue)
            self._let_go(client, queue)

    def idle(self, queues: Iterable[WorkQueue]) -> bool:
        """Whether no chunk of these queues is in flight."""
        return not any(self._scheduler.busy(queue) for queue in queues)

    def reset(self, client: Client, queue_id: int) -> Acknowledgement:
        """Recover a queue: its ring is empty and runs again once no chunk of it is in flight.

        Raises:
            DeviceError: BAD_QUEUE.
        """
        queue = self.find(client, queue_id)

        def release() -> None:
            if client.queues.get(queue_id) is queue:
                self._scheduler.reset_queue(queue)
                client.doorbells.clear(queue)

        return self._acknowledgements.wait(lambda: not self._scheduler.busy(queue), release)

    def _let_go(self, client: Client, queue: WorkQueue) -> Acknowledgement:
        """Give back what a queue has once no chunk of it is in flight."""
        del client.queues[queue.queue_id]
        client.dying[queue.queue_id] = queue
        space = client.spaces[queue.space.vmid]

        def release() -> None:
            del client.dying[queue.queue_id]
            space.queue_count -= 1
            client.doorbells.leave(queue)
            client.pool.give_back(queue.header)

        return self._acknowledgements.wait(lambda: not self._scheduler.busy(queue), release)
