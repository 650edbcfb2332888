"""Residency: memory that is to stay where the device reaches it.

Every allocation of this driver is resident from its creation to its end: what does not fit is
refused when it is made. So both calls check what they are given, and change nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from hostdriver.api.validation import ADDRESS_LIMIT, check_device, check_pointer
from hostdriver.core.allocations import allocation_at
from hostdriver.core.failures import invalid_argument, null_handle
from hostdriver.core.physical import MappingPhase

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState


def make_resident(state: DriverState, device: int | None, ptr: int | None, size: int) -> None:
    """Keep memory where the device reaches it (zeContextMakeMemoryResident).

    Raises:
        ZeError: null device or pointer; a range that is not wholly memory of this driver, in one
            allocation, opened window or mapping.
    """
    check_device(state, device)
    _check_memory(state, check_pointer(ptr), size)


def evict(state: DriverState, device: int | None, ptr: int | None, size: int) -> None:
    """Take `make_resident` back (zeContextEvictMemory); the memory stays usable.

    Memory that was never made resident is no error.

    Raises:
        ZeError: as `make_resident`.
    """
    check_device(state, device)
    _check_memory(state, check_pointer(ptr), size)


def refuse_image(state: DriverState, device: int | None, image: object | None) -> NoReturn:
    """Refuse to keep or to evict an image: devices here have none.

    Raises:
        ZeError: null device or image; else INVALID_ARGUMENT.
    """
    check_device(state, device)
    if image is None:
        raise null_handle("hImage")
    raise invalid_argument("hImage is none that lives: devices here have no images")


def _check_memory(state: DriverState, start: int, size: int) -> None:
    if size < 0 or start + size > ADDRESS_LIMIT:
        raise invalid_argument(f"{size:#x} bytes at {start:#x} pass the address space's end")
    end = _end_of_memory(state, start)
    if end is None:
        raise invalid_argument(f"no memory of this driver is at {start:#x}")
    if start + size > end:
        raise invalid_argument(
            f"{size:#x} bytes at {start:#x} pass the end of the memory there, {end:#x}"
        )


def _end_of_memory(state: DriverState, start: int) -> int | None:
    if (allocation := allocation_at(state, start)) is not None:
        return allocation.start + allocation.size
    opened = state.imports.at(start)
    if opened is not None and 0 <= start - opened.value.pointer < opened.value.size:
        return opened.value.pointer + opened.value.size
    mapped = state.mappings.at(start)
    if mapped is not None and mapped.value.phase is MappingPhase.THERE:
        return mapped.end
    return None
