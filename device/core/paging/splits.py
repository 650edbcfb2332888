"""Splitting: cutting larger leaves so that a leaf begins at a given page.

A split changes no translation. A large leaf becomes a table of the next smaller leaves, for which
a table page is needed; a 64 KiB leaf becomes sixteen leaves of 4 KiB where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.paging.bits import (
    CONTIGUOUS,
    DIRECTORY,
    GROUP_MASK,
    NOT_CONTIGUOUS,
    PAGE_SHIFTS,
    SLOT_MASK,
    is_malformed,
)
from device.core.paging.ramps import write_ramp
from device.core.paging.store import MISSING
from firmware.abi.paging import CONTIGUOUS_ENTRIES, TABLE_ENTRIES

if TYPE_CHECKING:
    from device.core.paging.store import TableStore

_LARGEST: Final = (1 << PAGE_SHIFTS[2]) - 1
"""A page without any of these bits begins the largest leaf there is."""


@final
class SplitPlan:
    """The splits that let leaves begin at some pages. `commit` takes table pages first."""

    __slots__ = ("_cut_groups", "_groups", "_large", "_store", "_table", "_unit")

    def __init__(self, store: TableStore, group_flag: int) -> None:
        """Plan nothing yet. `group_flag` is CONTIGUOUS if the device has 64 KiB leaves, else 0."""
        self._store = store
        self._groups = group_flag
        self._large: dict[tuple[int, int], None] = {}
        """Leaves that become tables: (level, unit)."""
        self._cut_groups: dict[int, None] = {}
        """First pages of 64 KiB leaves that become leaves of 4 KiB, once the large ones are cut."""
        self._unit = self._table = MISSING
        """The table of level 0 that was met last, and its first word: pages come in clusters."""

    def add(self, page: int) -> None:
        """Plan what is needed for a leaf to begin at `page`. Damaged entries are left alone."""
        if not page & _LARGEST:
            return
        store = self._store
        word, level = self._find(page)
        entry = store.words[word]
        grouped = entry & CONTIGUOUS
        if level:
            if not entry or is_malformed(entry, level):
                return
            grouped = self._groups
            for upper in range(level, 0, -1):
                if page & ((1 << PAGE_SHIFTS[upper]) - 1):
                    self._large[upper, page >> PAGE_SHIFTS[upper]] = None
        if grouped and page & GROUP_MASK:
            self._cut_groups[page & ~GROUP_MASK] = None

    def _find(self, page: int) -> tuple[int, int]:
        """`TableStore.find` a page; no table changes while there is a plan."""
        slot = page & SLOT_MASK
        if page - slot == self._unit:
            return self._table + slot, 0
        word, level = self._store.find(0, page)
        if not level:
            self._unit, self._table = page - slot, word - slot
        return word, level

    def commit(self) -> None:
        """Take table pages and split.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing was written.
        """
        store = self._store
        if self._large:
            tables = store.take(len(self._large))
            upper_first = sorted(self._large, reverse=True)
            for (level, unit), table in zip(upper_first, tables, strict=True):
                word, _ = store.find(level, unit)
                child = store.words[word] | (self._groups if level == 1 else 0)
                write_ramp(store.entries, table >> 3, TABLE_ENTRIES, child, level - 1)
                store.own(level - 1, table)
                store.words[word] = DIRECTORY | table
        for page in self._cut_groups:
            word, _ = store.find(0, page)
            group = store.entries[word : word + CONTIGUOUS_ENTRIES]
            group &= NOT_CONTIGUOUS
