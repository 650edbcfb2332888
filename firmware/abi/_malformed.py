"""The answer to bytes that do not obey the contract: a value, never an exception.

Bytes of a peer are data. Decoding them yields either the typed record or a `Malformed` that says
what, where, expected and found, so that a device can turn it into a fault record or a status and
go on serving others.
"""

from enum import IntEnum
from typing import final

import msgspec


class Reason(IntEnum):
    """Why bytes do not decode."""

    TRUNCATED = 1
    """Fewer bytes than the record has."""
    RESERVED = 2
    """A reserved byte or bit is not zero."""
    UNKNOWN_VALUE = 3
    """An enumeration or a flag word holds a value that the contract does not name."""
    CONSTANT = 4
    """A magic number or another fixed field differs."""
    UNKNOWN_OPCODE = 5
    """No record of this family has the opcode."""
    OVERSIZED = 6
    """A packet with more bytes than its record has."""


@final
class Malformed(msgspec.Struct, frozen=True, gc=False):
    """A record that breaks the contract: which one, where and how."""

    record: str
    field: str
    """Name of the field; `reserved_XX` for bytes without one, `size` for a wrong size."""
    reason: Reason
    offset: int
    """Byte offset of the field from the start of the record."""
    found: int
    """Value found, below 2^64: of byte fields eight bytes from the first wrong one, little endian;
    of a wrong size the number of bytes there are."""
    expected: str = ""
    """What the contract allows, in words."""

    def __str__(self) -> str:
        where = f"{self.record}.{self.field} at {self.offset:#x}"
        wanted = f", expected {self.expected}" if self.expected else ""
        reason = self.reason.name.lower().replace("_", " ")
        return f"{where}: {reason}, found {self.found:#x}{wanted}"
