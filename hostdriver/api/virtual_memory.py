"""Virtual memory: reserving addresses and saying what may be done with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from firmware.abi.control import Protect, ProtectList, RangeExtent
from firmware.abi.ids import PAGE_SIZE, VA_LIMIT
from firmware.abi.replies import Mapped
from hostdriver.api.mapping import RIGHTS, remove_mappings
from hostdriver.api.validation import (
    check_access,
    check_alignment,
    check_device,
    check_pointer,
    check_reserved,
    check_size,
    granularity_in,
)
from hostdriver.core.addresses import Place, cover, give_or_keep, take_addresses
from hostdriver.core.calls import call
from hostdriver.core.failures import invalid_argument, out_of_host_memory, unsupported_size
from hostdriver.core.physical import MappingPhase, page_size_for
from hostdriver.core.reservations import AccessRun, Reservation
from hostdriver.core.results import Refusal, failed
from hostdriver.core.state import Profile
from hostdriver.core.undo import Undo
from hostdriver.core.vaspace import align_up

if TYPE_CHECKING:
    from firmware.abi.ids import Rights
    from hostdriver.core.state import DriverState


def query_page_size(state: DriverState, device: int | None, size: int) -> int:
    """Return the page size for memory of a size (zeVirtualMemQueryPageSize).

    Raises:
        ZeError: null device; size 0.
    """
    check_device(state, device)
    if size <= 0:
        raise unsupported_size(f"size is {size}, expected more than 0")
    return page_size_for(size)


async def reserve(state: DriverState, start: int | None, size: int) -> int:
    """Reserve addresses (zeVirtualMemReserve).

    Args:
        state: the process.
        start: wished address; it is rounded up to the page size, and honoured when free.
        size: bytes, a multiple of 4 KiB.

    Returns:
        The address. Access begins as NONE.

    Raises:
        ZeError: size 0 or no page multiple; no address space left.
    """
    check_size(size, PAGE_SIZE)
    page = page_size_for(size)
    hint = align_up(start or 0, page)
    fits = hint > 0 and hint + size <= VA_LIMIT
    place = None
    if size < VA_LIMIT:
        place = await take_addresses(state, size, page, hint if fits else 0)
    if place is None:
        raise out_of_host_memory(f"no address space is left for {size:#x} bytes")
    reservation = Reservation(place.va, size, place.in_arena, state.next_id())
    state.reservations.insert(place.va, place.va + size, reservation)
    return place.va


async def free(state: DriverState, ptr: int | None, size: int) -> None:
    """Free a whole reservation; what is mapped in it is unmapped first (zeVirtualMemFree).

    Raises:
        ZeError: null pointer; size 0 or no page multiple; address not on a page; no reservation
            begins there with this size; a call of another thread is at work in it.
    """
    start = check_pointer(ptr)
    check_size(size, PAGE_SIZE)
    check_alignment(start, PAGE_SIZE)
    reservation = check_reserved(state, start, size)
    if (reservation.start, reservation.size) != (start, size):
        raise invalid_argument(
            f"{size:#x} bytes at {start:#x} are not a whole reservation, which has"
            f" {reservation.size:#x} bytes at {reservation.start:#x}"
        )
    mappings = [entry.value for entry in state.mappings.overlapping(start, start + size)]
    reservation.leaving = True
    try:
        await remove_mappings(state, mappings)
    except BaseException:
        reservation.leaving = False
        raise
    state.reservations.remove(start)
    is_covered = reservation.is_covered or await cover(start, size)
    place = Place(start, size, reservation.in_arena)
    await give_or_keep(state, place, is_covered=is_covered)


async def unmap(state: DriverState, ptr: int | None, size: int) -> None:
    """Unmap every mapping that lies wholly in a range (zeVirtualMemUnmap).

    Holes are skipped; a mapping that crosses an end of the range stays. Access goes back to NONE.

    Raises:
        ZeError: null pointer; size 0 or no page multiple; address not on a page; not reserved.
    """
    start = check_pointer(ptr)
    page = granularity_in(state, start, size)
    check_size(size, page)
    check_alignment(start, page)
    entry = state.reservations.at(start)
    if entry is None or entry.value.leaving:
        raise invalid_argument(f"nothing is reserved at {start:#x}")
    inside = state.mappings.inside(start, start + size)
    await remove_mappings(state, [entry.value for entry in inside])


async def set_access(state: DriverState, ptr: int | None, size: int, access: int) -> None:
    """Set what the device may do with a reserved range (zeVirtualMemSetAccessAttribute).

    Parts that are not mapped keep the attribute until something is mapped there.

    Raises:
        ZeError: null pointer; unknown attribute; size 0 or no page multiple; address not on a
            page; not in one reservation; the device has no memory left to split a page.
    """
    start = check_pointer(ptr)
    attribute = check_access(access)
    page = granularity_in(state, start, size)
    check_size(size, page)
    check_alignment(start, page)
    reservation = check_reserved(state, start, size)
    pieces = _mapped_pieces(state, start, start + size)
    undo = Undo()
    for device, ranges in pieces.items():
        try:
            await _protect(state, device, ranges, RIGHTS[attribute])
            undo.add(partial(_restore, state, device, ranges, reservation))
        except Refusal as refusal:
            await undo.run()
            doing = f"the access of {size:#x} bytes at {start:#x} cannot be changed"
            raise failed(refusal, doing) from refusal
    reservation.access.set(start, start + size, attribute)


def get_access(state: DriverState, ptr: int | None, size: int) -> AccessRun:
    """Return the attribute at an address and how many bytes from there on have it.

    With profile `intel` the bytes are those of the reservation (zeVirtualMemGetAccessAttribute).

    Raises:
        ZeError: null pointer; size 0 or no page multiple; address not on a page; not in one
            reservation.
    """
    start = check_pointer(ptr)
    page = granularity_in(state, start, size)
    check_size(size, page)
    check_alignment(start, page)
    reservation = check_reserved(state, start, size)
    run = reservation.access.at(start)
    length = reservation.size if state.profile is Profile.INTEL else run.end - start
    return AccessRun(run.access, length)


def _mapped_pieces(state: DriverState, start: int, end: int) -> dict[int, list[tuple[int, int]]]:
    """Return the mapped parts of a range by device, touching ones joined.

    Raises:
        ZeError: a call of another thread maps or unmaps there.
    """
    pieces: dict[int, list[tuple[int, int]]] = {}
    for entry in state.mappings.overlapping(start, end):
        if entry.value.phase is not MappingPhase.THERE:
            raise invalid_argument(f"the mapping at {entry.start:#x} is changing in another thread")
        first, last = max(start, entry.start), min(end, entry.end)
        for device, _ in entry.value.physical.homes:
            ranges = pieces.setdefault(device, [])
            if ranges and ranges[-1][1] == first:
                ranges[-1] = (ranges[-1][0], last)
            else:
                ranges.append((first, last))
    return pieces


async def _restore(
    state: DriverState, device: int, ranges: list[tuple[int, int]], reservation: Reservation
) -> None:
    """Give mapped ranges of one device the rights again that the reservation tells of."""
    for start, last in ranges:
        first = start
        while first < last:
            run = reservation.access.at(first)
            end = min(run.end, last)
            await _protect(state, device, [(first, end)], RIGHTS[run.access])
            first = end


async def _protect(
    state: DriverState, device: int, ranges: list[tuple[int, int]], rights: Rights
) -> None:
    """Change the rights of mapped ranges of one device, all or none."""
    target = state.devices[device]
    if len(ranges) == 1:
        first, last = ranges[0]
        command = Protect(
            request=0, vmid=target.vmid, rights=rights, va=first, size_bytes=last - first
        )
        await call(device, command, Mapped)
        return
    payload = b"".join(
        RangeExtent(va=first, size_bytes=last - first, rights=rights).pack()
        for first, last in ranges
    )
    if len(payload) > target.payload_size:
        raise out_of_host_memory(
            f"{len(ranges)} separate mappings are more than one call can change,"
            f" {target.payload_size // RangeExtent.SIZE}"
        )
    await call(
        device,
        ProtectList(request=0, vmid=target.vmid, count=len(ranges), payload_offset=0),
        Mapped,
        payload=payload,
    )
