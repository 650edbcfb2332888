"""Atomic access attributes of shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import Protect
from firmware.abi.ids import READ_WRITE, Rights
from firmware.abi.replies import Mapped
from hostdriver.api.validation import check_device, check_flags, check_pointer
from hostdriver.core.allocations import Allocation, AllocationKind, allocation_at
from hostdriver.core.calls import call
from hostdriver.core.enums import MemoryAtomicAttrExpFlags
from hostdriver.core.failures import invalid_argument, unsupported_enumeration, unsupported_size
from hostdriver.core.results import Refusal, failed

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState

_Flags = MemoryAtomicAttrExpFlags
DEFAULT: Final = _Flags.HOST_ATOMICS | _Flags.DEVICE_ATOMICS
"""What shared memory has until something is set: both sides, each for itself."""
_PAIRS: Final = (
    (_Flags.NO_HOST_ATOMICS, _Flags.HOST_ATOMICS),
    (_Flags.NO_DEVICE_ATOMICS, _Flags.DEVICE_ATOMICS),
    (_Flags.NO_SYSTEM_ATOMICS, _Flags.SYSTEM_ATOMICS),
)
_ANY: Final = _Flags.HOST_ATOMICS | _Flags.DEVICE_ATOMICS | _Flags.SYSTEM_ATOMICS
_ON_DEVICE: Final = _Flags.DEVICE_ATOMICS | _Flags.SYSTEM_ATOMICS


async def set_attribute(
    state: DriverState, device: int | None, ptr: int | None, size: int, attr: int
) -> None:
    """Set which atomics a device may do in shared memory (zeMemSetAtomicAccessAttributeExp).

    Without atomics of the device or the system its page tables refuse them. 0 goes back to what
    shared memory has from the beginning.

    Raises:
        ZeError: null device or pointer; unknown attributes, or ones that exclude each other; size 0
            or not that of the allocation; not the pointer of a shared allocation; the allocation is
            for devices to read only and the attributes ask for atomics of the device.
    """
    target = check_device(state, device)
    pointer = check_pointer(ptr)
    flags = _check_attributes(attr) or DEFAULT
    allocation = _check_shared(state, pointer, size)
    if allocation.is_read_only:
        if flags & _ON_DEVICE:
            raise invalid_argument(f"devices may only read the memory at {allocation.start:#x}")
        allocation.atomics[target.index] = int(flags)
        return
    rights = READ_WRITE | Rights.ATOMIC if flags & _ON_DEVICE else READ_WRITE
    command = Protect(
        request=0,
        vmid=target.vmid,
        rights=rights,
        va=allocation.start,
        size_bytes=allocation.reserved,
    )
    try:
        await call(target.index, command, Mapped)
    except Refusal as refusal:
        doing = f"the attributes of the memory at {allocation.start:#x} cannot be changed"
        raise failed(refusal, doing) from refusal
    allocation.atomics[target.index] = int(flags)


def get_attribute(
    state: DriverState, device: int | None, ptr: int | None, size: int
) -> MemoryAtomicAttrExpFlags:
    """Return which atomics a device may do in shared memory (zeMemGetAtomicAccessAttributeExp).

    Raises:
        ZeError: null device or pointer; size 0 or not that of the allocation; not the pointer of a
            shared allocation.
    """
    target = check_device(state, device)
    allocation = _check_shared(state, check_pointer(ptr), size)
    initial = _Flags.HOST_ATOMICS if allocation.is_read_only else DEFAULT
    return _Flags(allocation.atomics.get(target.index, initial))


def _check_attributes(attr: int) -> MemoryAtomicAttrExpFlags:
    flags = check_flags(MemoryAtomicAttrExpFlags, attr, "attr")
    for denied, wanted in _PAIRS:
        if denied in flags and wanted in flags:
            raise unsupported_enumeration(f"attr is {attr:#x}: {denied.name} and {wanted.name}")
    if _Flags.NO_ATOMICS in flags and flags & _ANY:
        raise unsupported_enumeration(f"attr is {attr:#x}: NO_ATOMICS and others that allow some")
    return flags


def _check_shared(state: DriverState, pointer: int, size: int) -> Allocation:
    if size <= 0:
        raise unsupported_size(f"size is {size}, expected more than 0")
    allocation = allocation_at(state, pointer)
    if allocation is None or allocation.kind is not AllocationKind.SHARED:
        what = "no memory of this driver" if allocation is None else f"{allocation.kind.value} one"
        raise invalid_argument(f"{pointer:#x} is in no shared allocation, but in {what}")
    if (allocation.start, allocation.size) != (pointer, size):
        raise invalid_argument(
            f"{size:#x} bytes at {pointer:#x} are not the whole allocation, which has"
            f" {allocation.size:#x} bytes at {allocation.start:#x}"
        )
    return allocation
