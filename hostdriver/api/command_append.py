"""What can be appended to a command list: copies, fills, hints, barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.work import Barrier, WorkFlags
from hostdriver.api.command_list import Sync, append, check_open
from hostdriver.api.command_regions import read_region
from hostdriver.api.queue_groups import check_queue
from hostdriver.api.validation import check_pointer, read_chain
from hostdriver.core.commandlists import CommandList
from hostdriver.core.commandlists_memory import (
    advise_commands,
    box_commands,
    copy_commands,
    fill_commands,
    pointer_of,
    prefetch_commands,
)
from hostdriver.core.enums import MemoryAdvice
from hostdriver.core.failures import (
    invalid_argument,
    invalid_enumeration,
    invalid_size,
    null_handle,
    null_pointer,
    unsupported_alignment,
)
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_list import Target
    from hostdriver.api.command_regions import Side
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.commandlists_memory import Pointer
    from hostdriver.core.state import DriverState

_BARRIER: Final = Barrier(flags=WorkFlags.NONE, tag=0).pack()


async def memory_copy(
    state: DriverState,
    target: Target,
    destination: int | None,
    source: int | None,
    size: int,
    sync: Sync,
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append a copy (zeCommandListAppendMemoryCopy and its other forms).

    Raises:
        ZeError: null pointer; a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    to = pointer_of(state, check_pointer(destination, "dstptr"))
    out_of = pointer_of(state, check_pointer(source, "srcptr"))
    _check_size(size)
    read_chain(state, p_next, ())
    body = copy_commands(to, out_of, size)
    uses = to.uses + out_of.uses
    await append(state, target, body, uses=uses, signal=sync.signal, waits=sync.waits)


async def memory_fill(
    state: DriverState,
    target: Target,
    ptr: int | None,
    pattern: bytes | None,
    size: int,
    sync: Sync,
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append a fill (zeCommandListAppendMemoryFill and its other form).

    Raises:
        ZeError: null pointer; a pattern that is no power of two or longer than the group takes, or
            a size that is no multiple of it (INVALID_SIZE); with profile `spec`, a pointer that is
            no multiple of it (UNSUPPORTED_ALIGNMENT); a list that takes no commands.
    """
    check_open(state, target)
    pointer = check_pointer(ptr)
    if pattern is None:
        raise null_pointer("pattern")
    _check_size(size)
    spec = state.devices[_device_of(target)].spec
    most = check_queue(spec, _ordinal_of(target), 0).properties.max_memory_fill_pattern_size
    length = len(pattern)
    if not 0 < length <= most or length & (length - 1):
        raise invalid_size(f"pattern_size is {length}, expected a power of two up to {most}")
    if size % length:
        raise invalid_size(f"size is {size:#x}, expected a multiple of pattern_size, {length}")
    if pointer % length and state.profile is Profile.SPEC:
        raise unsupported_alignment(f"ptr is {pointer:#x}, expected a multiple of {length}")
    read_chain(state, p_next, ())
    place = pointer_of(state, pointer)
    body = fill_commands(place, pattern, size)
    await append(state, target, body, uses=place.uses, signal=sync.signal, waits=sync.waits)


async def memory_copy_region(
    state: DriverState, target: Target, destination: Side, source: Side, sync: Sync
) -> None:
    """Append the copy of a box (zeCommandListAppendMemoryCopyRegion).

    Raises:
        ZeError: null pointer; boxes of different shapes, pitches smaller than what they step over
            (INVALID_ARGUMENT); boxes that share bytes (OVERLAPPING_REGIONS); a list that takes no
            commands.
    """
    check_open(state, target)
    to, out_of, shape = read_region(state, destination, source)
    body = box_commands(to, out_of, shape)
    uses = to.pointer.uses + out_of.pointer.uses
    await append(state, target, body, uses=uses, signal=sync.signal, waits=sync.waits)


async def memory_prefetch(state: DriverState, target: Target, ptr: int | None, size: int) -> None:
    """Append a hint that memory is going to be used soon (zeCommandListAppendMemoryPrefetch).

    Raises:
        ZeError: null pointer; memory that the driver does not know; a list that takes no commands.
    """
    check_open(state, target)
    place = _known(state, ptr, size)
    body = prefetch_commands(place, size) if size else b""
    await append(state, target, body, uses=place.uses)


async def mem_advise(
    state: DriverState, target: Target, device: int | None, ptr: int | None, size: int, advice: int
) -> None:
    """Append advice about memory (zeCommandListAppendMemAdvise).

    Raises:
        ZeError: null handle or pointer; unknown advice; memory that the driver does not know; a
            list that takes no commands.
    """
    check_open(state, target)
    if device is None:
        raise null_handle("hDevice")
    check_pointer(ptr)
    if advice not in {int(member) for member in MemoryAdvice}:
        raise invalid_enumeration(f"advice is {advice}, expected 0 to {max(MemoryAdvice):d}")
    place = _known(state, ptr, size)
    await append(state, target, advise_commands(place, size, advice), uses=place.uses)


async def barrier(state: DriverState, target: Target, sync: Sync) -> None:
    """Append a barrier (zeCommandListAppendBarrier).

    Raises:
        ZeError: a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    await append(state, target, _BARRIER, signal=sync.signal, waits=sync.waits)


async def memory_ranges_barrier(
    state: DriverState,
    target: Target,
    ranges: Sequence[tuple[int | None, int]] | None,
    sync: Sync,
) -> None:
    """Append a barrier for some memory (zeCommandListAppendMemoryRangesBarrier).

    Raises:
        ZeError: null pointer; a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    if ranges is None:
        raise null_pointer("pRanges")
    for pointer, size in ranges:
        check_pointer(pointer, "pRanges")
        _check_size(size)
    await append(state, target, _BARRIER, signal=sync.signal, waits=sync.waits)


def _known(state: DriverState, ptr: int | None, size: int) -> Pointer:
    """Return a pointer into memory that the driver gave out.

    Raises:
        ZeError: null pointer; the application's own memory.
    """
    place = pointer_of(state, check_pointer(ptr))
    _check_size(size)
    if place.is_client:
        raise invalid_argument(f"ptr is {place.address:#x}, which is no memory of this driver")
    return place


def _check_size(size: int) -> None:
    if not 0 <= size < 1 << 64:
        raise invalid_size(f"size is {size}, which is no 64-bit number")


def _device_of(target: Target) -> int:
    return target.device if isinstance(target, CommandList) else target.plan.device


def _ordinal_of(target: Target) -> int:
    return target.ordinal if isinstance(target, CommandList) else target.plan.ordinal
