"""What the parts of one device share: who is attached, the phase, the counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from device.core.lifecycle import Lifecycle

if TYPE_CHECKING:
    from device.core.clients import Client


@final
@dataclass(slots=True)
class DeviceState:
    """State of one device.

    Owner: the device. Counters and clients survive a reset, the clients as lost sessions.
    """

    device_index: int
    emulator_id: int
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    clients: dict[int, Client] = field(default_factory=dict[int, "Client"])
    """Attached clients, observers and lost sessions included, by number."""
    now: int = 0
    """Device time of the last call, in nanoseconds."""
    reset_count: int = 0
    past_commands: int = 0
    """Control commands of clients that have gone; those of observers count nowhere."""
    past_doorbells: int = 0
    interrupts: int = 0

    @property
    def client_count(self) -> int:
        """Clients, observers not counted."""
        return sum(client.counted for client in self.clients.values())
