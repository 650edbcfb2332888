"""IPC, the importer's side: opening memory that another process exported, and closing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import ExportClose, ExportOpen
from firmware.abi.extensions import Extension
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, VA_LIMIT, Rights
from firmware.abi.ipc import ExportKind, Ticket
from firmware.abi.replies import Done, Opened
from firmware.abi.status import Status
from hostdriver.api.exporting import check_handle_bytes
from hostdriver.api.external_memory import find_behind
from hostdriver.api.validation import check_device, check_extension, check_flags, check_pointer
from hostdriver.core.addresses import Place, cover, give_addresses, give_or_keep, take_addresses
from hostdriver.core.calls import call
from hostdriver.core.enums import IpcMemoryFlags
from hostdriver.core.failures import invalid_argument, out_of_host_memory, unknown
from hostdriver.core.ipc import MEMORY_KINDS, ByDescriptor, Named, Nonsense, settle, understand
from hostdriver.core.physical import Import, page_size_for
from hostdriver.core.questions import ProtectNone, ReadTicket
from hostdriver.core.results import Refusal, ZeResult, failed
from hostdriver.core.undo import Undo
from hostdriver.core.vaspace import align_up
from hostdriver.core.visible import show_files

if TYPE_CHECKING:
    from hostdriver.core.state import DeviceState, DriverState

_MEANINGS: Final = {Status.LIMIT: ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY}


async def open_handle(state: DriverState, device: int | None, handle: bytes, flags: int = 0) -> int:
    """Open exported memory at a new address of this process (zeMemOpenIpcHandle).

    Returns:
        Where the exported window begins; it reads and writes the exporter's very bytes.

    Raises:
        ZeError: null device; unknown flag; bytes that name no live export of this emulator; the
            extension that the handle needs is switched off; no address space, no device memory for
            page tables. Nothing is open then.
    """
    target = check_device(state, device)
    check_flags(IpcMemoryFlags, flags, "flags")
    check_handle_bytes(handle)
    named = await _named_by(state, handle)
    if named.kind is ExportKind.RANGE:
        check_extension(target, Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE)
    _check_named(named, target)
    size = align_up(named.offset + named.size, PAGE_SIZE)
    place = await take_addresses(state, size, page_size_for(size))
    if place is None:
        raise out_of_host_memory(f"no address space is left for {size:#x} bytes")
    undo = Undo()
    undo.add(lambda: give_addresses(state, place))
    opened: Opened | None = None
    try:
        opened = await _open(target, named, place, undo)
        shown = await show_files(target, opened.import_id, opened.file_count, place)
    except Exception as error:
        await undo.run()
        if isinstance(error, Refusal):
            raise failed(error, "the handle cannot be opened", _MEANINGS) from error
        raise
    except BaseException:
        # Nothing more may be asked, so what is open already stays: its addresses are still taken.
        if opened is None and place.in_arena:
            await give_addresses(state, place)
        raise
    opening = Import(
        device=target.index,
        import_id=opened.import_id,
        start=place.va,
        reserved=place.size,
        pointer=place.va + named.offset,
        size=named.size,
        in_arena=place.in_arena,
        id=state.next_id(),
        shown=shown,
    )
    state.imports.insert(opening.start, opening.end, opening)
    return opening.pointer


async def close_handle(state: DriverState, ptr: int | None) -> None:
    """Close opened memory (zeMemCloseIpcHandle): mappings and addresses are gone.

    Raises:
        ZeError: null pointer; not a pointer that `open_handle` gave, or closed already.
    """
    pointer = check_pointer(ptr)
    entry = state.imports.at(pointer)
    if entry is None:
        raise invalid_argument(f"nothing that is open begins at {pointer:#x}")
    opening = entry.value
    if opening.pointer != pointer:
        raise invalid_argument(
            f"{pointer:#x} is not the pointer that was opened, {opening.pointer:#x}"
        )
    if opening.leaving:
        raise invalid_argument(f"{pointer:#x} is being closed by another thread")
    opening.leaving = True
    try:
        await call(opening.device, ExportClose(request=0, import_id=opening.import_id), Done)
    except BaseException as error:
        opening.leaving = False
        if isinstance(error, Refusal):
            raise failed(error, f"the memory at {pointer:#x} cannot be closed") from error
        raise
    # The device has closed it: from here on it is gone, whatever the system says.
    is_covered = not len(opening.shown) or await cover(opening.start, opening.reserved)
    state.imports.remove(opening.start)
    place = Place(opening.start, opening.reserved, opening.in_arena)
    await give_or_keep(state, place, is_covered=is_covered)


async def _named_by(state: DriverState, handle: bytes) -> Named:
    """Return the export that a handle names, going by its descriptor where that decides."""
    meaning = understand(handle, state.emulator_id)
    if isinstance(meaning, ByDescriptor):
        ticket = await ReadTicket(meaning.descriptor, Ticket.SIZE)
        is_own = ticket is not None and state.exports.owns(ticket.identity)
        found = None
        if ticket is not None and not (is_own and meaning.otherwise is not None):
            found = await find_behind(state, ticket)
        if found is not None:
            return found
        content = None if ticket is None else ticket.content
        meaning = settle(meaning, content, state.emulator_id, is_own=is_own)
    if isinstance(meaning, Nonsense):
        where = f" (emulator at {state.facts.socket})" if state.facts.socket else ""
        raise invalid_argument(meaning.reason + where)
    return meaning


def _check_named(named: Named, device: DeviceState) -> None:
    if named.kind not in MEMORY_KINDS:
        raise invalid_argument(f"the handle names {named.kind.name}, expected memory")
    if named.device != device.index:
        raise invalid_argument(
            f"the memory is on device {named.device}, and device {device.index} has no access to it"
        )
    if not named.size or named.offset + named.size > VA_LIMIT:
        raise invalid_argument(
            f"the handle tells {named.size:#x} bytes at offset {named.offset:#x}, which no address"
            " space holds"
        )


async def _open(device: DeviceState, named: Named, place: Place, undo: Undo) -> Opened:
    """Open at the device, with all rights that the memory has; `undo` knows how to close it."""
    try:
        opened = await _open_with(device, named, place, ALL_RIGHTS)
    except Refusal as refusal:
        if refusal.status is not Status.BAD_RIGHTS:
            raise
        opened = await _open_with(device, named, place, Rights.READ)

    async def close() -> None:
        await call(device.index, ExportClose(request=0, import_id=opened.import_id), Done)
        if opened.file_count:
            await ProtectNone(place.va, place.size)

    undo.add(close)
    if opened.va != place.va or opened.mapped_size > place.size:
        raise unknown(
            f"the device mapped {opened.mapped_size:#x} bytes at {opened.va:#x}, expected at most"
            f" {place.size:#x} at {place.va:#x}"
        )
    return opened


async def _open_with(device: DeviceState, named: Named, place: Place, rights: Rights) -> Opened:
    command = ExportOpen(
        request=0,
        vmid=device.vmid,
        rights=rights,
        token=named.token,
        va=place.va,
        size_bytes=named.size,
        window_offset=named.offset,
    )
    return await call(device.index, command, Opened)
