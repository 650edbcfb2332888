"""Where devices see fence slots: pools mapped into the address space, read only for devices.

Few events are ever asked for their address, so a pool is mapped when the first of its events is.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from firmware.abi.control import FencePoolClose, FencePoolOpen, ReleaseMode
from firmware.abi.replies import Done, FencePoolOpened
from firmware.abi.segment import FENCE_VALUE, FenceSlot
from hostdriver.core.allocations import AllocationKind, allocation_at
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.making import Plan, make
from hostdriver.core.questions import CloseDescriptor
from hostdriver.core.releasing import unmake
from hostdriver.core.results import Refusal, ZeError, failed
from hostdriver.core.slots import export_pool, revoke_token

if TYPE_CHECKING:
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.slots import Slot, SlotPool
    from hostdriver.core.state import DriverState


async def address_of(state: DriverState, slot: Slot) -> int:
    """Return the address at which devices read the value of a slot, 8 bytes.

    Raises:
        ZeError: no memory or addresses are left for the mapping; a device is lost.
    """
    window = slot.pool.window
    if window is None or not _is_there(state, window):
        window = await _map(state, slot.pool)
        await close_window(state, slot.pool)
        slot.pool.window = window
    return window.start + slot.index * FenceSlot.SIZE + FENCE_VALUE


async def close_window(state: DriverState, pool: SlotPool) -> None:
    """Unmap a pool that was mapped; work that was submitted goes on as if it still were."""
    window, pool.window = pool.window, None
    if window is not None and _is_there(state, window):
        with suppress(Refusal, ZeError):
            await unmake(state, window, ReleaseMode.BEHIND_WORK)


def _is_there(state: DriverState, window: Allocation) -> bool:
    """Whether a window still stands: as any allocation, the application may free it."""
    return allocation_at(state, window.start) is window


async def _map(state: DriverState, pool: SlotPool) -> Allocation:
    try:
        token = await export_pool(pool)
        answer = await exchange(pool.home, FencePoolOpen(request=0, token=token))
        await revoke_token(pool.home, token)
    except Refusal as refusal:
        raise failed(refusal, "the events' memory cannot be mapped") from refusal
    opened = expect(answer.reply, FencePoolOpened)
    try:
        if not answer.descriptors:
            raise out_of_host_memory(f"the events' descriptor is missing: {answer.problem}")
        plan = Plan(
            kind=AllocationKind.HOST,
            device=pool.home,
            size=opened.size_bytes,
            is_read_only=True,
            file=answer.descriptors[0],
        )
        return await make(state, plan)
    finally:
        for descriptor in answer.descriptors:
            await CloseDescriptor(descriptor)
        # The mapping keeps the memory; this number of the pool is needed no more.
        await call(pool.home, FencePoolClose(request=0, pool=opened.pool), Done)
