"""Looks at the device for whoever polls: now and then, since each takes system calls."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

GLANCE_SECONDS: Final = 0.05
"""How long whoever polls in vain believes that the device is there since the last look."""


@final
class Glances:
    """To be called after each poll in vain; it costs no more than the time of day.

    Owner: what is polled. Two threads in it at once may look twice, which harms nobody.
    """

    __slots__ = ("_clock", "_look", "_look_again")

    def __init__(
        self, look: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with a look.

        Args:
            look: raises LinkLost when the device is gone.
            clock: seconds from any start.
        """
        self._look = look
        self._clock = clock
        self._look_again = -math.inf

    def __call__(self) -> None:
        """Look, unless that was done a moment ago.

        Raises:
            LinkLost: the device is gone.
        """
        now = self._clock()
        if now >= self._look_again:
            self._look_again = now + GLANCE_SECONDS
            self._look()
