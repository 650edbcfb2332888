"""Whether two boxes of memory share a byte: rows and slices at any distances."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_ROWS: Final = 1 << 13
"""Rows of the box with fewer of them that are looked at one by one: some milliseconds."""


class Extent(NamedTuple):
    """A box of `width` bytes x `height` rows x `depth` slices."""

    start: int
    width: int
    height: int
    depth: int
    row: int
    """Bytes from row to row."""
    slice: int
    """Bytes from slice to slice."""

    @property
    def rows(self) -> int:
        """Rows of all slices."""
        return self.height * self.depth

    @property
    def end(self) -> int:
        """First address behind its last byte."""
        return (
            self.start + (self.depth - 1) * self.slice + (self.height - 1) * self.row + self.width
        )


def overlap(one: Extent, other: Extent) -> bool:
    """Whether two boxes that are not empty share a byte.

    Where their pitches differ and both have more than `MOST_ROWS` rows, nobody looks: a program's
    absurd boxes keep no other one waiting, and are copied in some order.
    """
    if one.end <= other.start or other.end <= one.start:
        return False
    if (one.row, one.slice) == (other.row, other.slice):
        # They share a byte where the distance of their starts is one of the distances between a
        # byte of the one and a byte of the other; these form a box again.
        width, height, depth = one.width, one.height, one.depth
        least = -(width - 1) - (height - 1) * one.row - (depth - 1) * one.slice
        distances = Extent(least, 2 * width - 1, 2 * height - 1, 2 * depth - 1, one.row, one.slice)
        return _meets(distances, other.start - one.start, 1)
    if one.rows > other.rows:
        one, other = other, one
    if one.rows > MOST_ROWS:
        return False
    return any(
        _meets(other, one.start + layer * one.slice + row * one.row, one.width)
        for layer in range(one.depth)
        for row in range(one.height)
    )


def _meets(box: Extent, address: int, width: int) -> bool:
    """Whether a row of a box shares a byte with `width` bytes from an address on."""
    # A row at distance x from the box's start meets them when low <= x <= high.
    low = address - box.start - box.width + 1
    high = address - box.start + width - 1
    first, last = 0, box.depth - 1
    if box.slice:
        first = max(first, -((-(low - (box.height - 1) * box.row)) // box.slice))
        last = min(last, high // box.slice)
    for layer in range(first, last + 1):
        left, right = low - layer * box.slice, high - layer * box.slice
        if not box.row:
            if left <= 0 <= right:
                return True
            continue
        if max(0, -(-left // box.row)) <= min(box.height - 1, right // box.row):
            return True
    return False
