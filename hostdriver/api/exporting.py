"""IPC, the exporter's side: getting a handle for memory, and putting it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import Export, ExportObject
from firmware.abi.ipc import ExportKind
from firmware.abi.status import Status
from hostdriver.api.exporting_windows import check_window_size, covering_allocation, get_window
from hostdriver.api.structures import IpcMemHandleTypeExtDesc, IpcPhysMemHandleRangeExtDesc
from hostdriver.api.validation import (
    check_handle_type,
    check_physical,
    check_pointer,
    read_chain,
)
from hostdriver.core.allocations import Allocation, AllocationKind, holder_of
from hostdriver.core.failures import invalid_argument
from hostdriver.core.handles import make_export, revoke
from hostdriver.core.ipc import HANDLE_SIZE, MEMORY_KINDS, is_intact, is_ours
from hostdriver.core.physical import Mapping, MappingPhase, PhysicalObject
from hostdriver.core.results import Refusal, ZeResult, failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.exports import OwnExport, Source
    from hostdriver.core.state import DriverState

# Taken away by another thread while the handle was made.
_MEANINGS: Final = {Status.NOT_MAPPED: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT}
_EXPORTED_KINDS: Final = (AllocationKind.DEVICE, AllocationKind.HOST)


async def get_handle(
    state: DriverState,
    ptr: int | PhysicalObject | None,
    chain: Sequence[ChainedDesc | UnknownDesc] = (),
) -> bytes:
    """Return a handle for memory (zeMemGetIpcHandleWithProperties).

    With a range descriptor: a window of any offset and size over whatever physical objects are
    mapped along it, as they are now; every call makes a handle of its own. Without: the device or
    host allocation, or the mapping, that begins at `ptr`, or a whole physical object given in its
    place; calls are counted and give the same handle until the last put.

    Raises:
        ZeError: null pointer; extension switched off; unknown or unsupported handle type; size 0;
            no such memory begins there; memory that is not reserved and mapped in the window, a
            hole; more objects than the device exports; no descriptor left for the handle.
    """
    windows: list[IpcPhysMemHandleRangeExtDesc] = []
    known: tuple[type[IpcMemHandleTypeExtDesc | IpcPhysMemHandleRangeExtDesc], ...] = (
        IpcMemHandleTypeExtDesc,
        IpcPhysMemHandleRangeExtDesc,
    )
    start = ptr if isinstance(ptr, PhysicalObject) else check_pointer(ptr)
    for desc in read_chain(state, chain, known):
        if isinstance(desc, IpcPhysMemHandleRangeExtDesc):
            windows.append(desc)
        else:
            check_handle_type(state.devices[0], desc)
    if isinstance(start, PhysicalObject):
        if windows:
            raise invalid_argument("a range begins at an address, not at a physical object")
        return await _get_plain(state, check_physical(state, start))
    if windows:
        size = windows[0].size
        check_window_size(state, size)
        if covering_allocation(state, start, size) is None:
            return await get_window(state, start, size)
    return await _get_plain(state, _source_at(state, start))


async def put_handle(state: DriverState, handle: bytes) -> None:
    """Give a handle back (zeMemPutIpcHandle); what is open of it lives on.

    A handle that this process did not get, or has put already, or one of events, is no error.

    Raises:
        ZeError: the bytes are no handle; the device is lost.
    """
    check_handle_bytes(handle)
    export = state.exports.of_handle(handle)
    if export is None:
        if is_ours(handle, state.emulator_id) and not is_intact(handle):
            raise invalid_argument("the check word of the handle does not fit its bytes")
        return
    if export.named.kind not in MEMORY_KINDS:
        # What makes it and ends it is its event pool or event.
        return
    export.uses -= 1
    if not export.uses:
        await revoke(state, export)


def check_handle_bytes(handle: bytes) -> None:
    """Do nothing for 64 bytes.

    Raises:
        ZeError: there are more or fewer.
    """
    if len(handle) != HANDLE_SIZE:
        raise invalid_argument(f"the handle has {len(handle)} bytes, expected {HANDLE_SIZE}")


def _source_at(state: DriverState, start: int) -> Allocation | Mapping:
    """Return what begins at an address and can be exported."""
    found: Allocation | Mapping | None = holder_of(state, start)
    if found is None and (entry := state.mappings.at(start)) is not None:
        found = entry.value
    if found is None or not _is_there(found):
        raise invalid_argument(f"no memory that can be exported begins at {start:#x}")
    if found.start != start:
        raise invalid_argument(f"{start:#x} lies inside the memory that begins at {found.start:#x}")
    if isinstance(found, Allocation) and found.kind not in _EXPORTED_KINDS:
        raise invalid_argument(
            f"the memory at {start:#x} is {found.kind.value} memory, which has no handle; expected"
            " device or host memory"
        )
    return found


def _is_there(source: Source) -> bool:
    """Return whether memory is neither about to come nor about to go."""
    if isinstance(source, Mapping):
        return source.phase is MappingPhase.THERE
    if isinstance(source, Allocation):
        return not source.leaving
    return not source.destroyed


async def _get_plain(state: DriverState, source: Source) -> bytes:
    """Return the one handle of some memory."""
    known = state.exports.of_source(source)
    if known is None:
        made = await _export(state, source)
        # Another thread may have made the one handle meanwhile.
        known = state.exports.of_source(source)
        if known is None and _is_there(source):
            state.exports.add(made)
            return made.handle
        if known is None:
            await revoke(state, made)
            raise invalid_argument(f"{_name_of(source)} was unmapped or freed by another thread")
        # Counted before anything is asked: another thread may put its own meanwhile.
        known.uses += 1
        await revoke(state, made)
        return known.handle
    known.uses += 1
    return known.handle


async def _export(state: DriverState, source: Source) -> OwnExport:
    """Export some memory as a whole."""
    command: Export | ExportObject
    if isinstance(source, Mapping):
        device = state.devices[source.physical.device]
        command = Export(request=0, vmid=device.vmid, va=source.start, size_bytes=source.size)
    else:
        device = state.devices[source.device]
        command = ExportObject(
            request=0, object_id=source.object_id, object_offset=0, size_bytes=source.size
        )
    try:
        return await make_export(state, device, command, ExportKind.ALLOCATION, source)
    except Refusal as refusal:
        raise failed(refusal, f"the export of {_name_of(source)}", _MEANINGS) from refusal


def _name_of(source: Source) -> str:
    if isinstance(source, PhysicalObject):
        return f"physical memory {source.id}"
    return f"the memory at {source.start:#x}"
