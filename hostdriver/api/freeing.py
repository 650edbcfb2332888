"""Freeing memory that was allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import ReleaseMode
from firmware.abi.extensions import Extension
from hostdriver.api.opening import close_handle
from hostdriver.api.validation import check_extension, check_flags, check_pointer, read_chain
from hostdriver.core.allocations import holder_of
from hostdriver.core.commandqueues_uses import wait_for_users
from hostdriver.core.enums import DriverMemoryFreePolicyExtFlags
from hostdriver.core.failures import invalid_argument, null_pointer, unsupported_enumeration
from hostdriver.core.handles import revoke
from hostdriver.core.releasing import unmake
from hostdriver.core.releasing_later import is_in_backlog, unmake_later
from hostdriver.core.results import Refusal, failed
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from hostdriver.api.memory_structures import MemoryFreeExtDesc
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.state import DriverState

_BOTH: Final = (
    DriverMemoryFreePolicyExtFlags.BLOCKING_FREE | DriverMemoryFreePolicyExtFlags.DEFER_FREE
)


async def free(state: DriverState, ptr: int | None) -> None:
    """Free memory (zeMemFree); its handle is put with it.

    It never waits: work that was submitted runs as if nothing had happened, and its memory goes
    with the last command that names it. With profile `intel` opened memory is closed.

    Raises:
        ZeError: null pointer; not the pointer of an allocation; freed already.
    """
    pointer = check_pointer(ptr)
    await _free(state, pointer, ReleaseMode.BEHIND_WORK)


async def free_ext(state: DriverState, desc: MemoryFreeExtDesc | None, ptr: int | None) -> None:
    """Free memory by a policy (zeMemFreeExt).

    Blocking: it waits until the work that names the memory is done; the memory is free then.
    Deferred, and at once: as `free`.

    Raises:
        ZeError: null descriptor or pointer; extension switched off; unknown policy, or with profile
            `spec` both at once; not the pointer of an allocation; freed already.
    """
    if desc is None:
        raise null_pointer("pMemFreeDesc")
    pointer = check_pointer(ptr)
    check_extension(state.devices[0], Extension.EXT_MEMORY_FREE_POLICIES)
    read_chain(state, desc.p_next, ())
    policy = check_flags(DriverMemoryFreePolicyExtFlags, desc.free_policy, "freePolicy")
    if policy == _BOTH and state.profile is Profile.SPEC:
        raise unsupported_enumeration("freePolicy asks for blocking and deferred at once")
    waits = policy == DriverMemoryFreePolicyExtFlags.BLOCKING_FREE
    await _free(state, pointer, ReleaseMode.WAIT if waits else ReleaseMode.BEHIND_WORK)


async def _free(state: DriverState, pointer: int, mode: ReleaseMode) -> None:
    if state.profile is Profile.INTEL and state.imports.at(pointer) is not None:
        await close_handle(state, pointer)
        return
    allocation = check_allocation(state, pointer)
    if mode is ReleaseMode.WAIT:
        await _await_users(state, allocation)
    elif is_in_backlog(state, allocation):
        await unmake_later(state, allocation)
        await _put_handle(state, allocation)
        return
    try:
        await unmake(state, allocation, mode)
    except Refusal as refusal:
        doing = f"the memory at {allocation.start:#x} cannot be freed"
        raise failed(refusal, doing) from refusal
    await _put_handle(state, allocation)


async def _await_users(state: DriverState, allocation: Allocation) -> None:
    """Wait until no queue of this process has work that names an allocation; nobody else frees it.

    An interrupt leaves it as it was.
    """
    allocation.leaving = True
    try:
        await wait_for_users(state, allocation.id)
    finally:
        allocation.leaving = False


def check_allocation(state: DriverState, pointer: int) -> Allocation:
    """Return the allocation that begins at a pointer.

    Raises:
        ZeError: no allocation begins there; another thread frees it.
    """
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
