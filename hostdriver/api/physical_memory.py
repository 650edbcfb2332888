"""Physical memory: bytes on the device or on the host, without an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import (
    ObjectCreate,
    ObjectDestroy,
    ObjectFlags,
    ObjectKind,
    SegmentUnregister,
)
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Done, ObjectCreated
from hostdriver.api.external_handles import tell_descriptor
from hostdriver.api.external_memory import find_import, is_export_asked
from hostdriver.api.external_physical import import_physical
from hostdriver.api.external_structures import (
    ExternalMemoryExportDesc,
    ExternalMemoryExportFd,
    ExternalMemoryImportFd,
)
from hostdriver.api.structures import IpcMemHandleTypeExtDesc, PhysicalMemProperties
from hostdriver.api.validation import (
    check_device,
    check_flags,
    check_handle_type,
    check_physical,
    check_size,
    read_chain,
)
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.enums import PhysicalMemFlags
from hostdriver.core.failures import (
    in_use,
    null_handle,
    null_pointer,
    out_of_host_memory,
    unsupported_enumeration,
)
from hostdriver.core.memoryfiles import close_files
from hostdriver.core.peers import make_known, make_unknown
from hostdriver.core.physical import PhysicalKind, PhysicalObject, page_size_for
from hostdriver.core.questions import CloseDescriptor
from hostdriver.core.results import Refusal, failed
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, PhysicalMemDesc, UnknownDesc
    from hostdriver.core.allocations import PeerObject
    from hostdriver.core.questions import Answer
    from hostdriver.core.state import DeviceState, DriverState

_KNOWN: Final = (IpcMemHandleTypeExtDesc, ExternalMemoryExportDesc, ExternalMemoryImportFd)
_BOTH = PhysicalMemFlags.ALLOCATE_ON_DEVICE | PhysicalMemFlags.ALLOCATE_ON_HOST


async def create(
    state: DriverState, device: int | None, desc: PhysicalMemDesc | None
) -> PhysicalObject:
    """Make a physical memory object (zePhysicalMemCreate).

    The bytes are taken now: what does not fit fails here. Host memory needs no device with profile
    `spec`. With an import descriptor in the chain the object is memory that another process, or
    this one, exported (`import_physical`).

    Raises:
        ZeError: null device or descriptor; unknown or both flags; unsupported handle type; size 0
            or no page multiple; memory or descriptors ran out. Nothing is left then.
    """
    if device is None and not _may_do_without_device(state, desc):
        raise null_handle("hDevice")
    target = check_device(state, 0 if device is None else device)
    if desc is None:
        raise null_pointer("desc")
    _check_chain(state, target, desc)
    kind = _kind_of(desc)
    page = PAGE_SIZE if kind is PhysicalKind.HOST else page_size_for(desc.size)
    check_size(desc.size, page, "desc.size")
    if (given := find_import(desc.p_next)) is not None:
        return await import_physical(state, target, given, kind, desc.size)
    is_exported = is_export_asked(desc.p_next)
    has_file = is_exported and kind is PhysicalKind.DEVICE
    command = ObjectCreate(
        request=0,
        kind=ObjectKind.SYSTEM if kind is PhysicalKind.HOST else ObjectKind.VRAM,
        flags=ObjectFlags.DATA_DESCRIPTOR if has_file else ObjectFlags.NONE,
        size_bytes=desc.size,
        page_size=page,
    )
    try:
        answer = await exchange(target.index, command)
    except Refusal as refusal:
        raise failed(refusal, f"physical memory of {desc.size:#x} bytes") from refusal
    created = expect(answer.reply, ObjectCreated)
    wanted = int(has_file or kind is PhysicalKind.HOST)
    if len(answer.descriptors) < wanted:
        await _destroy_object(target.index, created.object_id)
        raise out_of_host_memory(f"the memory's descriptor is missing: {answer.problem}")
    descriptor = await _keep(wanted, answer)
    peers: tuple[PeerObject, ...] = ()
    if kind is PhysicalKind.HOST:
        peers = await _tell_others(state, target.index, created.object_id, descriptor, desc.size)
    physical = PhysicalObject(
        id=state.next_id(),
        device=target.index,
        kind=kind,
        object_id=created.object_id,
        size=desc.size,
        descriptor=descriptor,
        peers=peers,
        is_exported=is_exported,
    )
    state.physical[physical.id] = physical
    return physical


async def destroy(state: DriverState, physical: PhysicalObject | None) -> None:
    """Destroy a physical memory object (zePhysicalMemDestroy); exports of it keep its bytes.

    Raises:
        ZeError: null or stale handle; mapped somewhere (HANDLE_OBJECT_IN_USE).
    """
    target = check_physical(state, physical)
    if target.mapping_count:
        raise in_use(f"physical memory {target.id} is mapped {target.mapping_count} time(s)")
    target.destroyed = True
    try:
        if target.is_given:
            command = SegmentUnregister(request=0, object_id=target.object_id)
            await call(target.device, command, Done)
        else:
            await _destroy_object(target.device, target.object_id)
    except BaseException as error:
        target.destroyed = False
        if isinstance(error, Refusal):
            raise failed(error, f"physical memory {target.id} cannot be destroyed") from error
        raise
    await make_unknown(target.peers)
    del state.physical[target.id]
    state.exports.lose_file(target)
    await close_files(target)


async def get_properties(
    state: DriverState,
    physical: PhysicalObject | None,
    chain: Sequence[ChainedDesc | UnknownDesc] = (),
) -> PhysicalMemProperties:
    """Return number and size of a physical memory object (zePhysicalMemGetProperties).

    Raises:
        ZeError: null or stale handle; as `tell_descriptor`, where the chain asks for a descriptor.
    """
    target = check_physical(state, physical)
    asked = read_chain(state, chain, (ExternalMemoryExportFd,))
    answers = [await tell_descriptor(state, target, item) for item in asked]
    return PhysicalMemProperties(id=target.id, size=target.size, p_next=tuple(answers))


def _may_do_without_device(state: DriverState, desc: PhysicalMemDesc | None) -> bool:
    is_host = desc is not None and desc.flags == PhysicalMemFlags.ALLOCATE_ON_HOST
    return is_host and state.profile is Profile.SPEC


def _kind_of(desc: PhysicalMemDesc) -> PhysicalKind:
    flags = check_flags(PhysicalMemFlags, desc.flags, "desc.flags")
    if flags == _BOTH:
        raise unsupported_enumeration("desc.flags asks for device and host memory at once")
    is_host = PhysicalMemFlags.ALLOCATE_ON_HOST in flags
    return PhysicalKind.HOST if is_host else PhysicalKind.DEVICE


def _check_chain(state: DriverState, device: DeviceState, desc: PhysicalMemDesc) -> None:
    for item in read_chain(state, desc.p_next, _KNOWN):
        if isinstance(item, IpcMemHandleTypeExtDesc):
            check_handle_type(device, item)


async def _keep(wanted: int, answer: Answer) -> int | None:
    """Return the descriptor that is wanted, if one is; close whatever else came."""
    for descriptor in answer.descriptors[wanted:]:
        await CloseDescriptor(descriptor)
    return answer.descriptors[0] if wanted else None


async def _tell_others(
    state: DriverState, device: int, object_id: int, descriptor: int | None, size: int
) -> tuple[PeerObject, ...]:
    """Make host memory known to the other devices; when one refuses, the memory goes."""
    if descriptor is None:
        return ()
    try:
        return await make_known(state, device, descriptor, size)
    except Exception as error:
        await CloseDescriptor(descriptor)
        await _destroy_object(device, object_id)
        if isinstance(error, Refusal):
            raise failed(error, f"host memory of {size:#x} bytes on every device") from error
        raise


async def _destroy_object(device: int, object_id: int) -> None:
    await call(device, ObjectDestroy(request=0, object_id=object_id), Done)
