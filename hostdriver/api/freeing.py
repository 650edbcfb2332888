"""Freeing memory that was allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import ReleaseMode
from hostdriver.api.validation import check_pointer
from hostdriver.core.allocations import holder_of
from hostdriver.core.failures import invalid_argument
from hostdriver.core.handles import revoke
from hostdriver.core.releasing import unmake
from hostdriver.core.results import Refusal, failed

if TYPE_CHECKING:
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.state import DriverState


async def free(state: DriverState, ptr: int | None) -> None:
    """Free memory (zeMemFree); its handle is put with it.

    Raises:
        ZeError: null pointer; not the pointer of an allocation; freed already.
    """
    await _free(state, check_allocation(state, ptr), ReleaseMode.BEHIND_WORK)


async def _free(state: DriverState, allocation: Allocation, mode: ReleaseMode) -> None:
    try:
        await unmake(state, allocation, mode)
    except Refusal as refusal:
        doing = f"the memory at {allocation.start:#x} cannot be freed"
        raise failed(refusal, doing) from refusal
    await _put_handle(state, allocation)


def check_allocation(state: DriverState, ptr: int | None) -> Allocation:
    """Return the allocation that begins at a pointer.

    Raises:
        ZeError: null pointer; no allocation begins there; another thread frees it.
    """
    pointer = check_pointer(ptr)
    found = holder_of(state, pointer)
    if found is None:
        raise invalid_argument(f"no memory that this driver allocated is at {pointer:#x}")
    if found.leaving:
        raise invalid_argument(f"the memory at {found.start:#x} is being freed by another thread")
    if found.start != pointer:
        raise invalid_argument(
            f"{pointer:#x} lies inside the memory that begins at {found.start:#x}"
        )
    return found


async def _put_handle(state: DriverState, allocation: Allocation) -> None:
    """Put the handle of an allocation, so that nobody opens it any more."""
    if (export := state.exports.of_source(allocation)) is not None:
        await revoke(state, export)
