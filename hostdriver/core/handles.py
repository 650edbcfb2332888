"""Making exports and ending them: a token of the device, a ticket of this process, 64 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import ExportPut
from firmware.abi.replies import Done, Exported
from firmware.abi.status import Status
from hostdriver.core.calls import call
from hostdriver.core.exports import OwnExport
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.ipc import Named, build_handle, build_ticket
from hostdriver.core.memoryfiles import file_of
from hostdriver.core.physical import Mapping
from hostdriver.core.questions import DropTicket, MakeTicket
from hostdriver.core.results import Refusal, failed

if TYPE_CHECKING:
    from firmware.abi.control import Export, ExportObject
    from firmware.abi.ipc import ExportKind
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.exports import Source
    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.state import DeviceState, DriverState


async def make_export(
    state: DriverState,
    device: DeviceState,
    command: Export | ExportObject,
    kind: ExportKind,
    source: Source | None = None,
) -> OwnExport:
    """Export memory at its device and make the handle that names it; it is in no table yet.

    Raises:
        Refusal: the device refused.
        ZeError: no descriptor is left for the ticket, the device is lost. Nothing is exported then.
    """
    exported = await call(device.index, command, Exported)
    named = Named(
        token=exported.token,
        kind=kind,
        device=device.index,
        emulator_id=state.emulator_id,
        offset=exported.window_offset,
        size=command.size_bytes,
    )
    carrier = _carrier_of(source)
    if carrier is None:
        ticket = await MakeTicket(build_ticket(named))
    else:
        ticket = await file_of(carrier)
    if isinstance(ticket, str):
        await call(device.index, ExportPut(request=0, token=named.token), Done)
        raise out_of_host_memory(f"the handle's descriptor cannot be made: {ticket}")
    handle = build_handle(named, ticket.descriptor, state.facts.pid)
    return OwnExport(named, handle, ticket, source, carries_memory=carrier is not None)


def _carrier_of(source: Source | None) -> Allocation | PhysicalObject | None:
    """Return memory whose own file can be passed on."""
    if source is None or isinstance(source, Mapping) or not source.is_exported:
        return None
    return source


async def revoke(state: DriverState, export: OwnExport) -> None:
    """End an export: nobody can open it any more.

    Raises:
        ZeError: the device is lost.
    """
    state.exports.discard(export)
    if not export.carries_memory:
        await DropTicket(export.ticket)
    try:
        await call(export.named.device, ExportPut(request=0, token=export.named.token), Done)
    except Refusal as refusal:
        # Gone already at the device: the end that is wanted.
        if refusal.status is not Status.BAD_TOKEN:
            raise failed(refusal, "the handle cannot be put") from refusal
