"""Bytes of a work ring to commands: one at a time, or the plain copies among many at once."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from firmware.abi.work import WORK_COMMANDS, Copy, WorkCommand, decode_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from firmware.abi._malformed import Malformed

_WORDS: Final = Copy.SIZE // 8
_FIELDS: Final = {field.name: field for field in Copy.FIELDS}
_SOURCE: Final = _FIELDS["source"].offset // 8
_DESTINATION: Final = _FIELDS["destination"].offset // 8
_SIZE: Final = _FIELDS["size_bytes"].offset // 8
_RESERVED: Final = _FIELDS["size_bytes"].end // 8
PLAIN_COPY: Final = int(Copy.OPCODE)
"""First four bytes of a plain copy: its opcode and no flag."""
PLAIN_REST: Final = bytes(Copy.SIZE - 8 * _RESERVED)
"""Its reserved bytes."""
unpack_copy: Final = struct.Struct(f"<I4xQQQ{len(PLAIN_REST)}s").unpack_from
"""Returns opcode and flags, source, destination, size and reserved bytes: COPY without a record.

The hottest command is recognised by these five values; anything but a plain copy goes through
`decode`, which says what is wrong with it.
"""
_unpack_head: Final = struct.Struct("<HHI").unpack_from
_UNPACK: Final = {opcode: record.unpack for opcode, record in WORK_COMMANDS.items()}


class PlainCopies(NamedTuple):
    """COPY commands among the entries of a ring that carry no flag and no malformed byte."""

    plain: NDArray[np.bool_]
    """For each entry, whether it is one; only then the other columns mean anything."""
    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]
    size: NDArray[np.uint64]


def decode(entry: bytes, offset: int = 0) -> WorkCommand | Malformed:
    """Decode the 64-byte entry at `offset`."""
    unpack = _UNPACK.get(entry[offset] | entry[offset + 1] << 8)
    return decode_work(entry, offset) if unpack is None else unpack(entry, offset)


def head_of(entry: bytes, offset: int = 0) -> tuple[int, int]:
    """Return opcode and tag as they stand in an entry, whatever the rest is."""
    opcode, _, tag = _unpack_head(entry, offset)
    return opcode, tag


def find_copies(entries: bytes) -> PlainCopies:
    """Find the plain copies among `entries`, any number of 64-byte commands.

    The columns are views of one array made from the bytes: nothing is read from a ring here, so
    that what was checked is what is used.
    """
    words = np.frombuffer(entries, np.uint64).reshape(-1, _WORDS)
    # Opcode and flags are the low half of the first word; the tag above them is free.
    plain = words[:, 0].astype(np.uint32) == np.uint32(Copy.OPCODE)
    plain &= ~words[:, _RESERVED:].any(axis=1)
    return PlainCopies(plain, words[:, _SOURCE], words[:, _DESTINATION], words[:, _SIZE])
