"""The vigil of whoever waits for a device: is it there, and has it perhaps not heard us?

A doorbell, or what the device published, may be lost on the way, as on real hardware. So a wait
that takes long asks to be looked after: the device then looks at every ring of the client. Each
time twice as long passes before the next one, so that who waits for ever costs an idle device no
more than a wake-up every few seconds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_SECONDS: Final = 0.5
"""How long a wait takes before the device is asked to look for the first time."""
LONGEST_SECONDS: Final = 8.0
"""Longest time between two."""
GAP_SECONDS: Final = 0.5
"""Time without a nap after which a new wait has begun."""


@final
class Vigil:
    """Called between the naps of waits; threads may share it.

    Owner: a driver's end of a link. Two threads in it at once may ask twice, which harms nobody.
    """

    __slots__ = ("_check", "_clock", "_due", "_interval", "_last", "_poke")

    def __init__(
        self,
        check: Callable[[], None],
        poke: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep watch.

        Args:
            check: raises when waiting has become useless.
            poke: asks the device to look after this client.
            clock: seconds from any start.
        """
        self._check = check
        self._poke = poke
        self._clock = clock
        self._last = -GAP_SECONDS
        self._due = 0.0
        self._interval = FIRST_SECONDS

    def __call__(self) -> None:
        """Look at the device; ask it to look at us when a wait has taken long.

        Raises:
            LinkLost: the device is gone.
        """
        self._check()
        now = self._clock()
        if now - self._last >= GAP_SECONDS:
            self._interval = FIRST_SECONDS
            self._due = now + FIRST_SECONDS
        self._last = now
        if now >= self._due:
            self._interval = min(2 * self._interval, LONGEST_SECONDS)
            self._due = now + self._interval
            self._poke()
