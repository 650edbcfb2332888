"""Taps: where wrappers come in between a part and what it uses, while a rule wants them.

Without rules nothing is wrapped, so nothing costs anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.inject.injector import Injector


class Tap(Protocol):
    """A place where one wrapper comes in between; it reaches one or more points."""

    @property
    def points(self) -> frozenset[str]:
        """Names of the points that its wrapper tells the injector of."""
        ...

    def install(self) -> None:
        """Put the wrapper in; it is not in now."""
        ...

    def remove(self) -> None:
        """Take the wrapper out, and let go of whatever it holds back; it is in now."""
        ...


@final
class Board:
    """All taps of a process.

    Owner: what adds rules to the injector, in the thread that works at the points. Invariant after
    `update`: the wrappers that are in are those that reach a point which the injector wants.
    """

    __slots__ = ("_in", "_injector", "_taps")

    def __init__(self, injector: Injector, taps: Iterable[Tap] = ()) -> None:
        """Begin without wrappers."""
        self._injector = injector
        self._taps = list(taps)
        self._in: list[Tap] = []

    def add(self, tap: Tap) -> None:
        """Take one more tap, of a part that came later, and put it in if it is wanted."""
        self._taps.append(tap)
        self.update()

    def discard(self, tap: Tap) -> None:
        """Forget a tap whose part goes; its wrapper is taken out."""
        if tap in self._in:
            self._in.remove(tap)
            tap.remove()
        self._taps.remove(tap)

    def update(self) -> None:
        """Put the wrappers in that are wanted now, and take the others out, last first."""
        wanted = [tap for tap in self._taps if self._injector.wants(tap.points)]
        for tap in reversed(self._in):
            if tap not in wanted:
                tap.remove()
        for tap in wanted:
            if tap not in self._in:
                tap.install()
        self._in = wanted

    @property
    def installed(self) -> int:
        """How many wrappers are in."""
        return len(self._in)
