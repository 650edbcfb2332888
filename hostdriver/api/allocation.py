"""Allocating memory: on the device, on the host, and shared by both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.extensions import Extension
from firmware.abi.ids import VA_LIMIT
from hostdriver.api.external_memory import (
    find_import,
    import_memory,
    is_export_asked,
    refuse_external_memory,
)
from hostdriver.api.external_structures import (
    ExternalMemmapSysmemExtDesc,
    ExternalMemoryExportDesc,
    ExternalMemoryImportFd,
)
from hostdriver.api.memory_structures import (
    MemoryCompressionHintsExtDesc,
    RelaxedAllocationLimitsExpDesc,
    RelaxedAllocationLimitsExtDesc,
)
from hostdriver.api.structures import IpcMemHandleTypeExtDesc
from hostdriver.api.system_memory import (
    find_system_memory,
    import_system_memory,
    refuse_system_memory,
)
from hostdriver.api.validation import (
    check_device,
    check_extension,
    check_flags,
    check_handle_type,
    read_chain,
)
from hostdriver.core.allocations import AllocationKind
from hostdriver.core.enums import (
    DeviceMemAllocFlags,
    HostMemAllocFlags,
    MemoryCompressionHintsExtFlags,
    RelaxedAllocationLimitsExpFlags,
    RelaxedAllocationLimitsExtFlags,
)
from hostdriver.core.failures import (
    invalid_argument,
    invalid_enumeration,
    null_pointer,
    unsupported_alignment,
    unsupported_enumeration,
    unsupported_size,
)
from hostdriver.core.making import Plan, make
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.state import DeviceState, DriverState

_DEVICE_BIASES = DeviceMemAllocFlags.BIAS_CACHED | DeviceMemAllocFlags.BIAS_UNCACHED
_HOST_BIASES = HostMemAllocFlags.BIAS_CACHED | HostMemAllocFlags.BIAS_UNCACHED
_KNOWN: Final = (
    IpcMemHandleTypeExtDesc,
    ExternalMemmapSysmemExtDesc,
    RelaxedAllocationLimitsExtDesc,
    RelaxedAllocationLimitsExpDesc,
    MemoryCompressionHintsExtDesc,
    ExternalMemoryExportDesc,
    ExternalMemoryImportFd,
)
_UNWRITABLE = HostMemAllocFlags.MEM_READ_ONLY | HostMemAllocFlags.BIAS_WRITE_COMBINED


async def allocate_device(
    state: DriverState,
    desc: DeviceMemAllocDesc | None,
    size: int,
    alignment: int,
    device: int | None,
) -> int:
    """Allocate memory of a device (zeMemAllocDevice); the CPU cannot reach it.

    Args:
        state: the process.
        desc: how it is made.
        size: bytes.
        alignment: of the pointer, a power of two; 0 for whatever suits the device.
        device: the device.

    Returns:
        The pointer.

    Raises:
        ZeError: null device or descriptor; unknown flags or ones that exclude each other; size 0 or
            more than the device allows; an alignment that is no power of two; an ordinal that names
            no memory; memory or address space ran out. Nothing is left then.
    """
    target = check_device(state, device)
    if desc is None:
        raise null_pointer("device_desc")
    is_relaxed = _check_chain(state, target, desc.p_next)
    refuse_system_memory(state, desc.p_next)
    _check_device_flags(desc)
    limit = target.spec.vram_size if is_relaxed else target.spec.max_allocation_size
    given = find_import(desc.p_next)
    _check_size(size, limit, may_be_zero=given is not None)
    _check_alignment(alignment)
    _check_ordinal(desc)
    plan = Plan(
        kind=AllocationKind.DEVICE,
        device=target.index,
        size=size,
        alignment=max(alignment, 1),
        owner=target.index,
        is_exported=is_export_asked(desc.p_next) or _is_file_of_its_own(target, given),
    )
    if given is not None:
        return (await import_memory(state, given, plan)).start
    return (await make(state, plan)).start


async def allocate_host(
    state: DriverState, desc: HostMemAllocDesc | None, size: int, alignment: int
) -> int:
    """Allocate host memory that every device reaches (zeMemAllocHost); arguments as before.

    With a descriptor of system memory in the chain, memory that the application has becomes the
    allocation (`import_system_memory`).

    Raises:
        ZeError: null descriptor; unknown flags or ones that exclude each other; size 0 or more than
            the device allows; an alignment that is no power of two; memory, descriptors, mappings
            or address space ran out. Nothing is left then.
    """
    target = state.devices[0]
    if desc is None:
        raise null_pointer("host_desc")
    is_relaxed = _check_chain(state, target, desc.p_next)
    is_read_only = HostMemAllocFlags.MEM_READ_ONLY in _check_host_flags(desc)
    if (own := find_system_memory(desc.p_next)) is not None:
        _check_alignment(alignment)
        return await import_system_memory(
            state, target, own, size, alignment, read_only=is_read_only
        )
    given = find_import(desc.p_next)
    limit = VA_LIMIT if is_relaxed else target.spec.max_allocation_size
    _check_size(size, limit, may_be_zero=given is not None)
    _check_alignment(alignment)
    plan = Plan(
        kind=AllocationKind.HOST,
        device=target.index,
        size=size,
        alignment=max(alignment, 1),
        is_read_only=is_read_only,
        is_exported=is_export_asked(desc.p_next),
    )
    if given is not None:
        return (await import_memory(state, given, plan)).start
    return (await make(state, plan)).start


async def allocate_shared(
    state: DriverState,
    device_desc: DeviceMemAllocDesc | None,
    host_desc: HostMemAllocDesc | None,
    size: int,
    alignment: int,
    device: int | None,
) -> int:
    """Allocate memory that host and devices share (zeMemAllocShared); arguments as before.

    It stands in host memory, where both see each other's stores at once.

    Raises:
        ZeError: null descriptor; as `allocate_device` and `allocate_host`.
    """
    target = check_device(state, 0 if device is None else device)
    if device_desc is None:
        raise null_pointer("device_desc")
    if host_desc is None:
        raise null_pointer("host_desc")
    chain = [*device_desc.p_next, *host_desc.p_next]
    is_relaxed = _check_chain(state, target, chain)
    refuse_system_memory(state, chain)
    refuse_external_memory(chain)
    _check_device_flags(device_desc)
    flags = _check_host_flags(host_desc)
    _check_size(size, VA_LIMIT if is_relaxed else target.spec.max_allocation_size)
    _check_alignment(alignment)
    _check_ordinal(device_desc)
    plan = Plan(
        kind=AllocationKind.SHARED,
        device=target.index,
        size=size,
        alignment=max(alignment, 1),
        is_read_only=HostMemAllocFlags.MEM_READ_ONLY in flags,
        owner=device,
    )
    return (await make(state, plan)).start


def _is_file_of_its_own(device: DeviceState, given: ExternalMemoryImportFd | None) -> bool:
    """Whether new memory gets a file that its handle carries; imported memory has one."""
    return given is None and bool(device.spec.mappable_handles)


def _check_chain(
    state: DriverState, device: DeviceState, chain: Sequence[ChainedDesc | UnknownDesc]
) -> bool:
    """Check the descriptors of a chain; return whether one lets the size pass its limit."""
    is_relaxed = False
    for item in read_chain(state, chain, _KNOWN):
        match item:
            case IpcMemHandleTypeExtDesc():
                check_handle_type(device, item)
            case RelaxedAllocationLimitsExtDesc():
                check_extension(device, Extension.EXT_RELAXED_ALLOCATION_LIMITS)
                check_flags(RelaxedAllocationLimitsExtFlags, item.flags, "relaxed limits' flags")
                is_relaxed |= _relaxes(state, item.flags)
            case RelaxedAllocationLimitsExpDesc():
                check_extension(device, Extension.EXP_RELAXED_ALLOCATION_LIMITS)
                check_flags(RelaxedAllocationLimitsExpFlags, item.flags, "relaxed limits' flags")
                is_relaxed |= _relaxes(state, item.flags)
            case MemoryCompressionHintsExtDesc():
                _check_hints(state, device, item)
            case _:
                pass
    return is_relaxed


def _relaxes(state: DriverState, flags: int) -> bool:
    if not flags and state.profile is Profile.INTEL:
        raise invalid_argument("relaxed limits' flags are 0, expected MAX_SIZE")
    return bool(flags)


def _check_hints(
    state: DriverState, device: DeviceState, desc: MemoryCompressionHintsExtDesc
) -> None:
    check_extension(device, Extension.EXT_MEMORY_COMPRESSION_HINTS)
    flags = check_flags(MemoryCompressionHintsExtFlags, desc.flags, "compression hints' flags")
    if int(flags).bit_count() != 1 and state.profile is Profile.SPEC:
        raise invalid_enumeration(
            f"compression hints' flags are {int(flags):#x}, expected COMPRESSED or UNCOMPRESSED"
        )


def _check_device_flags(desc: DeviceMemAllocDesc) -> None:
    flags = check_flags(DeviceMemAllocFlags, desc.flags, "device_desc.flags")
    if flags and flags & _DEVICE_BIASES == _DEVICE_BIASES:
        raise unsupported_enumeration("device_desc.flags asks for cached and uncached at once")


def _check_host_flags(desc: HostMemAllocDesc) -> HostMemAllocFlags:
    flags = check_flags(HostMemAllocFlags, desc.flags, "host_desc.flags")
    if not flags:
        return flags
    if flags & _HOST_BIASES == _HOST_BIASES:
        raise unsupported_enumeration("host_desc.flags asks for cached and uncached at once")
    if flags & _UNWRITABLE == _UNWRITABLE:
        raise unsupported_enumeration(
            "host_desc.flags asks for read-only and write-combined at once"
        )
    return flags


def _check_size(size: int, limit: int, *, may_be_zero: bool = False) -> None:
    if size < 0 or not (size or may_be_zero):
        raise unsupported_size(f"size is {size}, expected more than 0")
    if size > limit:
        raise unsupported_size(f"size is {size:#x}, one allocation may have up to {limit:#x} bytes")


def _check_alignment(alignment: int) -> None:
    if alignment < 0 or alignment & (alignment - 1):
        raise unsupported_alignment(f"alignment is {alignment:#x}, expected 0 or a power of two")
    if alignment >= VA_LIMIT:
        raise unsupported_alignment(
            f"alignment is {alignment:#x}, addresses end before {VA_LIMIT:#x}"
        )


def _check_ordinal(desc: DeviceMemAllocDesc) -> None:
    if desc.ordinal:
        raise invalid_argument(
            f"device_desc.ordinal is {desc.ordinal}, the device has one memory, number 0"
        )
