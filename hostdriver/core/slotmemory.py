"""What the driver sees of a fence slot, and how it loads and stores it.

That never waits, so it is no question; to wait for a slot is one (`WaitSlot`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class SlotState(NamedTuple):
    """What stands in a slot."""

    value: int
    status: int
    """`Status` of what ended the fence early, else 0."""
    device_waits: int
    """Queues that wait for it."""
    armed: int
    start_ticks: int
    end_ticks: int


class SlotMemory(Protocol):
    """The slots of a pool as this process has them mapped."""

    def load(self, slot: int) -> SlotState:
        """Return what stands in a slot."""
        ...

    def signal(self, slot: int, value: int) -> None:
        """Store a value and tell who waits for it, here, in other processes and on devices."""
        ...

    def fail(self, slot: int, status: int) -> None:
        """Store why a fence ended early and tell who waits for it."""
        ...

    def clear(self, slot: int) -> None:
        """Store zeros as value and status."""
        ...

    def arm(self, slot: int, value: int) -> None:
        """Store the value that the last signal asked for will store, and no status."""
        ...

    def spin(self, slot: int, value: int) -> bool:
        """Return whether a slot reaches `value` soon; it is looked at for a moment if that pays."""
        ...
