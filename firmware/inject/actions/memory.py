"""Actions on transfers, page tables and memory."""

from __future__ import annotations

from typing import ClassVar

from firmware.inject.actions.base import Action


class Partial(Action, frozen=True, kw_only=True):
    """A transfer that stops in the middle."""

    WORD: ClassVar[str] = "partial"
    MAIN: ClassVar[str] = "size"
    TEXT: ClassVar[str] = "a transfer of more bytes stops behind this many, and faults there"
    size: int = 0


class Lose(Action, frozen=True, kw_only=True):
    """A transfer that moves less than it says."""

    WORD: ClassVar[str] = "lose"
    MAIN: ClassVar[str] = "size"
    TEXT: ClassVar[str] = "a transfer of more bytes stops behind this many, and reports success"
    size: int = 0


class WrongPage(Action, frozen=True, kw_only=True):
    """A transfer that goes elsewhere."""

    WORD: ClassVar[str] = "wrong_page"
    MAIN: ClassVar[str] = "pages"
    TEXT: ClassVar[str] = (
        "the transfer writes this many pages further on; it faults where nothing is mapped there"
    )
    pages: int = 1


class FailWalk(Action, frozen=True, kw_only=True):
    """A walk of the page tables that finds nothing."""

    WORD: ClassVar[str] = "fail_walk"
    MAIN: ClassVar[str] = "at_level"
    TEXT: ClassVar[str] = "the walk finds no entry at this level"
    at_level: int = 0
    """0 is the leaf table."""


class KeepStale(Action, frozen=True, kw_only=True):
    """A TLB that forgets nothing."""

    WORD: ClassVar[str] = "keep_stale"
    TEXT: ClassVar[str] = "the TLB keeps the entries that it was told to forget"


class Fail(Action, frozen=True, kw_only=True):
    """Something of the device that does not work, in the way its kind fails."""

    WORD: ClassVar[str] = "fail"
    TEXT: ClassVar[str] = "it fails as this point fails when resources are gone"


class Correctable(Action, frozen=True, kw_only=True):
    """A memory error that ECC corrects."""

    WORD: ClassVar[str] = "correctable"
    TEXT: ClassVar[str] = "one bit is wrong; ECC corrects and counts it"


class Uncorrectable(Action, frozen=True, kw_only=True):
    """A memory error that ECC cannot correct."""

    WORD: ClassVar[str] = "uncorrectable"
    TEXT: ClassVar[str] = "the page is poisoned: whoever reads it faults"


class Retire(Action, frozen=True, kw_only=True):
    """A frame that is taken out of use."""

    WORD: ClassVar[str] = "retire"
    TEXT: ClassVar[str] = "the frame is not given out again"
