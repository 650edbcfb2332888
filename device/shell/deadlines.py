"""When devices want to work again without being asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Deadlines:
    """The earliest tick that each device asked for, if any.

    Owner: the pump. All times are device time in nanoseconds, which may stand still.
    """

    __slots__ = ("_clock", "_ticks")

    def __init__(self, clock: Callable[[], int], device_count: int) -> None:
        self._clock = clock
        self._ticks: list[int | None] = [None] * device_count

    def add(self, index: int, tick: int) -> None:
        """Note that a device wants to work at `tick`; the earliest of several counts."""
        earlier = self._ticks[index]
        self._ticks[index] = tick if earlier is None else min(earlier, tick)

    def clear(self, index: int) -> None:
        """Forget what a device asked for: it works now, and asks anew."""
        self._ticks[index] = None

    def is_due(self, index: int) -> bool:
        """Return whether a device's time has come."""
        tick = self._ticks[index]
        return tick is not None and self._clock() >= tick

    def seconds_left(self) -> float:
        """Return the time until the next one; infinity when there is none."""
        ticks = [tick for tick in self._ticks if tick is not None]
        if not ticks:
            return math.inf
        return max(0.0, (min(ticks) - self._clock()) / 1e9)
