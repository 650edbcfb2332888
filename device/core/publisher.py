"""Keeps the register pages of all clients up to date, storing only what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.memory import MemoryController
    from device.core.reports import Reports
    from device.core.state import DeviceState


@final
class Publisher:
    """Publishes what clients read of the device without asking.

    Owner: the device. Invariant: after each call of the device FREE_MEMORY and STATUS of every
    client are true; CLOCK is the time of the last work that the client had a part in.
    """

    __slots__ = ("_cpu_count", "_errors", "_free_bytes", "_memory", "_reports", "_state")

    def __init__(
        self, state: DeviceState, memory: MemoryController, reports: Reports, cpu_count: int
    ) -> None:
        self._state = state
        self._memory = memory
        self._reports = reports
        self._cpu_count = cpu_count
        self._free_bytes = -1
        self._errors = (0, 0)

    def everything(self) -> None:
        """Publish all registers of all clients: one came or went, or the phase changed."""
        self._free_bytes = self._memory.free_bytes
        spin = self._cpu_count > 1
        for client in self._state.clients.values():
            client.registers.publish_spin_hint(spin=spin)
            client.registers.publish_free_memory(self._free_bytes)
            self.status(client)

    def status(self, client: Client) -> None:
        """Publish STATUS, BOOT_DETAIL and RESET_COUNT of one client."""
        state = self._state
        client.registers.publish_status(
            self._reports.status(client), state.lifecycle.boot_detail, state.reset_count
        )

    def changes(self) -> None:
        """Publish what may have changed since the last call."""
        errors = (self._memory.local.ecc.uncorrected, self._memory.retired_frames)
        if errors != self._errors:
            self._errors = errors
            self.everything()
        elif self._memory.free_bytes != self._free_bytes:
            self._free_bytes = self._memory.free_bytes
            for client in self._state.clients.values():
                client.registers.publish_free_memory(self._free_bytes)

    def asleep(self, *, asleep: bool) -> None:
        """Publish whether the device sleeps."""
        for client in self._state.clients.values():
            client.registers.publish_asleep(asleep=asleep)
