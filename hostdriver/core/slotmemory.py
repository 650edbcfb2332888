"""What the driver sees of a fence slot, and how it loads and stores it.

That never waits, so it is no question; to wait for a slot is one (`WaitSlot`).
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, final

REACHED: Final = -1
"""What a wait returns that was not in vain."""


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


class DirectSlot(Protocol):
    """A slot that holds 0 or 1, used without a question: what plain events are set and seen by.

    Any thread may use it. What it does not do (it was given up, this process is a child of the one
    that made it, the wait has to be explained) it leaves to whoever called, who knows why.
    """

    def signal(self) -> bool:
        """Store 1 and tell who waits, as `SlotMemory.signal` does; False: nothing was done."""
        ...

    def clear(self) -> bool:
        """Store zeros as value and status; False: nothing was done."""
        ...

    def is_set(self) -> bool:
        """Return whether it holds 1; False may also mean that it was given up."""
        ...

    def wait(self, nanoseconds: int, /) -> int:
        """Wait until it holds 1; return `REACHED`, or the nanoseconds that were waited in vain.

        In vain: time is up, it got a status, the device is gone, it was given up; or it is not for
        this object to wait any longer.
        """
        ...

    def waiters(self) -> int:
        """Return how many threads wait in `wait`."""
        ...

    def close(self) -> None:
        """Give it up, before its memory goes or its event ends: nothing is done from now on."""
        ...


@final
class NoSlot:
    """Does nothing: for what has no slot of its own to be used without a question."""

    __slots__ = ()

    def signal(self) -> bool:
        """Return False."""
        return False

    def clear(self) -> bool:
        """Return False."""
        return False

    def is_set(self) -> bool:
        """Return False."""
        return False

    def wait(self, nanoseconds: int, /) -> int:
        """Return 0: nothing was waited."""
        del nanoseconds
        return 0

    def waiters(self) -> int:
        """Return 0."""
        return 0

    def close(self) -> None:
        """Do nothing."""


NO_SLOT: Final = NoSlot()


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

    def direct(self, slot: int) -> DirectSlot:
        """Return a slot for what sets and sees it without a question; it gives the last one up."""
        ...

    def is_served(self) -> bool:
        """Return whether the device is there, looked at now and then: for whoever polls."""
        ...

    def spin(self, slot: int, value: int) -> bool:
        """Return whether a slot reaches `value` soon; it is looked at for a moment if that pays."""
        ...
