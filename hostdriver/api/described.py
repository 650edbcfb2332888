"""What a pointer names: kind, number, page size and device of the memory there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hostdriver.api.validation import check_pointer
from hostdriver.core.allocations import AllocationKind, allocation_at
from hostdriver.core.enums import MemoryType
from hostdriver.core.physical import MEDIUM_PAGE, MappingPhase, PhysicalKind, page_size_for
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState

_TYPES: Final = {
    AllocationKind.DEVICE: MemoryType.DEVICE,
    AllocationKind.HOST: MemoryType.HOST,
    AllocationKind.SHARED: MemoryType.SHARED,
    AllocationKind.IMPORTED: MemoryType.HOST_IMPORTED,
}


class Described(NamedTuple):
    """Properties of the memory that a pointer names."""

    type: MemoryType
    id: int
    page_size: int
    device: int | None
    """Number of the device that it was allocated on or opened for."""


NOT_OURS: Final = Described(MemoryType.UNKNOWN, 0, 0, None)


def get_alloc_properties(state: DriverState, ptr: int | None) -> Described:
    """Return what a pointer, also one into the middle, names (zeMemGetAllocProperties).

    A pointer of the application that is not the driver's is UNKNOWN, and no error. Mapped memory is
    its physical object, or with profile `intel` the reservation around it.

    Raises:
        ZeError: null pointer.
    """
    pointer = check_pointer(ptr)
    if (allocation := allocation_at(state, pointer)) is not None:
        kind = _TYPES[allocation.kind]
        if kind is MemoryType.HOST_IMPORTED and state.profile is Profile.INTEL:
            kind = MemoryType.HOST
        return Described(kind, allocation.id, allocation.page_size, allocation.owner)
    return _opened(state, pointer) or _mapped(state, pointer)


def _opened(state: DriverState, pointer: int) -> Described | None:
    entry = state.imports.at(pointer)
    if entry is None or not 0 <= pointer - entry.value.pointer < entry.value.size:
        return None
    opened = entry.value
    kind = MemoryType.HOST if opened.is_host_visible else MemoryType.DEVICE
    return Described(kind, opened.id, page_size_for(opened.size), opened.device)


def _mapped(state: DriverState, pointer: int) -> Described:
    reserved = state.reservations.at(pointer)
    if reserved is not None and state.profile is Profile.INTEL:
        return Described(MemoryType.DEVICE, reserved.value.id, MEDIUM_PAGE, None)
    mapped = state.mappings.at(pointer)
    if mapped is None or mapped.value.phase is not MappingPhase.THERE:
        return NOT_OURS
    physical = mapped.value.physical
    is_host = physical.kind is PhysicalKind.HOST
    kind = MemoryType.HOST if is_host else MemoryType.DEVICE
    return Described(
        kind,
        physical.id,
        physical.page_for(mapped.value.size),
        None if is_host else physical.device,
    )
