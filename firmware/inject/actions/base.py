"""What every action is."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that an injection does."""

    WORD: ClassVar[str] = ""
    """Its word in a rule."""
    MAIN: ClassVar[str] = ""
    """The parameter that may follow the word behind an equals sign."""
    TEXT: ClassVar[str] = ""
    """What it does, for people."""
