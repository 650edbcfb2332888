"""Records of the contract in one line, as people want to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from firmware.abi.describe import Description

_ALWAYS_THERE: Final = frozenset({"opcode", "status", "request", "tag", "payload_offset"})
_ALWAYS_SHOWN: Final = frozenset({"root_address"})
_NOTHING: Final = frozenset({"", "0", "none", "zero", "NONE", "OK"})


def short_of(description: Description) -> str:
    """Return a record in one line without what is the same everywhere, or zero."""
    if description.problem is not None:
        return description.line
    values = [
        f"{row.name}={_without_decimal(row.value)}"
        for row in description.rows
        if not row.fixed
        and row.name not in _ALWAYS_THERE
        and (row.value not in _NOTHING or row.name in _ALWAYS_SHOWN)
    ]
    return " ".join([description.title, *values])


def printable(text: str) -> str:
    """Return text that is safe to show: what moves a terminal's cursor is written as an escape."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def hexadecimal(number: int) -> str:
    """Return a number as addresses and sizes are written: hex, in groups of four."""
    return f"{number:#_x}"


def _without_decimal(value: str) -> str:
    text, _, _ = value.partition(" (")
    return text if value.startswith("0x") else value
