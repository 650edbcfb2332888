"""Numbers of the releases of one client that wait behind work."""

from __future__ import annotations

from typing import final


@final
class ReleaseCount:
    """Which releases are under way, and up to which number all are done.

    Owner: a client. Invariant: numbers under way stand in their order; `last` is the greatest that
    was given out.
    """

    __slots__ = ("_under_way", "last")

    def __init__(self) -> None:
        self._under_way: dict[int, None] = {}
        self.last = 0
        """Number of the last release that had to wait."""

    @property
    def done(self) -> int:
        """Greatest number up to which every release is done."""
        return next(iter(self._under_way), self.last + 1) - 1

    def begin(self) -> int:
        """Return the number of a release that has to wait."""
        self.last += 1
        self._under_way[self.last] = None
        return self.last

    def end(self, number: int) -> None:
        """Note that a release is done."""
        del self._under_way[number]
