"""Memory as the model sees it: bytes that several addresses, handles and processes show."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(eq=False)
class Store:
    """The bytes of one physical object or allocation.

    New memory holds anything that its process wrote before, so that nobody knows a byte before it
    is written, or read once. A process that was killed while it wrote leaves bytes that are the old
    or the new ones; they stand in `perhaps` until somebody reads them.
    """

    size: int
    is_host: bool
    data: bytearray = field(init=False)
    known: bytearray = field(init=False)
    """1 for each byte that was written or read."""
    perhaps: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = bytearray(self.size)
        self.known = bytearray(self.size)


class Piece(NamedTuple):
    """Some bytes of a store."""

    store: Store
    offset: int
    size: int


def cut(pieces: Iterable[Piece], start: int, size: int) -> list[Piece]:
    """Return the pieces that make up `size` bytes from `start` on, counted along the pieces."""
    found: list[Piece] = []
    at = 0
    for piece in pieces:
        low, high = max(start, at), min(start + size, at + piece.size)
        if low < high:
            found.append(Piece(piece.store, piece.offset + low - at, high - low))
        at += piece.size
    return found


def size_of(pieces: Iterable[Piece]) -> int:
    return sum(piece.size for piece in pieces)


def content(pieces: Iterable[Piece]) -> bytes:
    return b"".join(bytes(p.store.data[p.offset : p.offset + p.size]) for p in pieces)


def _along(pieces: Sequence[Piece], data: bytes) -> Iterator[tuple[Piece, bytes]]:
    at = 0
    for piece in pieces:
        yield piece, data[at : at + piece.size]
        at += piece.size


def put(pieces: Sequence[Piece], data: bytes) -> None:
    """Store bytes along pieces, the first piece first."""
    for piece, part in _along(pieces, data):
        piece.store.data[piece.offset : piece.offset + piece.size] = part
        piece.store.known[piece.offset : piece.offset + piece.size] = b"\1" * piece.size


def put_perhaps(pieces: Sequence[Piece], data: bytes) -> None:
    """Note that bytes may have been stored, each or none."""
    for piece, part in _along(pieces, data):
        piece.store.perhaps.append((piece.offset, part))


def settle(pieces: Sequence[Piece], seen: bytes) -> None:
    """Take over what was read where it was not known.

    Raises:
        AssertionError: a byte is neither what was there nor what may have been stored.
    """
    for piece, part in _along(pieces, seen):
        known = np.frombuffer(content([piece]), np.uint8)
        differ = np.flatnonzero(known != np.frombuffer(part, np.uint8))
        wrong = [at for at in differ.tolist() if not _may_be(piece, at, part[at])]
        assert not wrong, (
            f"{len(wrong)} bytes differ, the first at {wrong[0]:#x} of {piece.size:#x}"
        )
        put([piece], part)
        end = piece.offset + piece.size
        piece.store.perhaps = [
            (at, data)
            for at, data in piece.store.perhaps
            if not (piece.offset <= at and at + len(data) <= end)
        ]


def _may_be(piece: Piece, place: int, byte: int) -> bool:
    at = piece.offset + place
    if not piece.store.known[at]:
        return True
    return any(
        offset <= at < offset + len(data) and data[at - offset] == byte
        for offset, data in piece.store.perhaps
    )


def is_known(pieces: Iterable[Piece]) -> bool:
    """Return whether every byte can only have one value."""
    return not any(
        piece.store.perhaps
        or piece.store.known.find(0, piece.offset, piece.offset + piece.size) >= 0
        for piece in pieces
    )


def overlap(one: Iterable[Piece], other: Sequence[Piece]) -> bool:
    """Return whether two runs of pieces show a common byte."""
    return any(
        a.store is b.store and a.offset < b.offset + b.size and b.offset < a.offset + a.size
        for a in one
        for b in other
    )


def digest(data: bytes) -> str:
    """Return a short name of bytes, so that they need not travel."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
