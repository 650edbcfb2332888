"""In which order the pieces of a copy may be moved, so that none destroys what another reads."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np

from device.core.memory.pieces import NULL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.memory.pieces import Piece, Pieces, Table

_LOOKS_PER_PIECE: Final = 8
"""Overlaps examined, per piece, before the search for an order is given up."""


class Order(Enum):
    """How a copy keeps the meaning of memmove: as if all were read before anything is written."""

    FORWARD = 1
    """First piece first; pieces that are cut, first part first."""
    BACKWARD = 2
    """Last piece first; pieces that are cut, last part first."""
    DETOUR = 3
    """Memory that is mapped twice may allow neither: everything is read into a buffer first."""


def order_of(pieces: Pieces) -> Order:
    """Return an order in which no piece destroys what a later one, or later part of it, reads."""
    if isinstance(pieces, list) and _few_apart(pieces):
        return Order.FORWARD
    # Pieces without a destination do nothing; those without a source write zeros all the same.
    table = np.array(pieces, np.int64)
    table = table[table[:, 2] != NULL]
    reads = table[:, 3] != NULL
    if _apart(table, table[reads]):
        return Order.FORWARD
    forward = backward = True
    looks = _LOOKS_PER_PIECE * len(table)
    for writer, reader in _overlaps(table, np.flatnonzero(reads)):
        distance = reader - writer
        if distance == 0:
            distance = int(table[writer, 2] - table[writer, 3])
        # No write may come before the read of the same bytes.
        forward = forward and distance <= 0
        backward = backward and distance >= 0
        looks -= 1
        if looks == 0 or not (forward or backward):
            return Order.DETOUR
    return Order.FORWARD if forward else Order.BACKWARD


def _few_apart(pieces: list[Piece]) -> bool:
    """Whether all that is written lies above all that is read, or below."""
    writers = [piece for piece in pieces if piece.destination != NULL]
    sources = [piece.source for piece in writers if piece.source != NULL]
    if not sources:
        return True
    destinations = [piece.destination for piece in writers]
    largest = max(piece.size for piece in writers)
    return max(destinations) + largest <= min(sources) or max(sources) + largest <= min(
        destinations
    )


def _apart(writers: Table, readers: Table) -> bool:
    """Whether all that is written lies above all that is read, or below."""
    if len(readers) == 0:
        return True
    destination, source = writers[:, 2], readers[:, 3]
    return bool(
        (destination + writers[:, 1]).max() <= source.min()
        or (source + readers[:, 1]).max() <= destination.min()
    )


def _overlaps(table: Table, readers: Table) -> Iterator[tuple[int, int]]:
    """Yield (index of the writer, index of the reader) of each two that share bytes."""
    size, destination = table[:, 1], table[:, 2]
    by_source = readers[np.argsort(table[readers, 3], kind="stable")]
    start = table[by_source, 3]
    stop = start + size[by_source]
    # Sources may overlap each other: `reach[k]` is where the first k + 1 of them end at the latest.
    reach = np.maximum.accumulate(stop)
    last = np.searchsorted(start, destination + size, side="left") - 1
    candidates = np.flatnonzero((last >= 0) & (reach[last] > destination))
    for writer in candidates.tolist():
        low = int(destination[writer])
        at = int(last[writer])
        while at >= 0 and reach[at] > low:
            if stop[at] > low:
                yield writer, int(by_source[at])
            at -= 1
