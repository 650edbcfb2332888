"""Mapping all or nothing, extent by extent: everything is found out before anything is written.

A plan reads the tables, remembers what it would write, and counts the table pages it lacks.
`commit` takes those first: when there is no memory for them, nothing has happened. After that
nothing can fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from device.core.errors import DeviceError
from device.core.paging.bits import DIRECTORY, LEAF_BYTES, NULL, PAGE_SHIFTS, SLOT_MASK
from device.core.paging.ramps import write_ramp, write_tables
from device.core.paging.segments import first_used
from device.core.paging.store import MISSING
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.paging import TABLE_ENTRIES, TABLE_SHIFT
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.paging.leaves import Leaves
    from device.core.paging.store import TableStore


class _Write(NamedTuple):
    """Something to write into one table."""

    word: int
    """Where it begins; MISSING if that table is still to be made."""
    level: int
    """Level of the entries written: one above that of `first` where whole tables are linked."""
    unit: int
    entries: int
    first: int
    """First leaf."""


def write_in_table(store: TableStore, leaves: Leaves) -> bool:
    """Write leaves that lie in one table which is there, and are free; return whether they do.

    Else nothing has changed, and a plan finds out why.

    What most requests need, at half the cost of a plan.
    """
    level, unit, count, first = leaves
    if (unit & SLOT_MASK) + count > TABLE_ENTRIES:
        return False
    word, ended = store.find(level, unit)
    if ended != level or not store.are_zero(word, count):
        return False
    _write(store, word, count, first, level)
    return True


def _write(store: TableStore, word: int, count: int, first: int, level: int) -> None:
    if count == 1:
        store.words[word] = first
    else:
        write_ramp(store.entries, word, count, first, level)


@final
class MapPlan:
    """What one `map` is going to write, table by table."""

    __slots__ = ("_fresh", "_leaves", "_store", "_tables")

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._fresh: dict[tuple[int, int], int] = {}
        """Tables to make that are written in part, upper ones first: level and unit of the table,
        and the word that will lead to it, MISSING if that is in such a table too."""
        self._leaves: list[_Write] = []
        self._tables: list[_Write] = []
        """Tables to make that are filled from end to end: what will lead to them."""

    def add(self, leaves: Leaves) -> None:
        """Plan to write `leaves`, which must come in the order of their addresses.

        Raises:
            DeviceError: OVERLAP, at the first address that is not free; OUT_OF_DEVICE_MEMORY for
                more tables than there are frames at all: looking at each would take seconds.
        """
        level, unit, count, first = leaves
        if count >> TABLE_SHIFT > self._store.vram_size >> PAGE_SHIFT:
            self._store.take(count >> TABLE_SHIFT)
        step = 0 if first & NULL else LEAF_BYTES[level]
        while count:
            slot = unit & SLOT_MASK
            if not slot and count >= TABLE_ENTRIES:
                table = unit >> TABLE_SHIFT
                here = min(count >> TABLE_SHIFT, TABLE_ENTRIES - (table & SLOT_MASK))
                word = self._place(level + 1, table, here)
                self._tables.append(_Write(word, level + 1, table, here, first))
                here <<= TABLE_SHIFT
            else:
                here = min(count, TABLE_ENTRIES - slot)
                self._leaves.append(
                    _Write(self._place(level, unit, here), level, unit, here, first)
                )
            unit += here
            count -= here
            first += here * step

    def commit(self) -> None:
        """Take table pages, write the entries, then link the fresh tables.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing was written.
        """
        store = self._store
        whole = sum(write.entries for write in self._tables)
        taken = store.take(whole + len(self._fresh)) if whole or self._fresh else []
        fresh = dict(zip(self._fresh, taken[whole:], strict=True))
        for write in self._leaves:
            word = write.word if write.word >= 0 else _word_in(fresh, write.level, write.unit)
            _write(store, word, write.entries, write.first, write.level)
        # Lower tables first: what a walker can reach is complete at any time.
        self._commit_tables(fresh, taken[:whole])
        for (level, unit), table in reversed(fresh.items()):
            word = self._fresh[level, unit]
            if word < 0:
                word = _word_in(fresh, level + 1, unit)
            store.words[word] = DIRECTORY | table
            store.own(level, table)

    def _commit_tables(self, fresh: dict[tuple[int, int], int], taken: list[int]) -> None:
        entries = self._store.entries
        begin = 0
        for word, level, unit, count, first in self._tables:
            addresses = np.array(taken[begin : begin + count], np.int64)
            begin += count
            write_tables(entries, addresses, first, level - 1)
            start = word if word >= 0 else _word_in(fresh, level, unit)
            entries[start : start + count] = addresses | DIRECTORY
            self._store.owned[level - 1].update((addresses >> PAGE_SHIFT).tolist())

    def _place(self, level: int, unit: int, count: int) -> int:
        """Return the word of the first of some free entries of one table, or MISSING.

        Raises:
            DeviceError: OVERLAP, at the first address that is not free.
        """
        store = self._store
        word, ended = store.find(level, unit)
        if not store.are_zero(word, count if ended == level else 1):
            shift = PAGE_SHIFTS[level]
            used = first_used(store, unit << shift, (unit + count) << shift)
            raise DeviceError(Status.OVERLAP, used << PAGE_SHIFT)
        if ended == level:
            return word
        for upper in range(ended - 1, level - 1, -1):
            table = unit >> (TABLE_SHIFT * (upper - level + 1))
            self._fresh[upper, table] = word
            word = MISSING
        return MISSING


def _word_in(fresh: dict[tuple[int, int], int], level: int, unit: int) -> int:
    """Return the word of an entry in a table that was just taken."""
    return (fresh[level, unit >> TABLE_SHIFT] >> 3) + (unit & SLOT_MASK)
