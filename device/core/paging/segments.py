"""Stretches of entries below which no table stands: where the leaves and holes of a range are.

Units: an entry of `level` covers 2^PAGE_SHIFTS[level] pages; its unit is the number of its first
page divided by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from device.core.paging.bits import ALL_BITS, PAGE_SHIFTS, SLOT_MASK, VALID_LEAF
from firmware.abi.paging import ROOT_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from device.core.paging.store import TableStore

    Follow: TypeAlias = Callable[[int, int], int]
    """Word index of the table that an entry leads to, given level and entry; negative if none."""


class Segment(NamedTuple):
    """Neighbouring entries of one table, none of which leads to another table."""

    level: int
    word: int
    """Index of the first entry."""
    unit: int
    entries: int


def segments(
    words: memoryview, root: int, start: int, stop: int, follow: Follow
) -> Iterator[Segment]:
    """Yield the segments that cover pages `start` to `stop`, in order.

    The first and the last may begin before and end behind the range. Leaves of a segment may be
    changed between two steps, directory entries may not.
    """
    level, table = ROOT_LEVEL, root >> 3
    # Most ranges lie below one entry of the upper tables, and lists of thousands of ranges do.
    while level:
        shift = PAGE_SHIFTS[level]
        unit = start >> shift
        if unit != (stop - 1) >> shift:
            break
        word = table + (unit & SLOT_MASK)
        table = follow(level, words[word])
        if table < 0:
            yield Segment(level, word, unit, 1)
            return
        level -= 1
    yield from _below(words, level, table, start, stop, follow)


def _below(
    words: memoryview, level: int, table: int, start: int, stop: int, follow: Follow
) -> Iterator[Segment]:
    shift = PAGE_SHIFTS[level]
    unit = start >> shift
    count = ((stop - 1) >> shift) - unit + 1
    word = table + (unit & SLOT_MASK)
    begin = 0
    if level:
        slots: list[int] = words[word : word + count].tolist()
        for slot, entry in enumerate(slots):
            child = follow(level, entry)
            if child < 0:
                continue
            if begin < slot:
                yield Segment(level, word + begin, unit + begin, slot - begin)
            low = max(start, (unit + slot) << shift)
            high = min(stop, (unit + slot + 1) << shift)
            yield from _below(words, level - 1, child, low, high, follow)
            begin = slot + 1
    if begin < count:
        yield Segment(level, word + begin, unit + begin, count - begin)


def first_used(store: TableStore, start: int, stop: int) -> int:
    """Return the first page of a range on which anything stands; `start` if there is none."""
    found = _first(store, start, stop, ALL_BITS, 0, equal=False)
    return start if found is None else found


def first_mapped(store: TableStore, start: int, stop: int) -> int | None:
    """Return the first page of a range that has a valid leaf, or None."""
    return _first(store, start, stop, VALID_LEAF, VALID_LEAF, equal=True)


def first_hole(store: TableStore, start: int, stop: int) -> int | None:
    """Return the first page of a range that has no valid leaf, or None."""
    return _first(store, start, stop, VALID_LEAF, VALID_LEAF, equal=False)


def _first(
    store: TableStore, start: int, stop: int, mask: int, wanted: int, *, equal: bool
) -> int | None:
    """Return the first page where the bits of `mask` are as wanted (or are not, if not `equal`)."""
    for level, word, unit, count in segments(store.words, store.root, start, stop, store.child):
        if count == 1:
            slot = 0
            if (store.words[word] & mask == wanted) != equal:
                continue
        else:
            hits = ((store.entries[word : word + count] & mask) == wanted) == equal
            slot = int(np.argmax(hits))
            if not hits[slot]:
                continue
        return max(start, (unit + slot) << PAGE_SHIFTS[level])
    return None
