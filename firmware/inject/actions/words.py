"""Actions on signals and on words in shared memory."""

from __future__ import annotations

from typing import ClassVar

from firmware.inject.actions.base import Action


class Reorder(Action, frozen=True, kw_only=True):
    """Two neighbours that change places."""

    WORD: ClassVar[str] = "reorder"
    TEXT: ClassVar[str] = "it changes places with the next one"


class Spurious(Action, frozen=True, kw_only=True):
    """Signals without a reason."""

    WORD: ClassVar[str] = "spurious"
    MAIN: ClassVar[str] = "count"
    TEXT: ClassVar[str] = (
        "this many signals come without a reason behind each that has one; many are a storm; with"
        " `every` they come by themselves as well, each so many seconds"
    )
    count: int = 1
    every: float = 0.0
    """Seconds; 0: they never come by themselves."""


class Stale(Action, frozen=True, kw_only=True):
    """An old value seen once more."""

    WORD: ClassVar[str] = "stale"
    TEXT: ClassVar[str] = "the reader sees the value before the last one"


class Torn(Action, frozen=True, kw_only=True):
    """Half of a store seen."""

    WORD: ClassVar[str] = "torn"
    TEXT: ClassVar[str] = "the reader sees the lower half of the new value, the upper of the old"


class Value(Action, frozen=True, kw_only=True):
    """Another value in a word."""

    WORD: ClassVar[str] = "value"
    MAIN: ClassVar[str] = "value"
    TEXT: ClassVar[str] = "the reader sees this value"
    value: int = 0xFFFF_FFFF


class Early(Action, frozen=True, kw_only=True):
    """A missing barrier: the index is seen before what it announces."""

    WORD: ClassVar[str] = "early"
    TEXT: ClassVar[str] = "the tail is seen while the entries before it still hold what they held"
