"""Fence pools of a program: mapped here, where they are stored to, and there, where it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.core.slotmemory import NO_SLOT

if TYPE_CHECKING:
    from hostdriver.core.slotmemory import DirectSlot, SlotState
    from hostdriver.runtime.slots import JoinedSlots


@final
class ProgramSlots:
    """The slots of one pool (see `hostdriver.core.slotmemory.SlotMemory`).

    Owner: the program's device, which unmaps both.
    """

    __slots__ = ("address", "here", "size")

    def __init__(self, here: JoinedSlots, address: int, size: int) -> None:
        self.here = here
        """The slots as the emulator has them mapped."""
        self.address = address
        """Where the program has them."""
        self.size = size
        """Bytes."""

    def load(self, slot: int) -> SlotState:
        """Return what stands in a slot."""
        return self.here.load(slot)

    def signal(self, slot: int, value: int) -> None:
        """Store a value and tell who waits for it."""
        self.here.signal(slot, value)

    def fail(self, slot: int, status: int) -> None:
        """Store why a fence ended early and tell who waits for it."""
        self.here.fail(slot, status)

    def clear(self, slot: int) -> None:
        """Store zeros as value and status."""
        self.here.clear(slot)

    def arm(self, slot: int, value: int) -> None:
        """Store the value that the last signal asked for will store, and no status."""
        self.here.arm(slot, value)

    def direct(self, slot: int) -> DirectSlot:
        """Return none: the program uses its slots itself."""
        del slot
        return NO_SLOT

    def is_served(self) -> bool:
        """Return whether the device is there."""
        return self.here.is_served()

    def spin(self, slot: int, value: int) -> bool:
        """Return False: the thread that serves all programs looks at nothing for a moment."""
        del slot, value
        return False
