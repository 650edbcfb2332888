"""External memory: descriptors of memory that are passed to others, and memory made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from firmware.abi.control import ExportFind
from firmware.abi.ipc import ExportKind, Ticket
from firmware.abi.replies import Exported
from firmware.abi.status import Status
from hostdriver.api.external_structures import ExternalMemoryExportDesc, ExternalMemoryImportFd
from hostdriver.api.validation import check_flags
from hostdriver.core.calls import exchange, expect
from hostdriver.core.enums import ExternalMemoryTypeFlags
from hostdriver.core.failures import (
    invalid_argument,
    out_of_host_memory,
    unsupported_enumeration,
    unsupported_feature,
    unsupported_size,
)
from hostdriver.core.ipc import Named, named_by_ticket
from hostdriver.core.making import Plan, make
from hostdriver.core.questions import CloseDescriptor, DropTicket, Duplicate, ReadTicket
from hostdriver.core.results import Refusal
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.questions import TicketFile
    from hostdriver.core.state import DriverState

FD_TYPES: Final = ExternalMemoryTypeFlags.OPAQUE_FD | ExternalMemoryTypeFlags.DMA_BUF
"""Kinds of descriptor that there are here: both are the same memory file."""


def check_types(flags: int, name: str) -> ExternalMemoryTypeFlags:
    """Return the kinds of descriptor that are asked for.

    Raises:
        ZeError: unknown bits; kinds of another operating system.
    """
    types = check_flags(ExternalMemoryTypeFlags, flags, name)
    if types & ~FD_TYPES:
        raise unsupported_enumeration(
            f"{name} is {flags:#x}, there are opaque descriptors (1) and dma-bufs (2) here"
        )
    return types


def is_export_asked(chain: Sequence[ChainedDesc | UnknownDesc]) -> bool:
    """Return whether the chain of memory to make asks for a descriptor that can be passed on.

    Raises:
        ZeError: unknown kinds of descriptor, or kinds of another operating system.
    """
    asked = [
        check_types(item.flags, "external memory export flags")
        for item in chain
        if isinstance(item, ExternalMemoryExportDesc)
    ]
    return any(asked)


def find_import(chain: Sequence[ChainedDesc | UnknownDesc]) -> ExternalMemoryImportFd | None:
    """Return the first descriptor of memory to import in a chain, its kind checked.

    Raises:
        ZeError: an unknown kind of descriptor, one of another operating system, or none.
    """
    for item in chain:
        if isinstance(item, ExternalMemoryImportFd):
            check_types(item.flags, "external memory import flags")
            return item
    return None


def refuse_external_memory(chain: Sequence[ChainedDesc | UnknownDesc]) -> None:
    """Do nothing for the chain of shared memory that neither exports nor imports a descriptor.

    Raises:
        ZeError: it does: shared memory is the process's own.
    """
    if is_export_asked(chain) or find_import(chain) is not None:
        raise unsupported_feature("shared memory has no descriptor that could be passed on")


async def import_memory(state: DriverState, desc: ExternalMemoryImportFd, plan: Plan) -> Allocation:
    """Make an allocation of the memory behind a descriptor: as large as what was exported.

    The application may close the descriptor then; with profile `intel` the driver does. The memory
    lives as long as anybody who made an allocation of it, whatever becomes of the exporter.

    Args:
        state: the process.
        desc: which descriptor.
        plan: what is to be made; its size is what the call asks for, 0 for all.

    Raises:
        ZeError: nothing that this driver exported stands behind the descriptor, or it was freed or
            put; it carries no memory, or less than is asked for; no address space, memory for
            tables or mappings is left. Nothing is made then, and the descriptor is the caller's.
    """
    named = await data_behind(state, desc.fd)
    if plan.size > named.size:
        raise unsupported_size(
            f"size is {plan.size:#x}, the memory behind descriptor {desc.fd} has"
            f" {named.size:#x} bytes"
        )
    own = await take_given(desc.fd)
    try:
        made = await make(state, msgspec.structs.replace(plan, size=named.size, file=own))
    finally:
        await CloseDescriptor(own)
    await close_given(state, desc.fd)
    return made


async def take_given(descriptor: int) -> int:
    """Return a descriptor of the driver's own for a file of the application.

    Raises:
        ZeError: the driver cannot have one.
    """
    own = await Duplicate(descriptor)
    if isinstance(own, str):
        raise out_of_host_memory(f"descriptor {descriptor} cannot be taken: {own}")
    return own


async def close_given(state: DriverState, descriptor: int) -> None:
    """Close a descriptor that was imported from, with profile `intel`; else it is the caller's."""
    if state.profile is Profile.INTEL:
        file = await ReadTicket(descriptor, 0)
        if file is not None:
            await DropTicket(file)


async def data_behind(state: DriverState, descriptor: int) -> Named:
    """Return the export of the memory itself that stands behind a descriptor."""
    file = await ReadTicket(descriptor, Ticket.SIZE)
    if file is None:
        raise invalid_argument(f"descriptor {descriptor} is not open, or no descriptor of memory")
    if named_by_ticket(file.content, state.emulator_id) is not None:
        raise invalid_argument(
            f"descriptor {descriptor} names memory and does not carry it: that was not made with an"
            " external memory export descriptor"
        )
    named = await find_by_file(state, descriptor)
    if named is None:
        raise invalid_argument(
            f"no exported memory stands behind descriptor {descriptor}: it never did, was freed, or"
            " its handle was put"
        )
    return named


async def find_behind(state: DriverState, file: TicketFile) -> Named | None:
    """Return the export of the memory whose file this is; None for tickets and other files.

    Raises:
        ZeError: a device is lost.
    """
    if named_by_ticket(file.content, state.emulator_id) is not None:
        return None
    return await find_by_file(state, file.descriptor)


async def find_by_file(state: DriverState, descriptor: int) -> Named | None:
    """Return the export of the memory whose file an open descriptor is, or None.

    Raises:
        ZeError: a device is lost.
    """
    own = await take_given(descriptor)
    try:
        for device in state.devices:
            found = await _find(device.index, own)
            if found is not None:
                return Named(
                    token=found.token,
                    kind=ExportKind.ALLOCATION,
                    device=device.index,
                    emulator_id=state.emulator_id,
                    offset=found.window_offset,
                    size=found.size_bytes,
                )
    finally:
        await CloseDescriptor(own)
    return None


async def _find(device: int, descriptor: int) -> Exported | None:
    """Ask a device for the export that stands in a file."""
    try:
        answer = await exchange(device, ExportFind(request=0), descriptors=(descriptor,))
    except Refusal as refusal:
        if refusal.status in {Status.BAD_TOKEN, Status.BAD_DESCRIPTOR}:
            return None
        raise
    return expect(answer.reply, Exported)
