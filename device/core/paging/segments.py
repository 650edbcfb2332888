"""Stretches of entries below which no table stands: where the leaves and holes of a range are.

Units: an entry of `level` covers 2^PAGE_SHIFTS[level] pages; its unit is the number of its first
page divided by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from device.core.paging.bits import (
    ALL_BITS,
    DIRECTORY,
    NOT_FRAME,
    PAGE_SHIFTS,
    SLOT_MASK,
    VALID_LEAF,
)
from firmware.abi.paging import ROOT_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from device.core.paging.bits import Entries
    from device.core.paging.store import TableStore

    Follow: TypeAlias = Callable[[int, int], int]
    """Word index of the table that an entry leads to, given level and entry; negative if none.

    Only directory entries lead anywhere.
    """
_FEW: Final = 32
"""So many entries are looked at one by one faster than all at once."""


class Words(Protocol):
    """Memory with tables in it, as words in two views."""

    @property
    def words(self) -> memoryview:
        """For single loads."""
        ...

    @property
    def entries(self) -> Entries:
        """For numpy."""
        ...


class Segment(NamedTuple):
    """Neighbouring entries of one table, none of which leads to another table."""

    level: int
    word: int
    """Index of the first entry."""
    unit: int
    entries: int


def segments(memory: Words, root: int, start: int, stop: int, follow: Follow) -> Iterator[Segment]:
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
        table = follow(level, memory.words[word])
        if table < 0:
            yield Segment(level, word, unit, 1)
            return
        level -= 1
    yield from _below(memory, level, table, start, stop, follow)


def _below(
    memory: Words, level: int, table: int, start: int, stop: int, follow: Follow
) -> Iterator[Segment]:
    shift = PAGE_SHIFTS[level]
    unit = start >> shift
    count = ((stop - 1) >> shift) - unit + 1
    word = table + (unit & SLOT_MASK)
    begin = 0
    if level:
        for slot in _may_lead_on(memory, word, count):
            child = follow(level, memory.words[word + slot])
            if child < 0:
                continue
            if begin < slot:
                yield Segment(level, word + begin, unit + begin, slot - begin)
            low = max(start, (unit + slot) << shift)
            high = min(stop, (unit + slot + 1) << shift)
            yield from _below(memory, level - 1, child, low, high, follow)
            begin = slot + 1
    if begin < count:
        yield Segment(level, word + begin, unit + begin, count - begin)


def _may_lead_on(memory: Words, word: int, count: int) -> Iterable[int]:
    """Return which of neighbouring entries may lead to a table; the others certainly do not."""
    if count <= _FEW:
        return range(count)
    onward = (memory.entries[word : word + count] & NOT_FRAME) == DIRECTORY
    found: list[int] = np.flatnonzero(onward).tolist()
    return found


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
    for level, word, unit, count in segments(store, store.root, start, stop, store.child):
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
