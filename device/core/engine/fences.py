"""Fence slots: stored by FENCE_WRITE, waited for by FENCE_WAIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.effects import Notify
from device.core.engine.arguments import bad_argument
from device.core.engine.steps import Hold
from device.core.errors import InvariantError
from firmware.abi.segment import (
    FENCE_DEVICE_WAITS,
    FENCE_END_TICKS,
    FENCE_HOST_SLEEPERS,
    FENCE_START_TICKS,
    FENCE_VALUE,
    FenceSlot,
)

if TYPE_CHECKING:
    from device.core.engine.client import EngineClient
    from device.core.engine.notices import Notices
    from device.core.engine.queue import WorkQueue
    from firmware.abi.work import FenceWait, FenceWrite

SEGMENT_POOL: Final = 0
"""The only fence pool there is: the slots of the client's segment."""
_Slot = tuple[int, int]
"""Client and slot number."""


@final
class Fences:
    """The fence slots of all clients, and which queues wait for which.

    Owner: the scheduler. Invariant: a slot's `device_waits` is the number of queues that wait for
    it here. Waits end with their queue; a device reset removes all queues first.
    """

    __slots__ = ("_notices", "released", "waits")

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.waits: dict[_Slot, dict[WorkQueue, int]] = {}
        """Queues that wait, by slot, and the value that each waits for."""
        self.released: list[WorkQueue] = []
        """Queues whose fences were reached, until `take_released`."""

    def write(self, queue: WorkQueue, command: FenceWrite) -> None:
        """Store time and value into a slot and note its sleepers; release queues that wait for it.

        Raises:
            EngineFault: BAD_COMMAND for a pool or slot that does not exist; nothing was stored.
        """
        client = queue.client
        at = _offset_of(client, command)
        u64 = client.words.u64
        # Payload (what earlier commands moved, then the times), value, notice: who sees the value
        # sees all that it stands for, and whoever misses the value is found asleep by the notice.
        u64[(at + FENCE_START_TICKS) >> 3] = queue.started
        u64[(at + FENCE_END_TICKS) >> 3] = queue.clock
        u64[(at + FENCE_VALUE) >> 3] = command.value
        self._notices.add(Notify(client.client_id, at + FENCE_VALUE, at + FENCE_HOST_SLEEPERS))
        if self.waits:
            self._look(client, command.slot)

    def hold_for(self, queue: WorkQueue, command: FenceWait) -> Hold | None:
        """Return what a queue has to wait for, or None when the slot's value is reached already.

        Raises:
            EngineFault: BAD_COMMAND for a pool or slot that does not exist.
        """
        at = _offset_of(queue.client, command)
        if queue.client.words.u64[(at + FENCE_VALUE) >> 3] >= command.value:
            return None
        return Hold(command.slot, command.value)

    def wait(self, queue: WorkQueue, hold: Hold) -> None:
        """Let a queue wait; `take_released` returns it when the slot's value is reached.

        `device_waits` is stored first and the value looked at afterwards, here and again by every
        `poll`: a host that raises the value and then sees no device wait has raised it before one
        of these looks. What keeps the store before the last of them is the shell's fence between
        arming its sleep and asking `has_work` once more.
        """
        queues = self.waits.setdefault((queue.client.client_id, hold.slot), {})
        queues[queue] = hold.value
        _store_waits(queue.client, hold.slot, len(queues))
        self._look(queue.client, hold.slot)

    def poll(self) -> bool:
        """Look at every slot that is waited for; return whether any queue was released.

        For stores by hosts, which nothing tells of but a doorbell; stores by engines are seen when
        they are made.
        """
        for (_, slot), queues in list(self.waits.items()):
            self._look(next(iter(queues)).client, slot)
        return bool(self.released)

    def take_released(self) -> list[WorkQueue]:
        """Return the queues whose fences were reached since the last call."""
        released, self.released = self.released, []
        return released

    def forget(self, queue: WorkQueue) -> None:
        """End the wait of a queue that goes away or is reset, if it has one."""
        client = queue.client
        for (client_id, slot), queues in list(self.waits.items()):
            if client_id == client.client_id and queues.pop(queue, None) is not None:
                self._settle(client, slot, queues)
        if queue in self.released:
            self.released.remove(queue)

    def check(self) -> None:
        """Raise InvariantError when a wait is counted wrongly."""
        for (client_id, slot), queues in self.waits.items():
            where = f"fence slot {slot} of client {client_id}"
            if not queues:
                raise InvariantError(f"{where} is kept with no queue that waits for it")
            if any(queue.client.client_id != client_id for queue in queues):
                raise InvariantError(f"{where} is waited for by another client's queue")

    def _look(self, client: EngineClient, slot: int) -> None:
        """Release the queues that wait for a value that the slot has."""
        queues = self.waits.get((client.client_id, slot))
        if queues is None:
            return
        at = client.fences_offset + slot * FenceSlot.SIZE
        value = client.words.u64[(at + FENCE_VALUE) >> 3]
        reached = [queue for queue, target in queues.items() if value >= target]
        if not reached:
            return
        for queue in reached:
            del queues[queue]
        self.released += reached
        self._settle(client, slot, queues)

    def _settle(self, client: EngineClient, slot: int, queues: dict[WorkQueue, int]) -> None:
        if not queues:
            del self.waits[client.client_id, slot]
        _store_waits(client, slot, len(queues))


def _offset_of(client: EngineClient, command: FenceWrite | FenceWait) -> int:
    if command.pool != SEGMENT_POOL:
        raise bad_argument(command, "pool")
    if command.slot >= client.fence_count:
        raise bad_argument(command, "slot")
    return client.fences_offset + command.slot * FenceSlot.SIZE


def _store_waits(client: EngineClient, slot: int, count: int) -> None:
    at = client.fences_offset + slot * FenceSlot.SIZE + FENCE_DEVICE_WAITS
    client.words.u32[at >> 2] = count
