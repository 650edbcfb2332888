"""Whether polling pays: it adapts as waiting does in `firmware.link.waiting`."""

from __future__ import annotations

from typing import final

from firmware.link.waiting import MOST_SLEEPS_BETWEEN_SPINS, has_two_processors


@final
class Spinner:
    """Says whether to poll before the next sleep.

    Each time that polling fails doubles the number of times that it is left out, up to 64, so that
    an idle device costs nothing; once it pays, it is done every time again.
    """

    __slots__ = ("_left_out", "_may", "_row")

    def __init__(self, *, may_spin: bool = True) -> None:
        """Poll where there are two processors, unless `may_spin` says no."""
        self._may = may_spin and has_two_processors()
        self._left_out = 0
        self._row = 0

    def wants(self) -> bool:
        """Return whether to poll now; a no counts as one time left out."""
        if self._left_out:
            self._left_out -= 1
            return False
        return self._may

    def paid(self) -> None:
        """Note that there was something to do."""
        self._row = 0

    def failed(self) -> None:
        """Note that there was not."""
        self._row = self._left_out = min(MOST_SLEEPS_BETWEEN_SPINS, max(1, 2 * self._row))
