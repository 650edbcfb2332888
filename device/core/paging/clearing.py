"""Clearing ranges: entries to zero, empty tables given back.

What is cleared is what stands in the bits. A table that is not of this space is never touched: an
entry that leads elsewhere is cleared where the range covers it, and left alone where it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from device.core.paging.bits import (
    DIRECTORY,
    GROUP_MASK,
    NOT_FRAME,
    PAGE_SHIFTS,
    SLOT_MASK,
    VALID_LEAF,
)
from device.core.paging.store import MISSING
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.paging import ROOT_LEVEL, TABLE_ENTRIES, TABLE_SHIFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.paging.bits import Entries
    from device.core.paging.store import TableStore

_BLOCK: Final = 1024
"""Tables read at once when they are scattered."""


def clear_in_table(store: TableStore, start: int, stop: int) -> int | None:
    """Clear pages `start` to `stop` of one table; return how many were mapped.

    None, and nothing has changed: they lie in more tables, or in a larger leaf, or may be part of a
    64 KiB leaf that reaches over an end.

    What most requests need, at a third of the cost of `clear` and of looking for splits before it.
    """
    unit = start >> TABLE_SHIFT
    if (stop - 1) >> TABLE_SHIFT != unit or (start | stop) & GROUP_MASK:
        return None
    word, level = store.find(0, start)
    if level:
        return None
    pages = _clear_entries(store, 0, word, stop - start)
    if store.are_zero(word - (start & SLOT_MASK), TABLE_ENTRIES):
        _clear(store, ROOT_LEVEL, store.root >> 3, start, stop)
    return pages


def clear(store: TableStore, ranges: Sequence[tuple[int, int]]) -> int:
    """Clear pages `start` to `stop` of ascending ranges; return how many were mapped.

    No leaf may reach over an end of a range (see `splits`).
    """
    pages = 0
    unit = table = MISSING
    for number, (start, stop) in enumerate(ranges, 1):
        here = start >> TABLE_SHIFT
        # All but the last range in a table need not be looked for emptiness after them.
        if number < len(ranges) and here == ranges[number][0] >> TABLE_SHIFT:
            if unit != here:
                word, level = store.find(0, start)
                unit, table = here, MISSING if level else word - (start & SLOT_MASK)
            if table >= 0:
                entries = table + (start & SLOT_MASK)
                pages += _clear_entries(store, 0, entries, stop - start)
                continue
        pages += _clear(store, ROOT_LEVEL, store.root >> 3, start, stop)
        # It may have given the table back.
        unit = MISSING
    return pages


def _clear(store: TableStore, level: int, table: int, start: int, stop: int) -> int:
    """Clear part of what the table at word `table` covers."""
    shift = PAGE_SHIFTS[level]
    first, last = start >> shift, (stop - 1) >> shift
    if start == first << shift and stop == (last + 1) << shift:
        return _clear_entries(store, level, table + (first & SLOT_MASK), last - first + 1)
    pages = 0
    if start != first << shift or (first == last):
        end = min(stop, (first + 1) << shift)
        pages += _clear_inside(store, level, table + (first & SLOT_MASK), start, end)
        first += 1
    if first <= last and stop != (last + 1) << shift:
        begin = last << shift
        pages += _clear_inside(store, level, table + (last & SLOT_MASK), begin, stop)
        last -= 1
    if first <= last:
        pages += _clear_entries(store, level, table + (first & SLOT_MASK), last - first + 1)
    return pages


def _clear_inside(store: TableStore, level: int, index: int, start: int, stop: int) -> int:
    """Clear part of what the entry at word `index` covers; give its table back if that empties."""
    table = store.child(level, store.words[index])
    if table < 0:
        return 0
    pages = _clear(store, level - 1, table, start, stop)
    if store.are_zero(table, TABLE_ENTRIES):
        store.words[index] = 0
        store.give(level - 1, [table >> TABLE_SHIFT])
    return pages


def _clear_entries(store: TableStore, level: int, index: int, count: int) -> int:
    """Clear entries and everything below them."""
    if count == 1:
        entry = store.words[index]
        if not entry:
            return 0
        store.words[index] = 0
        table = store.child(level, entry)
        if table >= 0:
            return _drop(store, level - 1, [table >> TABLE_SHIFT])
        if level and entry & VALID_LEAF != VALID_LEAF:
            return 0
        return 1 << PAGE_SHIFTS[level]
    entries = store.entries[index : index + count]
    pages, tables = _count(entries, level)
    entries[:] = 0
    return pages + (_drop(store, level - 1, tables) if tables else 0)


def _count(entries: Entries, level: int) -> tuple[int, list[int]]:
    """Return the pages that leaves among the entries map, and the frames to which others lead."""
    if not level:
        return int(np.count_nonzero(entries)), []
    leaves = int(np.count_nonzero((entries & VALID_LEAF) == VALID_LEAF))
    onward = entries[(entries & NOT_FRAME) == DIRECTORY] >> np.uint64(PAGE_SHIFT)
    return leaves << PAGE_SHIFTS[level], onward.tolist()


def _drop(store: TableStore, level: int, frames: list[int]) -> int:
    """Give tables back that nothing leads to any more, with all below; return pages mapped."""
    ours = sorted(store.owned[level].intersection(frames))
    pages = 0
    below: list[int] = []
    for begin in range(0, len(ours), _BLOCK):
        part = ours[begin : begin + _BLOCK]
        if part[-1] - part[0] == len(part) - 1:
            tables = store.rows[part[0] : part[-1] + 1]
        else:
            tables = store.rows[part]
        mapped, onward = _count(tables.reshape(-1), level)
        pages += mapped
        below += onward
    store.give(level, ours)
    if below:
        pages += _drop(store, level - 1, below)
    return pages
