"""Slots of plain events, set, reset and waited for at once: without a question, coroutine or lock.

The compiled one does all of it, sleep included. The one in Python is the reference, and what there
is where nothing can be compiled: it sets, resets and spins; whoever has to sleep asks a question.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, final

from firmware.abi.segment import (
    FENCE_DEVICE_WAITS,
    FENCE_HOST_SLEEPERS,
    FENCE_STATUS,
    FENCE_VALUE,
    FenceSlot,
)
from firmware.link.compiled import compiled_slots
from firmware.link.processwaiter import patience, waits_for_processes
from hostdriver.core.slotmemory import REACHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.link.compiled import MakeSlot
    from firmware.link.segment import Segment
    from firmware.link.waiting import Waiter
    from hostdriver.core.slotmemory import DirectSlot
    from hostdriver.runtime.slots import JoinedSlots

_MOMENT: Final = 1_000_000
"""Nanoseconds: some times as long as a wait spins. A shorter time limit is left to the wait."""


@final
class PlainSlot:
    """A slot as Python uses it (see `hostdriver.core.slotmemory.DirectSlot`)."""

    __slots__ = ("_at", "_is_closed", "_pid", "_slot", "_slots", "_values")

    def __init__(self, slots: JoinedSlots, values: memoryview, slot: int) -> None:
        """Use a slot of a pool; `values` is its memory as u64 words."""
        self._slots = slots
        self._slot = slot
        self._values = values
        self._at = (slot * FenceSlot.SIZE + FENCE_VALUE) >> 3
        self._pid = os.getpid()
        self._is_closed = False

    def signal(self) -> bool:
        """Store 1 and tell who waits."""
        if self._is_closed or self._pid != os.getpid():
            return False
        try:
            self._slots.signal(self._slot, 1)
        except ValueError:  # the memory was given up a moment ago
            return False
        return True

    def clear(self) -> bool:
        """Store 0, and no status."""
        if self._is_closed or self._pid != os.getpid():
            return False
        try:
            self._slots.clear(self._slot)
        except ValueError:  # see `signal`
            return False
        return True

    def is_set(self) -> bool:
        """Return whether it holds 1."""
        if self._is_closed or self._pid != os.getpid():
            return False
        try:
            return self._values[self._at] != 0
        except ValueError:  # see `signal`
            return False

    def wait(self, nanoseconds: int, /) -> int:
        """Look at it for a moment."""
        if self.is_set():
            return REACHED
        if nanoseconds < _MOMENT or self._is_closed or self._pid != os.getpid():
            return 0
        begun = time.monotonic_ns()
        try:
            if self._slots.spin(self._slot, 1):
                return REACHED
        except ValueError:  # see `signal`
            return 0
        return time.monotonic_ns() - begun

    def waiters(self) -> int:
        """Return 0: whoever only looks does not count as one who waits."""
        return 0

    def close(self) -> None:
        """Give it up."""
        self._is_closed = True


def direct_slot(
    slots: JoinedSlots, segment: Segment, slot: int, waiter: Waiter, nudge: Callable[[], None]
) -> DirectSlot:
    """Return a slot of a pool, compiled where waits sleep and something can be compiled.

    Args:
        slots: the pool.
        segment: its memory.
        slot: number of the slot.
        waiter: what waits for its slots otherwise.
        nudge: tells the device of a store that its queues wait for.
    """
    make = compiled_slots() if waits_for_processes(waiter) else None
    if make is None:
        return PlainSlot(slots, segment.words.u64, slot)
    return compiled_slot(make, segment.words.u8, slot, slots.is_alive, nudge)


def compiled_slot(
    make: MakeSlot,
    memory: memoryview,
    slot: int,
    is_alive: Callable[[], bool],
    nudge: Callable[[], None],
) -> DirectSlot:
    """Return a compiled slot of the slots in some memory, which waits as `FutexWaiter` does."""
    at = slot * FenceSlot.SIZE
    # A view of its own: that of the pool can be given up while a thread is inside.
    mine = memory[at : at + FenceSlot.SIZE]
    return make(
        mine,
        (FENCE_VALUE, FENCE_STATUS, FENCE_HOST_SLEEPERS, FENCE_DEVICE_WAITS),
        is_alive,
        nudge,
        patience(),
    )
