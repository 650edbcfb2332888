"""Fence slots: stored by FENCE_WRITE, waited for by FENCE_WAIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.engine.arguments import bad_argument
from device.core.engine.steps import Hold
from device.core.errors import EngineFault, InvariantError
from firmware.abi.faults import FaultReason
from firmware.abi.ids import WORK_COMMAND_SIZE, Access
from firmware.abi.work import FenceTimes, FenceWait, FenceWrite, WorkFlags
from firmware.link.errors import BadTail

if TYPE_CHECKING:
    from device.core.engine.notices import Notices
    from device.core.engine.pools import FencePool
    from device.core.engine.queue import WorkQueue
    from firmware.abi.status import Status

_Slot = tuple["FencePool", int]
_STAMP_START: Final = int(WorkFlags.STAMP_START)
_KEEP_START: Final = int(WorkFlags.KEEP_START)
_RAISE_ONLY: Final = int(WorkFlags.RAISE_ONLY)
_FENCE_WRITE: Final = int(FenceWrite.OPCODE)
_LAST_TICK: Final = (1 << 64) - 1


@final
class Fences:
    """Which queues of a device wait for which fence slots.

    Owner: the scheduler. Invariant: every queue is among the waiting of one slot at most, and each
    slot counts the queues that wait for it. Waits end with their queue; a device reset removes all
    queues first.
    """

    __slots__ = ("_notices", "released", "waits")

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.waits: dict[_Slot, dict[WorkQueue, int]] = {}
        """Queues that wait, by pool and slot, and the value that each waits for."""
        self.released: list[WorkQueue] = []
        """Queues whose fences were reached or lost, until `take_released`."""

    def write(self, queue: WorkQueue, command: FenceWrite) -> None:
        """Store times and value into a slot and note its sleepers; release queues that wait for it.

        Raises:
            EngineFault: BAD_COMMAND for a pool or slot that does not exist; nothing was stored.
        """
        pool, slot = _pool_of(queue, command), command.slot
        flags = int(command.flags)
        if flags & _STAMP_START:
            pool.store_start(slot, queue.started)
            return
        # Payload (what earlier commands moved, then the times), value, notice: who sees the value
        # sees all that it stands for, and whoever misses the value is found asleep by the notice.
        if flags & _KEEP_START:
            pool.store_end(slot, _end_after(pool.times(slot)[0], queue.clock))
        else:
            pool.store_start(slot, queue.started)
            pool.store_end(slot, queue.clock)
        if flags & _RAISE_ONLY and pool.value(slot) >= command.value:
            return
        self._notices.add(pool.store_value(slot, command.value))
        if self.waits:
            self._look(pool, slot)

    def hold_for(self, queue: WorkQueue, command: FenceWait) -> Hold | None:
        """Return what a queue has to wait for, or None when the slot's value is reached already.

        Raises:
            EngineFault: BAD_COMMAND for a pool or slot that does not exist; FENCE_LOST when the
                fence ended early.
        """
        hold = Hold(_pool_of(queue, command), command.slot, command.value)
        return None if is_reached(hold) else hold

    def times(self, queue: WorkQueue, command: FenceTimes) -> tuple[int, int]:
        """Return start and end of what signalled a slot.

        Raises:
            EngineFault: BAD_COMMAND for a pool or slot that does not exist.
        """
        return _pool_of(queue, command).times(command.slot)

    def wait(self, queue: WorkQueue, hold: Hold) -> None:
        """Let a queue wait; `take_released` returns it when the slot's value is reached.

        `device_waits` is stored first and the value looked at afterwards, here and again by every
        `poll`: a host that raises the value and then sees no device wait has raised it before one
        of these looks. What keeps the store before the last of them is the shell's fence between
        arming its sleep and asking `has_work` once more.
        """
        pool, slot, value = hold
        self.waits.setdefault((pool, slot), {})[queue] = value
        pool.count_waits(slot, 1)
        self._look(pool, slot)

    def poll(self) -> bool:
        """Look at every slot that is waited for; return whether any queue was released.

        For stores by hosts, which nothing tells of but a doorbell, and by other devices; stores by
        engines of this device are seen when they are made.
        """
        for pool, slot in list(self.waits):
            self._look(pool, slot)
        return bool(self.released)

    def take_released(self) -> list[WorkQueue]:
        """Return the queues whose fences were reached or lost since the last call."""
        released, self.released = self.released, []
        return released

    def forget(self, queue: WorkQueue) -> None:
        """End the wait of a queue that goes away or is reset, if it has one."""
        for (pool, slot), queues in list(self.waits.items()):
            if queues.pop(queue, None) is not None:
                self._leave(pool, slot, queues, 1)
        if queue in self.released:
            self.released.remove(queue)

    def abandon(self, queue: WorkQueue, status: Status) -> None:
        """Tell whoever waits for fences that this queue will not come to: it stopped or ended.

        What was told of is not told of again: a slot may have been reset and used elsewhere since.
        """
        command = queue.command
        if isinstance(command, FenceWrite):
            self._lose(queue, command, status)
        try:
            entries = queue.consumer.unread()
        except BadTail:
            return
        waiting = len(entries) // WORK_COMMAND_SIZE
        skip, queue.abandoned = queue.abandoned, waiting
        if waiting <= skip:
            return
        opcodes = entries[::WORK_COMMAND_SIZE]
        at = opcodes.find(_FENCE_WRITE, skip)
        while at >= 0:
            entry = FenceWrite.unpack(entries, at * WORK_COMMAND_SIZE)
            if isinstance(entry, FenceWrite):
                self._lose(queue, entry, status)
            at = opcodes.find(_FENCE_WRITE, at + 1)

    def uses(self, pool: FencePool, client_id: int) -> bool:
        """Whether a queue of a client waits for a slot of a pool."""
        return any(
            queue.client.client_id == client_id
            for (waited, _), queues in self.waits.items()
            if waited is pool
            for queue in queues
        )

    def check(self) -> None:
        """Raise InvariantError when a wait is counted wrongly."""
        for (pool, slot), queues in self.waits.items():
            where = f"fence slot {slot}"
            if not queues:
                raise InvariantError(f"{where} is kept with no queue that waits for it")
            if pool.waits(slot) < len(queues):
                raise InvariantError(f"{where} counts {pool.waits(slot)} waits of {len(queues)}")

    def _lose(self, queue: WorkQueue, command: FenceWrite, status: Status) -> None:
        """Store a status into the slot that a command would have signalled."""
        pool = queue.client.pools.get(command.pool)
        starts = int(command.flags) & _STAMP_START
        if pool is None or starts or command.slot >= pool.count or not command.value:
            return
        if pool.value(command.slot) >= command.value:
            return
        self._notices.add(pool.store_status(command.slot, status))
        self._look(pool, command.slot)

    def _look(self, pool: FencePool, slot: int) -> None:
        """Release the queues that wait for a value that the slot has, or will never get."""
        queues = self.waits.get((pool, slot))
        if queues is None:
            return
        value, lost = pool.value(slot), pool.status(slot)
        ended = [queue for queue, target in queues.items() if value >= target or lost]
        if not ended:
            return
        for queue in ended:
            del queues[queue]
        self.released += ended
        self._leave(pool, slot, queues, len(ended))

    def _leave(self, pool: FencePool, slot: int, queues: dict[WorkQueue, int], count: int) -> None:
        if not queues:
            del self.waits[pool, slot]
        pool.count_waits(slot, -count)


def is_reached(hold: Hold) -> bool:
    """Return whether a fence has the value that is waited for.

    Raises:
        EngineFault: FENCE_LOST, it has not and ended early.
    """
    pool, slot, value = hold
    if pool.value(slot) >= value:
        return True
    lost = pool.status(slot)
    if lost:
        raise EngineFault(FaultReason.FENCE_LOST, slot, Access.FETCH, detail=lost)
    return False


def _end_after(start: int, clock: int) -> int:
    """Return when work ended, after it began; whoever shares the slot may have stored any start."""
    return max(clock, min(start + 1, _LAST_TICK))


def _pool_of(queue: WorkQueue, command: FenceWrite | FenceWait | FenceTimes) -> FencePool:
    pool = queue.client.pools.get(command.pool)
    if pool is None:
        raise bad_argument(command, "pool")
    if command.slot >= pool.count:
        raise bad_argument(command, "slot")
    return pool
