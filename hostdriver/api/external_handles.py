"""Descriptors and IPC handles of the same memory: from one to the other, and out of properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.ipc import Ticket
from hostdriver.api.exporting import check_handle_bytes, get_handle
from hostdriver.api.external_memory import check_types, find_by_file
from hostdriver.api.external_structures import ExternalMemoryExportFd
from hostdriver.api.validation import check_pointer, read_chain
from hostdriver.core.allocations import Allocation, AllocationKind, allocation_at
from hostdriver.core.failures import invalid_argument, unsupported_feature
from hostdriver.core.ipc import Nonsense, build_handle, named_by_ticket, token_of
from hostdriver.core.questions import ReadTicket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.ipc import Named
    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.questions import TicketFile
    from hostdriver.core.state import DriverState


async def tell_descriptor(
    state: DriverState, memory: Allocation | PhysicalObject, asked: ExternalMemoryExportFd
) -> ExternalMemoryExportFd:
    """Return the descriptor of memory, which is the one in its IPC handle.

    It counts as a get of that handle, and stays open as long as the handle or, where the memory was
    made with an export descriptor, as the memory. Without that it names the memory and does not
    carry it.

    Raises:
        ZeError: unknown kinds of descriptor, or kinds of another operating system; shared memory;
            memory that cannot be exported.
    """
    check_types(asked.flags, "external memory export flags")
    if isinstance(memory, Allocation) and memory.kind is AllocationKind.SHARED:
        raise unsupported_feature("shared memory has no descriptor that could be passed on")
    handle = await get_handle(state, memory.start if isinstance(memory, Allocation) else memory)
    return ExternalMemoryExportFd(asked.flags, int.from_bytes(handle[:4], "little"))


async def answer_chain(
    state: DriverState, ptr: int | None, chain: Sequence[ChainedDesc | UnknownDesc]
) -> tuple[ExternalMemoryExportFd, ...]:
    """Return the descriptors that the chain of zeMemGetAllocProperties asks for.

    Raises:
        ZeError: null pointer; no allocation is there; as `tell_descriptor`.
    """
    pointer = check_pointer(ptr)
    asked = read_chain(state, chain, (ExternalMemoryExportFd,))
    memory = allocation_at(state, pointer)
    if asked and memory is None:
        raise invalid_argument(f"no allocation is at {pointer:#x} whose descriptor could be told")
    return tuple([await tell_descriptor(state, memory, item) for item in asked if memory])


async def handle_from_descriptor(state: DriverState, descriptor: int) -> bytes:
    """Return an IPC handle for the memory of a descriptor (zeMemGetIpcHandleFromFileDescriptorExp).

    The descriptor is one that this driver told, in this process or in another that passed it on.
    For memory of this process the call counts as a get.

    Raises:
        ZeError: the descriptor is not open, or is no descriptor of exported memory.
    """
    file = await ReadTicket(descriptor, Ticket.SIZE)
    own = None if file is None else state.exports.of_identity(file.identity)
    if own is not None:
        own.uses += 1
        return own.handle
    memory = None if file is None else _memory_of(state, file)
    if memory is not None:
        return await get_handle(state, memory.start)
    named = None if file is None else await _named_by(state, file)
    if named is None:
        raise invalid_argument(f"descriptor {descriptor} is none of exported memory of this driver")
    return build_handle(named, descriptor, state.facts.pid)


async def descriptor_from_handle(state: DriverState, handle: bytes) -> int:
    """Return the descriptor in an IPC handle (zeMemGetFileDescriptorFromIpcHandleExp).

    Raises:
        ZeError: the bytes are no handle, or none of which this process has the descriptor.
    """
    check_handle_bytes(handle)
    own = state.exports.of_handle(handle)
    if own is not None and not own.is_closed:
        return own.ticket.descriptor
    number = int.from_bytes(handle[:4], "little", signed=True)
    file = await ReadTicket(number, Ticket.SIZE)
    named = None if file is None else await _named_by(state, file)
    if named is None or named.token != token_of(handle):
        raise invalid_argument(
            "the handle names no live export of this process, and descriptor"
            f" {number} in it is not open here or belongs to other memory"
        )
    return number


def _memory_of(state: DriverState, file: TicketFile) -> Allocation | None:
    """Return the allocation of this process whose own file this is."""
    for entry in state.allocations:
        told = entry.value.file
        if told is not None and told.identity == file.identity:
            return entry.value
    return None


async def _named_by(state: DriverState, file: TicketFile) -> Named | None:
    """Return the export that a descriptor stands for: a ticket, or a file of memory."""
    named = named_by_ticket(file.content, state.emulator_id)
    if isinstance(named, Nonsense):
        raise invalid_argument(named.reason)
    return await find_by_file(state, file.descriptor) if named is None else named
