"""Actions on the bytes of records."""

from __future__ import annotations

from typing import ClassVar

from firmware.inject.actions.base import Action


class Flip(Action, frozen=True, kw_only=True):
    """Bits that change."""

    WORD: ClassVar[str] = "flip"
    MAIN: ClassVar[str] = "bits"
    TEXT: ClassVar[str] = "this many bits change; of one field, or by a mask, where these are given"
    bits: int = 1
    """How many, chosen by the seed; not used with a mask."""
    field: str = ""
    """Field of the record in which they are; empty: anywhere."""
    mask: int = 0
    """Which bits of the field (or of the first 64 bits) change; 0: chosen by the seed."""


class Set(Action, frozen=True, kw_only=True):
    """A field that gets another value."""

    WORD: ClassVar[str] = "set"
    MAIN: ClassVar[str] = "field"
    TEXT: ClassVar[str] = "a field of the record gets this value"
    field: str
    value: int = 0


class BadOpcode(Action, frozen=True, kw_only=True):
    """A command that nobody knows."""

    WORD: ClassVar[str] = "bad_opcode"
    MAIN: ClassVar[str] = "code"
    TEXT: ClassVar[str] = "the command gets an opcode that nobody knows"
    code: int = 0xFFFF


class BadLength(Action, frozen=True, kw_only=True):
    """A command whose sizes are wrong."""

    WORD: ClassVar[str] = "bad_length"
    MAIN: ClassVar[str] = "size"
    TEXT: ClassVar[str] = "the command says that its payload has this size"
    size: int = 0xFFFF_FFFF
