"""Attachment, loss and end of clients: everything a client had comes back, at any point."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, final

from device.core._spec_checks import MAX_DEVICES
from device.core.clients import Client
from device.core.errors import DeviceError
from firmware.abi.ids import ABI_MINOR, Feature
from firmware.abi.registers import Phase
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.acknowledge import Acknowledgements
    from device.core.effects import Notify
    from device.core.hardware import Hardware
    from device.core.ports import ClientPort
    from device.core.state import DeviceState
    from firmware.abi.handshake import Purpose
    from firmware.link.layout import SegmentPlan


@final
class Sessions:
    """Begins and ends the sessions of clients.

    Owner: the device. Invariant: numbers of clients are never used twice, by any device of the
    emulator; they stay below 2^32 for more clients than an emulator ever sees.
    """

    def __init__(
        self, state: DeviceState, hardware: Hardware, acknowledgements: Acknowledgements
    ) -> None:
        self._state = state
        self._hardware = hardware
        self._acknowledgements = acknowledgements
        self._numbers = count(1)

    def plan(self) -> SegmentPlan:
        """Return the layout of the segment that a client needs.

        Raises:
            DeviceError: DEVICE_LOST (detail: register STATUS) while clients cannot attach.
        """
        plan = self._hardware.configuration.plan
        if plan is None or self._state.lifecycle.phase is not Phase.RUNNING:
            raise DeviceError(Status.DEVICE_LOST, int(self._hardware.reports.status()))
        return plan

    def attach(
        self, port: ClientPort, purpose: Purpose, features: Feature, abi_minor: int
    ) -> Client:
        """Begin a session; the segment is written and may be given to the client.

        Raises:
            DeviceError: DEVICE_LOST (see `plan`); LIMIT (detail: most clients); MISMATCH (detail:
                size that the segment must have). The segment was not touched.
        """
        plan = self.plan()
        spec = self._hardware.configuration.spec
        state = self._state
        client_count = state.client_count
        same = len(state.clients) - client_count if purpose else client_count
        if same >= spec.max_clients:
            raise DeviceError(Status.LIMIT, spec.max_clients)
        if port.segment.nbytes != plan.size:
            raise DeviceError(Status.MISMATCH, plan.size, plan.size)
        layout = plan.superblock(
            abi_minor=min(abi_minor, ABI_MINOR),
            features=features & self._hardware.configuration.features,
            device_index=state.device_index,
            emulator_id=state.emulator_id,
            client_id=next(self._numbers) * MAX_DEVICES + state.device_index,
        )
        block = spec.to_block(state.device_index)
        client = Client(port, purpose, plan, layout, block, spec.latencies.control_ticks)
        state.clients[client.client_id] = client
        return client

    def lose(self, client: Client, status: Status) -> Notify:
        """End a session, but tell the client so until it detaches."""
        notice = client.lose(status)
        self._end(client, lost=True)
        return notice

    def detach(self, client: Client) -> None:
        """Forget a client that has gone; all it had comes back when no chunk uses it any more."""
        self._end(client, lost=False)
        del self._state.clients[client.client_id]
        if client.counted:
            self._state.past_commands += client.control.commands
            self._state.past_doorbells += client.doorbells.changes

    def _end(self, client: Client, *, lost: bool) -> None:
        """Take everything from a client; memory in use by a chunk goes when that is done."""
        hardware = self._hardware
        hardware.queues.end_all(client, lost=lost)
        hardware.fence_pools.end_all(client)
        hardware.exports.revoke_all(client)
        for space in list(client.spaces.values()):
            hardware.spaces.dissolve(client, space)
        imports, objects = list(client.imports.values()), list(client.objects.values())
        client.imports.clear()
        client.imported_parts = 0
        client.objects.clear()
        client.object_bytes = client.vram_bytes = 0
        queues = list(client.dying.values())

        def release() -> None:
            for opened in imports:
                opened.drop()
            for memory in objects:
                memory.disown()

        self._acknowledgements.wait(lambda: hardware.queues.idle(queues), release)
