"""How two lists of extents meet: the pieces of a copy, and groups of them.

Addresses of all memories stand on one line here, so that numbers alone tell what overlaps: VRAM
byte addresses as they are, then, 2^48 apart, the bus, peers, and the windows of the two sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import numpy as np

from device.core.memory.extents import FEW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from device.core.memory.extents import Extents

LINE_SHIFT: Final = 48
LOCAL_END: Final = 1 << LINE_SHIFT
"""Places below this, and not NULL, are VRAM addresses."""
NULL: Final = -1
"""Place of null extents."""
DESTINATION_WINDOW: Final = 3
SOURCE_WINDOW: Final = 4


class Piece(NamedTuple):
    """Consecutive bytes on both sides."""

    offset: int
    """Bytes of the transfer before this piece."""
    size: int
    destination: int
    """Place on the line, or NULL."""
    source: int
    """Place on the line, or NULL."""


Table: TypeAlias = "NDArray[np.int64]"
"""Many pieces: one row each, with the fields of `Piece` as columns."""
Pieces: TypeAlias = "list[Piece] | Table"
"""Pieces by rising offset: a list of few, a table of many."""


def pair(destination: Extents, source: Extents) -> Pieces:
    """Return the pieces into which the cuts of both sides divide a transfer of equal totals."""
    own = DESTINATION_WINDOW
    other = own if source.window is destination.window else SOURCE_WINDOW
    if len(destination) + len(source) <= FEW:
        return list(_merge(_few(destination, own), _few(source, other)))
    starts, places = zip(_many(destination, own), _many(source, other), strict=True)
    cuts = np.union1d(*starts)
    table = np.empty((len(cuts), 4), np.int64)
    table[:, 0] = cuts
    table[:, 1] = np.diff(cuts, append=destination.total)
    for column, start, place in zip((2, 3), starts, places, strict=True):
        index = np.searchsorted(start, cuts, side="right") - 1
        first = place[index]
        table[:, column] = np.where(first == NULL, NULL, first + cuts - start[index])
    return table


def rows_of(pieces: Pieces) -> Sequence[Piece]:
    """Return the pieces one by one; those of a table are plain lists, with the same fields."""
    return pieces if isinstance(pieces, list) else cast("list[Piece]", pieces.tolist())


def split(pieces: Pieces, total: int, size: int, *, backward: bool = False) -> Iterator[Table]:
    """Yield the pieces of a transfer of `total` bytes in groups of `size` bytes.

    First to last, the last group may be smaller; or, backward, last to first, and the first group
    may be. Pieces of a group are in rising order all the same.
    """
    table = np.array(pieces, np.int64).reshape(-1, 4)
    starts = range(total - size, -size, -size) if backward else range(0, total, size)
    for start in starts:
        yield _cut(table, max(start, 0), min(start + size, total))


def _cut(table: Table, start: int, stop: int) -> Table:
    """Return the pieces between two offsets; those that reach beyond are cut."""
    first = int(np.searchsorted(table[:, 0], start, side="right")) - 1
    end = int(np.searchsorted(table[:, 0], stop, side="left"))
    cut = table[first:end].copy()
    skip = start - int(cut[0, 0])
    places = cut[0, 2:]
    places[places != NULL] += skip
    cut[0, 0] = start
    cut[:, 1] = np.diff(cut[:, 0], append=stop)
    return cut


def _few(extents: Extents, window: int) -> list[tuple[int, int]]:
    """Return (size, place) of each extent."""
    if extents.window is not None:
        return [(row.size, window << LINE_SHIFT | row.address) for row in extents.rows]
    return [
        (row.size, NULL if row.null else row.aperture << LINE_SHIFT | row.address)
        for row in extents.rows
    ]


def _many(extents: Extents, window: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each extent starts in the transfer, and its place."""
    columns = extents.columns
    size = columns.size.astype(np.int64)
    memory = columns.aperture.astype(np.int64) if extents.window is None else np.int64(window)
    place = columns.address.astype(np.int64) | memory << LINE_SHIFT
    place[columns.null] = NULL
    return np.cumsum(size) - size, place


def _merge(destinations: list[tuple[int, int]], sources: list[tuple[int, int]]) -> Iterator[Piece]:
    """Yield the pieces of two lists of (size, place)."""
    offset = rest = 0
    source = NULL
    others = iter(sources)
    for length, first in destinations:
        destination, end = first, offset + length
        while offset < end:
            if rest == 0:
                rest, source = next(others)
            size = min(end - offset, rest)
            yield Piece(offset, size, destination, source)
            destination = _beyond(destination, size)
            source = _beyond(source, size)
            offset += size
            rest -= size


def _beyond(place: int, distance: int) -> int:
    return place if place == NULL else place + distance
