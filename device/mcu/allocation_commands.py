"""Commands that make memory with an address, and give it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.allocator import Wanted
from device.core.mapping import Span
from device.mcu.routes import Deferred, route
from firmware.abi.control import Allocate, Release, ReleaseMode
from firmware.abi.replies import Allocated, Released
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.mcu.routes import Outcome, Route


@final
class AllocationCommands:
    """Carries out ALLOCATE and RELEASE; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._allocator = hardware.allocator

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [route(Allocate, self._allocate), route(Release, self._release)]

    def _allocate(self, client: Client, command: Allocate) -> Outcome:
        made = self._allocator.allocate(
            client,
            command.request,
            command.vmid,
            Span(command.va, command.size_bytes),
            Wanted(command.kind, command.flags, command.rights, command.page_size),
        )
        return Allocated(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            object_id=made.object_id,
            page_size=made.page_size,
            bus_address=made.bus_address,
            released=client.released.done,
            descriptors=int(made.file is not None),
        )

    def _release(self, client: Client, command: Release) -> Outcome:
        number, acknowledgement = self._allocator.release(
            client, command.vmid, Span(command.va, command.size_bytes), command.object_id
        )
        waits = command.mode is ReleaseMode.WAIT
        reply = Released(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            # Who waits for the reply has to wait for nothing then.
            number=0 if waits else number,
            released=client.released.done,
        )
        return Deferred(reply, acknowledgement) if waits else reply
