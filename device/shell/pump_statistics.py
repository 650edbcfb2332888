"""What the pump counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PumpStatistics:
    """What the pump did since it began."""

    turns: int
    """Calls of `Device.work`."""
    sleeps: int
    """Times it slept until something happened."""
    dozes: int
    """Times it waited for a moment before."""
    spins: int
    """Times it polled before that."""
    clients: int
    """Clients attached now."""
