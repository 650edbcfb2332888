"""Memory by its pointer: which allocation holds it, and copies for a caller who waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api.structures import AddressRange
from hostdriver.api.validation import ADDRESS_LIMIT, check_pointer
from hostdriver.core import copies
from hostdriver.core.allocations import allocation_at
from hostdriver.core.failures import address_not_found, invalid_argument, invalid_size
from hostdriver.core.physical import MappingPhase, PhysicalKind
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from hostdriver.core.physical import Import
    from hostdriver.core.state import DeviceState, DriverState

_PATTERN_SIZES = frozenset({1, 2, 4, 8, 16})


def get_address_range(state: DriverState, ptr: int | None) -> AddressRange:
    """Return base and size of the memory that holds a pointer (zeMemGetAddressRange).

    Allocated memory: the pointer and the size that was asked for. Opened memory: the exported
    window. Mapped memory: the mapping, or with profile `intel` the reservation around it.

    Raises:
        ZeError: null pointer; no memory is there.
    """
    pointer = check_pointer(ptr)
    if (allocation := allocation_at(state, pointer)) is not None:
        return AddressRange(allocation.start, allocation.size)
    if (opened := _opened_at(state, pointer)) is not None:
        return AddressRange(opened.pointer, opened.size)
    reserved = state.reservations.at(pointer)
    if reserved is not None and state.profile is Profile.INTEL:
        return AddressRange(reserved.value.start, reserved.value.size)
    mapped = state.mappings.at(pointer)
    if mapped is not None and mapped.value.phase is MappingPhase.THERE:
        return AddressRange(mapped.value.start, mapped.value.size)
    raise address_not_found(f"no memory of this driver is at {pointer:#x}")


async def copy(state: DriverState, destination: int | None, source: int | None, size: int) -> None:
    """Copy between two device-visible ranges and wait until it is done.

    Raises:
        ZeError: null pointer; a range that passes 2^64; memory of two devices; an address that
            cannot be read or written (DEVICE_LOST, with the fault in the description).
    """
    to = _check_range(destination, size, "destination")
    start = _check_range(source, size, "source")
    device = _device_of(state, to, start)
    if size:
        await copies.copy(state, device, to, start, size)


async def fill(state: DriverState, destination: int | None, pattern: bytes, size: int) -> None:
    """Fill a device-visible range with a pattern and wait until it is done.

    Raises:
        ZeError: null pointer; a pattern that is not 1, 2, 4, 8 or 16 bytes; a range that passes
            2^64; an address that cannot be written (DEVICE_LOST).
    """
    to = _check_range(destination, size, "destination")
    if len(pattern) not in _PATTERN_SIZES:
        raise invalid_size(f"the pattern has {len(pattern)} bytes, expected 1, 2, 4, 8 or 16")
    if size:
        await copies.fill(state, _device_of(state, to), to, pattern, size)


async def write(state: DriverState, destination: int | None, data: memoryview) -> None:
    """Copy bytes of the caller to device-visible memory and wait until they are there.

    Raises:
        ZeError: null pointer; a range that passes 2^64; an address that cannot be written
            (DEVICE_LOST).
    """
    to = _check_range(destination, data.nbytes, "destination")
    if data.nbytes:
        await copies.write(state, _device_of(state, to), to, data)


async def read(state: DriverState, source: int | None, into: memoryview) -> None:
    """Copy device-visible memory to the caller's bytes and wait until they are there.

    Raises:
        ZeError: null pointer; a range that passes 2^64; an address that cannot be read
            (DEVICE_LOST).
    """
    start = _check_range(source, into.nbytes, "source")
    if into.nbytes:
        await copies.read(state, _device_of(state, start), start, into)


def check_host_range(state: DriverState, ptr: int | None, size: int) -> int:
    """Return the start of a range that the CPU can use: host memory without a hole.

    Raises:
        ZeError: null pointer; a hole; device memory.
    """
    start = _check_range(ptr, size, "ptr")
    at, device_memory = start, None
    while at < start + size:
        is_visible, end = _memory_at(state, at)
        if not is_visible and device_memory is None:
            device_memory = at
        at = end
    if device_memory is not None:
        raise invalid_argument(f"the memory at {device_memory:#x} is out of the CPU's reach")
    return start


def _memory_at(state: DriverState, address: int) -> tuple[bool, int]:
    """Return whether the CPU can use the memory at an address, and where that ends.

    Raises:
        ZeError: there is none.
    """
    if (allocation := allocation_at(state, address)) is not None:
        return allocation.is_host_visible, allocation.start + allocation.size
    if (entry := state.mappings.at(address)) is not None:
        return entry.value.physical.kind is PhysicalKind.HOST, entry.end
    if (opened := _opened_at(state, address)) is not None:
        shown, end = opened.shown.at(address), opened.pointer + opened.size
        return shown is not None, end if shown is None else min(shown.end, end)
    raise address_not_found(f"no memory of this driver is at {address:#x}")


def _opened_at(state: DriverState, address: int) -> Import | None:
    """Return the opened window that holds an address; the rest of its pages is nobody's."""
    found = state.imports.at(address)
    if found is None or not 0 <= address - found.value.pointer < found.value.size:
        return None
    return found.value


def _check_range(ptr: int | None, size: int, name: str) -> int:
    start = check_pointer(ptr, name)
    if size < 0 or start + size > ADDRESS_LIMIT:
        raise invalid_argument(f"{size:#x} bytes at {name} {start:#x} pass the address space's end")
    return start


def _device_of(state: DriverState, *pointers: int) -> DeviceState:
    """Return the device that sees the memory at all pointers; host and unknown memory any does.

    Raises:
        ZeError: two devices' memory.
    """
    found: set[int] = set()
    for pointer in pointers:
        if (allocation := allocation_at(state, pointer)) is not None:
            if not allocation.is_host_visible:
                found.add(allocation.device)
        elif (mapped := state.mappings.at(pointer)) is not None:
            if mapped.value.physical.kind is PhysicalKind.DEVICE:
                found.add(mapped.value.physical.device)
        elif (opened := state.imports.at(pointer)) is not None:
            found.add(opened.value.device)
    if len(found) > 1:
        raise invalid_argument("the copy is between two devices without access to each other")
    return state.devices[found.pop() if found else 0]
