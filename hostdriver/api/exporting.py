"""IPC, the exporter's side: getting a handle for memory, and putting it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import Export, ExportPut
from firmware.abi.extensions import Extension
from firmware.abi.ipc import ExportKind
from firmware.abi.replies import Done, Exported
from firmware.abi.status import Status
from hostdriver.api.structures import IpcMemHandleTypeExtDesc, IpcPhysMemHandleRangeExtDesc
from hostdriver.api.validation import (
    ADDRESS_LIMIT,
    check_extension,
    check_handle_type,
    check_pointer,
    read_chain,
)
from hostdriver.core.calls import call
from hostdriver.core.exports import OwnExport
from hostdriver.core.failures import (
    address_not_found,
    invalid_argument,
    invalid_size,
    out_of_host_memory,
)
from hostdriver.core.ipc import HANDLE_SIZE, Named, build_handle, build_ticket, is_intact, is_ours
from hostdriver.core.physical import MappingPhase, PhysicalKind
from hostdriver.core.questions import DropTicket, MakeTicket
from hostdriver.core.results import Refusal, ZeResult, failed
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.physical import Mapping
    from hostdriver.core.state import DeviceState, DriverState

_WINDOW_MEANINGS: Final = {Status.LIMIT: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE}
# Unmapped by another thread while the handle was made.
_PLAIN_MEANINGS: Final = {Status.NOT_MAPPED: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT}


async def get_handle(
    state: DriverState, ptr: int | None, chain: Sequence[ChainedDesc | UnknownDesc] = ()
) -> bytes:
    """Return a handle for memory (zeMemGetIpcHandleWithProperties).

    With a range descriptor: a window of any offset and size over whatever physical objects are
    mapped along it, as they are now; every call makes a handle of its own. Without: the mapping
    that begins at `ptr`; calls are counted and give the same handle until the last put.

    Raises:
        ZeError: null pointer; extension switched off; unknown or unsupported handle type; size 0;
            memory that is not reserved and mapped in the window, a hole; more objects than the
            device exports; no descriptor left for the handle.
    """
    start = check_pointer(ptr)
    windows: list[IpcPhysMemHandleRangeExtDesc] = []
    known: tuple[type[IpcMemHandleTypeExtDesc | IpcPhysMemHandleRangeExtDesc], ...] = (
        IpcMemHandleTypeExtDesc,
        IpcPhysMemHandleRangeExtDesc,
    )
    for desc in read_chain(state, chain, known):
        if isinstance(desc, IpcPhysMemHandleRangeExtDesc):
            windows.append(desc)
        else:
            check_handle_type(state.devices[0], desc)
    if windows:
        return await _get_window(state, start, windows[0].size)
    return await _get_plain(state, start)


async def put_handle(state: DriverState, handle: bytes) -> None:
    """Give a handle back (zeMemPutIpcHandle); what is open of it lives on.

    A handle that this process did not get, or has put already, is no error.

    Raises:
        ZeError: the bytes are no handle; the device is lost.
    """
    check_handle_bytes(handle)
    export = state.exports.of_handle(handle)
    if export is None:
        if is_ours(handle, state.emulator_id) and not is_intact(handle):
            raise invalid_argument("the check word of the handle does not fit its bytes")
        return
    export.uses -= 1
    if not export.uses:
        await revoke(state, export)


async def revoke(state: DriverState, export: OwnExport) -> None:
    """End an export: nobody can open it any more.

    Raises:
        ZeError: the device is lost.
    """
    state.exports.discard(export)
    await DropTicket(export.ticket)
    try:
        await call(export.named.device, ExportPut(request=0, token=export.named.token), Done)
    except Refusal as refusal:
        # Gone already at the device: the end that is wanted.
        if refusal.status is not Status.BAD_TOKEN:
            raise failed(refusal, "the handle cannot be put") from refusal


def check_handle_bytes(handle: bytes) -> None:
    """Do nothing for 64 bytes.

    Raises:
        ZeError: there are more or fewer.
    """
    if len(handle) != HANDLE_SIZE:
        raise invalid_argument(f"the handle has {len(handle)} bytes, expected {HANDLE_SIZE}")


async def _get_plain(state: DriverState, start: int) -> bytes:
    """Return the one handle of the mapping that begins at `start`."""
    entry = state.mappings.at(start)
    if entry is None or entry.value.phase is not MappingPhase.THERE:
        raise invalid_argument(f"no memory that can be exported begins at {start:#x}")
    mapping = entry.value
    if mapping.start != start:
        raise invalid_argument(f"{start:#x} lies inside the memory that begins at {entry.start:#x}")
    known = state.exports.of_source(mapping)
    if known is None:
        device = state.devices[mapping.physical.device]
        known = await _export(state, device, start, mapping.size, mapping)
        # Another thread may have made the mapping's one handle meanwhile.
        first = state.exports.of_source(mapping)
        if first is None and mapping.phase is MappingPhase.THERE:
            state.exports.add(known)
            return known.handle
        await revoke(state, known)
        if first is None:
            raise invalid_argument(f"the memory at {start:#x} was unmapped by another thread")
        known = first
    known.uses += 1
    return known.handle


async def _get_window(state: DriverState, start: int, size: int) -> bytes:
    """Return a new handle for a window."""
    check_extension(state.devices[0], Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE)
    if size <= 0:
        raise invalid_size(f"the range descriptor's size is {size}, expected more than 0")
    target = _check_window(state, start, size)
    export = await _export(state, target, start, size, None)
    state.exports.add(export)
    return export.handle


def _check_window(state: DriverState, start: int, size: int) -> DeviceState:
    """Return the device whose objects are mapped along a window.

    Raises:
        ZeError: opened or foreign memory anywhere in it (first), a hole at its start, and what
            `_check_objects` finds.
    """
    end = start + size
    if end > ADDRESS_LIMIT:
        raise address_not_found(f"{size:#x} bytes at {start:#x} pass the end of the address space")
    if (other := next(state.imports.overlapping(start, end), None)) is not None:
        raise invalid_argument(
            f"the memory at {other.value.pointer:#x} was opened from a handle, and is no reserved"
            " memory of this process"
        )
    entry = state.mappings.at(start)
    if entry is None:
        raise address_not_found(f"no physical memory is mapped at {start:#x}")
    device = state.devices[entry.value.physical.device]
    if len(state.devices) > 1 or state.profile is Profile.INTEL:
        _check_objects(state, start, end)
    return device


def _check_objects(state: DriverState, start: int, end: int) -> None:
    """Check what the one device that exports a window cannot see; it finds holes by itself.

    Raises:
        ZeError: a hole, objects of two devices; both kinds of objects with profile `intel`.
    """
    if (hole := state.mappings.first_gap(start, end)) is not None:
        raise address_not_found(f"no physical memory is mapped at {hole:#x}")
    objects = {entry.value.physical for entry in state.mappings.overlapping(start, end)}
    if len({source.device for source in objects}) > 1:
        raise invalid_argument("the window shows physical memory of more than one device")
    kinds = {source.kind for source in objects}
    if state.profile is Profile.INTEL and kinds == set(PhysicalKind):
        raise invalid_argument("the window shows physical memory of both device and host")


async def _export(
    state: DriverState, device: DeviceState, start: int, size: int, mapping: Mapping | None
) -> OwnExport:
    """Export a window at the device and make the handle that names it."""
    command = Export(request=0, vmid=device.vmid, va=start, size_bytes=size)
    try:
        exported = await call(device.index, command, Exported)
    except Refusal as refusal:
        doing = f"the export of {size:#x} bytes at {start:#x}"
        meanings = _WINDOW_MEANINGS if mapping is None else _PLAIN_MEANINGS
        raise failed(refusal, doing, meanings) from refusal
    named = Named(
        token=exported.token,
        kind=ExportKind.RANGE if mapping is None else ExportKind.ALLOCATION,
        device=device.index,
        emulator_id=state.emulator_id,
        offset=exported.window_offset,
        size=size,
    )
    ticket = await MakeTicket(build_ticket(named))
    if isinstance(ticket, str):
        await call(device.index, ExportPut(request=0, token=named.token), Done)
        raise out_of_host_memory(f"the handle's descriptor cannot be made: {ticket}")
    handle = build_handle(named, ticket.descriptor, state.facts.pid)
    return OwnExport(named, handle, ticket, mapping)
