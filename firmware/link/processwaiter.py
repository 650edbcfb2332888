"""What waits for another process: compiled where that can be, else in Python.

`FutexWaiter` is the reference; the compiled one does the same in one call, from the first look at
the word to the last nap, and so takes a fraction of the time where caches are cold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.link.compiled import CompiledWaiter, compiled_already
from firmware.link.sleepers import SharedSleepers
from firmware.link.waiting import (
    MOST_SLEEPS_BETWEEN_SPINS,
    NAP_SECONDS,
    SPIN_SECONDS,
    FutexWaiter,
    WaitStatistics,
    has_two_processors,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.link.segment import Segment
    from firmware.link.waiting import Waiter

_NANOSECONDS: Final = 1_000_000_000
ALWAYS: Final = -1
"""In place of a hint: waiters may always spin."""


def patience() -> tuple[int, int, int]:
    """Return what compiled waits need to know: longest spin and nap (ns), most sleeps in a row."""
    spin = round(SPIN_SECONDS * _NANOSECONDS) if has_two_processors() else 0
    return spin, round(NAP_SECONDS * _NANOSECONDS), MOST_SLEEPS_BETWEEN_SPINS


def process_waiter(
    segment: Segment, vigil: Callable[[], None], hint: int, *, shared: bool = False
) -> Waiter:
    """Return what waits on the words of a segment that another process stores.

    Args:
        segment: the segment.
        vigil: called after each nap; raises LinkLost when waiting has become useless.
        hint: offset of the u32 that says whether waiters may spin, or `ALWAYS`.
        shared: whether threads of several processes sleep on its words.
    """
    module = compiled_already()
    if module is not None:
        return module.Waiter(segment.words.u8, vigil, hint, patience())
    words = segment.words
    return FutexWaiter(
        segment,
        vigil,
        (lambda: True) if hint < 0 else lambda: words.load32(hint) != 0,
        sleepers=SharedSleepers(segment.address) if shared else None,
    )


def waits_for_processes(waiter: Waiter) -> bool:
    """Return whether `process_waiter` made it: others do the device's work while they wait."""
    return isinstance(waiter, (FutexWaiter, CompiledWaiter))


def statistics_of(waiter: Waiter) -> WaitStatistics:
    """Return how the waits of what `process_waiter` made went.

    Raises:
        TypeError: it waits otherwise.
    """
    if isinstance(waiter, FutexWaiter):
        return waiter.statistics()
    if isinstance(waiter, CompiledWaiter):
        return WaitStatistics(*waiter.counts())
    raise TypeError(f"{waiter!r} does not wait for another process")
