"""Checking that the tables of a space form a tree, and that its counters tell what stands in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from device.core.errors import InvariantError
from device.core.paging.bits import CONTIGUOUS, PAGE_SHIFTS
from device.core.paging.wide import leads_on, leaf_pages
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.paging import FRAME_MASK, ROOT_LEVEL, TABLE_ENTRIES, TABLE_SHIFT

if TYPE_CHECKING:
    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.leaves import Ladder
    from device.core.paging.ports import Vram
    from device.core.paging.store import TableStore


def check_tables(memory: Vram, store: TableStore, ladder: Ladder, mapped_pages: int) -> None:
    """Read every table from the root.

    Raises:
        InvariantError: a table that is reached twice, from the wrong level, not at all, or not of
            this space; an empty one; an entry that no walk accepts or of a size that the device
            does not have; another number of mapped pages than `mapped_pages`.
    """
    limit = len(memory.words) << 3
    tables: Numbers = np.array([store.root], np.int64)
    pages = 0
    for level in range(ROOT_LEVEL, -1, -1):
        _check_ownership(store, level, tables)
        entries = memory.entries.reshape(-1, TABLE_ENTRIES)[tables >> PAGE_SHIFT]
        if level < ROOT_LEVEL and not entries.any(axis=1).all():
            empty = int(tables[~entries.any(axis=1)][0])
            raise InvariantError(f"table {empty:#x} of level {level} is empty")
        entries = entries.reshape(-1)
        onward = leads_on(entries, limit) & (level > 0)
        leaves = np.flatnonzero((entries != 0) & ~onward)
        word = (tables[leaves >> TABLE_SHIFT] >> 3) + (leaves & (TABLE_ENTRIES - 1))
        _check_leaves(memory, level, word, entries[leaves], ladder)
        pages += len(leaves) << PAGE_SHIFTS[level]
        tables = (entries[onward] & FRAME_MASK).view(np.int64)
    if pages != mapped_pages:
        raise InvariantError(f"{pages} pages stand in the tables, {mapped_pages} were mapped")


def _check_ownership(store: TableStore, level: int, tables: Numbers) -> None:
    """Check that the tables reached on a level are those taken for it, each reached once."""
    reached = (tables >> PAGE_SHIFT).tolist()
    owned = store.owned[level]
    foreign = sorted(set(reached) - owned)
    if foreign:
        raise InvariantError(
            f"an entry leads to frame {foreign[0]:#x}, which is no table of level {level} here"
        )
    lost = sorted(owned.difference(reached))
    if lost:
        raise InvariantError(f"nothing leads to the table in frame {lost[0]:#x} of level {level}")
    if len(reached) != len(owned):
        raise InvariantError(f"{len(reached)} entries lead to {len(owned)} tables of level {level}")


def _check_leaves(
    memory: Vram, level: int, word: Numbers, entries: Entries, ladder: Ladder
) -> None:
    if not len(entries):
        return
    if level < ROOT_LEVEL:
        grouped = (entries & CONTIGUOUS) != 0
        known = np.where(
            grouped,
            any(rung.flags for rung in ladder),
            any(rung.level == level and not rung.flags for rung in ladder),
        )
        sound = leaf_pages(memory, word, entries, level, np.zeros_like(word)) != 0
        bad = ~(known & sound)
    else:
        bad = np.ones(len(entries), bool)
    if bad.any():
        first = int(np.argmax(bad))
        raise InvariantError(
            f"entry {int(entries[first]):#018x} at {int(word[first]) << 3:#x} is no leaf that "
            f"level {level} may have"
        )
