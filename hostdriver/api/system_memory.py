"""Memory that the application has already, as a host allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.extensions import Extension
from firmware.abi.ids import VA_LIMIT
from hostdriver.api.external_structures import ExternalMemmapSysmemExtDesc
from hostdriver.api.validation import check_extension
from hostdriver.core.allocations import AllocationKind
from hostdriver.core.failures import (
    invalid_argument,
    out_of_host_memory,
    unsupported_alignment,
    unsupported_size,
)
from hostdriver.core.results import Refusal, ZeError, ZeResult, failed
from hostdriver.core.state import Profile
from hostdriver.core.system_memory import bring_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.state import DeviceState, DriverState


def find_system_memory(
    chain: Sequence[ChainedDesc | UnknownDesc],
) -> ExternalMemmapSysmemExtDesc | None:
    """Return the first descriptor of system memory in a chain."""
    return next((item for item in chain if isinstance(item, ExternalMemmapSysmemExtDesc)), None)


def refuse_system_memory(state: DriverState, chain: Sequence[ChainedDesc | UnknownDesc]) -> None:
    """Do nothing for the chain of device or shared memory without a descriptor of system memory.

    Raises:
        ZeError: there is one; with profile `intel` it is ignored.
    """
    desc = find_system_memory(chain)
    if desc is None:
        return
    text = (
        f"structure {desc.stype:#x} (system memory at {desc.p_system_memory:#x}) is for host"
        " allocations alone"
    )
    if state.profile is Profile.SPEC:
        raise invalid_argument(text)
    state.note = f"{text} and was ignored"


async def import_system_memory(
    state: DriverState,
    device: DeviceState,
    desc: ExternalMemmapSysmemExtDesc,
    size: int,
    alignment: int,
    *,
    read_only: bool,
) -> int:
    """Make a host allocation of memory that the application has already, at its own address.

    The allocation spans the descriptor's size. What one allocation may have at most does not count
    here, for nothing is allocated.

    Args:
        state: the process.
        device: whose extensions count; every device reaches the memory.
        desc: where it is.
        size: bytes that the call asks for.
        alignment: of the pointer that the call asks for, a power of two or 0.
        read_only: whether devices may only read it; memory that can only be read asks for it.

    Returns:
        The pointer, which is the descriptor's.

    Raises:
        ZeError: extension switched off; a size of no whole pages, or smaller than what the call
            asks for; a pointer on no page, or aligned less than the call asks for; memory that is
            not there, overlaps other memory of this driver, or cannot be read and written as asked;
            a system that denies access. With profile `intel`: whatever cannot be mapped is
            OUT_OF_HOST_MEMORY, the call's own size and alignment do not count, and other imports
            may be overlapped. Nothing is mapped then.
    """
    check_extension(device, Extension.EXT_EXTERNAL_MEMMAP_SYSMEM)
    try:
        _check_sizes(state, desc, size)
        _check_pointer(state, desc, alignment)
        _check_place(state, desc)
        await _bring_in(state, desc, read_only=read_only)
    except ZeError as error:
        lost = error.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        if state.profile is Profile.SPEC or lost:
            raise
        raise out_of_host_memory(error.description) from error
    return desc.p_system_memory


def _check_sizes(state: DriverState, desc: ExternalMemmapSysmemExtDesc, size: int) -> None:
    page = state.facts.page_size
    if desc.size <= 0 or desc.size % page:
        raise unsupported_size(
            f"the descriptor's size is {desc.size:#x}, expected a multiple of the system's page"
            f" size {page:#x}"
        )
    if state.profile is Profile.SPEC and not 0 < size <= desc.size:
        raise unsupported_size(
            f"size is {size:#x}, expected 1 to {desc.size:#x} as the descriptor of system memory"
            " tells"
        )


def _check_pointer(state: DriverState, desc: ExternalMemmapSysmemExtDesc, alignment: int) -> None:
    start, page = desc.p_system_memory, state.facts.page_size
    if start <= 0 or start % page:
        raise invalid_argument(
            f"pSystemMemory is {start:#x}, expected a multiple of the system's page size {page:#x}"
        )
    if state.profile is Profile.SPEC and alignment and start % alignment:
        raise unsupported_alignment(
            f"pSystemMemory is {start:#x}, which has not the alignment {alignment:#x} that was"
            " asked for"
        )


def _check_place(state: DriverState, desc: ExternalMemmapSysmemExtDesc) -> None:
    """Check that a range is of this address space and not the driver's own memory."""
    start, size = desc.p_system_memory, desc.size
    end = start + size
    if end > VA_LIMIT:
        raise invalid_argument(
            f"{size:#x} bytes at {start:#x} pass the end of the address space, {VA_LIMIT:#x}"
        )
    for taken, what in _own_memory(state, start, end):
        raise invalid_argument(
            f"{size:#x} bytes at {start:#x} overlap {what} of this driver at {taken:#x}"
        )


def _own_memory(state: DriverState, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Iterate over what a range shares with memory of this driver: where, and what that is."""
    if state.arena is not None:
        base = state.arena.base
        if start < base + state.arena.size and base < end:
            yield max(start, base), "addresses"
    for reservation in state.reservations.overlapping(start, end):
        yield max(start, reservation.start), "a reservation"
    for opened in state.imports.overlapping(start, end):
        yield max(start, opened.start), "opened memory"
    for allocation in state.allocations.overlapping(start, end):
        is_import = allocation.value.kind is AllocationKind.IMPORTED
        if not is_import or state.profile is Profile.SPEC:
            yield max(start, allocation.start), "an allocation"


async def _bring_in(
    state: DriverState, desc: ExternalMemmapSysmemExtDesc, *, read_only: bool
) -> None:
    try:
        await bring_in(state, desc.p_system_memory, desc.size, read_only=read_only)
    except Refusal as refusal:
        doing = f"{desc.size:#x} bytes of system memory at {desc.p_system_memory:#x}"
        raise failed(refusal, f"{doing} cannot be mapped") from refusal
