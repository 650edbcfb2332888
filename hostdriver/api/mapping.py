"""Mapping physical memory at reserved addresses, and taking it away again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from firmware.abi.control import Map, Unmap
from firmware.abi.ids import ALL_RIGHTS, Rights
from firmware.abi.replies import Mapped
from hostdriver.api.validation import (
    check_access,
    check_alignment,
    check_physical,
    check_pointer,
    check_reserved,
    check_size,
)
from hostdriver.core.addresses import cover
from hostdriver.core.calls import call
from hostdriver.core.enums import MemoryAccessAttribute
from hostdriver.core.failures import invalid_argument, out_of_host_memory
from hostdriver.core.handles import revoke
from hostdriver.core.physical import Mapping, MappingPhase, PhysicalKind
from hostdriver.core.questions import MapDescriptor
from hostdriver.core.results import Refusal, failed
from hostdriver.core.state import Profile
from hostdriver.core.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.state import DriverState

RIGHTS: Final = {
    MemoryAccessAttribute.NONE: Rights.NONE,
    MemoryAccessAttribute.READWRITE: ALL_RIGHTS,
    MemoryAccessAttribute.READONLY: Rights.READ,
}
"""What each attribute is in a page table."""


async def map_memory(
    state: DriverState,
    ptr: int | None,
    size: int,
    physical: PhysicalObject | None,
    offset: int,
    access: int,
) -> None:
    """Map part of a physical object at reserved addresses (zeVirtualMemMap).

    Host memory is mapped for the CPU too, readable and writable whatever the attribute says, which
    is about the device.

    Raises:
        ZeError: null or stale object; null pointer; unknown attribute; size 0 or no page multiple;
            address or offset not on a page; not in one reservation, beyond the object, or mapped
            already; no memory left for page tables. Nothing is mapped then.
    """
    source = check_physical(state, physical)
    start = check_pointer(ptr)
    attribute = check_access(access)
    page = source.page_for(size)
    check_size(size, page)
    check_alignment(start, page)
    check_alignment(offset, source.smallest_page, "offset")
    reservation = check_reserved(state, start, size)
    _check_mappable(state, source, start, size, offset)
    mapping = Mapping(start, size, source, offset)
    state.mappings.insert(start, start + size, mapping)
    source.mapping_count += 1
    try:
        await _map_everywhere(state, mapping, RIGHTS[attribute])
    except BaseException:
        _forget(state, mapping)
        raise
    mapping.phase = MappingPhase.THERE
    reservation.access.set(start, start + size, attribute)


async def remove_mappings(state: DriverState, mappings: Sequence[Mapping]) -> None:
    """Unmap mappings that follow each other in the address space, and nothing lies between.

    Their plain IPC handles are put with them.

    Raises:
        ZeError: a call of another thread is at work on one of them; the device is lost.
    """
    changing = [mapping for mapping in mappings if mapping.phase is not MappingPhase.THERE]
    if changing:
        at = changing[0].start
        raise invalid_argument(f"the mapping at {at:#x} is changing in another thread")
    _set_phase(mappings, MappingPhase.LEAVING)
    try:
        await _unmap_on_devices(state, mappings)
    except BaseException as error:
        _set_phase(mappings, MappingPhase.THERE)
        if isinstance(error, Refusal):
            raise failed(error, f"the mapping at {mappings[0].start:#x} cannot go") from error
        raise
    for mapping in mappings:
        if (export := state.exports.of_source(mapping)) is not None:
            await revoke(state, export)
        is_shown = mapping.physical.kind is PhysicalKind.HOST
        # The devices have unmapped it: from here on it is gone, whatever the system says.
        is_covered = not is_shown or await cover(mapping.start, mapping.size)
        _forget(state, mapping)
        for entry in state.reservations.overlapping(mapping.start, mapping.end):
            entry.value.is_covered &= is_covered
            entry.value.access.set(mapping.start, mapping.end, MemoryAccessAttribute.NONE)


def _check_mappable(
    state: DriverState, source: PhysicalObject, start: int, size: int, offset: int
) -> None:
    if offset < 0 or offset + size > source.size:
        raise invalid_argument(
            f"{size:#x} bytes from offset {offset:#x} leave physical memory {source.id} of"
            f" {source.size:#x} bytes"
        )
    is_once_only = state.profile is Profile.INTEL and source.kind is PhysicalKind.DEVICE
    if is_once_only and source.mapping_count:
        raise invalid_argument(f"physical memory {source.id} is mapped already")
    if (other := next(state.mappings.overlapping(start, start + size), None)) is not None:
        raise invalid_argument(f"{other.end - other.start:#x} bytes are mapped at {other.start:#x}")


async def _map_everywhere(state: DriverState, mapping: Mapping, rights: Rights) -> None:
    """Map on the devices, then for the CPU where it can see the memory; everywhere or nowhere."""
    source = mapping.physical
    undo = Undo()
    try:
        for device, object_id in source.homes:
            command = Map(
                request=0,
                vmid=state.devices[device].vmid,
                rights=rights,
                va=mapping.start,
                size_bytes=mapping.size,
                object_id=object_id,
                object_offset=mapping.offset,
            )
            await call(device, command, Mapped)
            undo.add(partial(_unmap, state, device, mapping.start, mapping.end))
        if source.kind is PhysicalKind.HOST and source.descriptor is not None:
            await _map_for_cpu(source.descriptor, mapping)
    except Exception as error:
        await undo.run()
        if isinstance(error, Refusal):
            doing = f"mapping {mapping.size:#x} bytes at {mapping.start:#x}"
            raise failed(error, doing) from error
        raise


async def _map_for_cpu(descriptor: int, mapping: Mapping) -> None:
    problem = await MapDescriptor(descriptor, mapping.offset, mapping.start, mapping.size)
    if problem is not None:
        raise out_of_host_memory(f"the CPU's mapping at {mapping.start:#x} failed: {problem}")


async def _unmap_on_devices(state: DriverState, mappings: Sequence[Mapping]) -> None:
    """Unmap neighbours with one command a device, which skips the holes between them."""
    spans: dict[int, tuple[int, int]] = {}
    for mapping in mappings:
        for device, _ in mapping.physical.homes:
            first, _ = spans.get(device, (mapping.start, 0))
            spans[device] = first, mapping.end
    for device, (first, end) in spans.items():
        await _unmap(state, device, first, end)


async def _unmap(state: DriverState, device: int, first: int, end: int) -> None:
    vmid = state.devices[device].vmid
    await call(device, Unmap(request=0, vmid=vmid, va=first, size_bytes=end - first), Mapped)


def _set_phase(mappings: Sequence[Mapping], phase: MappingPhase) -> None:
    for mapping in mappings:
        mapping.phase = phase


def _forget(state: DriverState, mapping: Mapping) -> None:
    """Remove a mapping that is nowhere any more from the books."""
    state.mappings.remove(mapping.start)
    mapping.physical.mapping_count -= 1
