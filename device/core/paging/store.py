"""Table pages of one address space: which there are, and access to what stands in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import numpy as np

from device.core.errors import DeviceError, InternalError
from device.core.memory.blocks import Run
from device.core.paging.bits import (
    DIRECTORY,
    NOT_FRAME,
    PAGE_SHIFTS,
    SLOT_MASK,
)
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.paging import (
    ENTRY_SIZE,
    FRAME_MASK,
    LEVELS,
    ROOT_LEVEL,
    TABLE_ENTRIES,
    TABLE_SHIFT,
    TABLE_SIZE,
)

if TYPE_CHECKING:
    from device.core.paging.bits import Entries
    from device.core.paging.ports import TableMemory

MISSING: Final = -1
"""In place of a word index: there is no table."""
BLOCKED: Final = -2
"""In place of a word index: something that is no table of this space is in the way."""
_ZEROS: Final = bytes(TABLE_SIZE)
_FEW: Final = 6
"""Up to so many table pages are taken and given one by one."""


@final
class TableStore:
    """The table pages that one `PageTables` owns.

    Owner: its `PageTables`. Invariant: `owned[level]` holds the VRAM frame of each table page
    taken and not given back. This is ownership, not content: what the tables say is read from
    their bits each time, and a directory entry is followed here only to a table of this space on
    the right level, so that damaged bits cannot make a mapping change anybody else's memory.

    Tables are addressed by the index of their first word in `entries` and `words`.
    """

    __slots__ = ("_memory", "entries", "owned", "root", "rows", "words")

    def __init__(self, memory: TableMemory) -> None:
        """Take the root table.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY.
        """
        self._memory = memory
        self.words = memory.words
        self.entries = memory.entries
        self.rows: Entries = memory.entries.reshape(-1, TABLE_ENTRIES)
        self.root = memory.allocate_table()
        self.owned: tuple[set[int], ...] = tuple(set() for _ in LEVELS)
        self.own(ROOT_LEVEL, self.root)

    @property
    def vram_size(self) -> int:
        """Bytes of VRAM."""
        return len(self.words) * ENTRY_SIZE

    @property
    def table_count(self) -> int:
        """Table pages, the root included."""
        return sum(map(len, self.owned))

    def take(self, count: int) -> list[int]:
        """Take zeroed table pages, neighbours where there are any; return their addresses.

        They belong to the space once it was said that it should `own` them.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing was taken.
        """
        if count > _FEW:
            return sorted(self._memory.allocate_tables(count))
        taken: list[int] = []
        try:
            taken.extend(self._memory.allocate_table() for _ in range(count))
        except DeviceError:
            for table in taken:
                self._memory.free_table(table)
            raise
        return taken

    def own(self, level: int, address: int) -> None:
        """Take a table page into the tree, at a level."""
        self.owned[level].add(address >> PAGE_SHIFT)

    def give(self, level: int, frames: list[int]) -> None:
        """Give table pages of this space back, in ascending order; nothing leads to them now."""
        self.owned[level].difference_update(frames)
        if len(frames) > _FEW:
            self._memory.free_tables(_runs_of(frames))
            return
        for frame in frames:
            self._memory.free_table(frame << PAGE_SHIFT)

    def child(self, level: int, entry: int) -> int:
        """Return the word index of the table that an entry of `level` leads to.

        MISSING if the entry is zero, BLOCKED if it is anything but a directory entry with a table
        of this space.
        """
        if not entry:
            return MISSING
        frame = (entry & FRAME_MASK) >> PAGE_SHIFT
        if entry & NOT_FRAME != DIRECTORY or not level or frame not in self.owned[level - 1]:
            return BLOCKED
        return frame << TABLE_SHIFT

    def find(self, level: int, unit: int) -> tuple[int, int]:
        """Return (word index, level) of the entry for `unit`: at `level`, or where the way ends.

        A unit is what one entry of `level` covers, counted from address 0.
        """
        index = self.root >> 3
        for upper in range(ROOT_LEVEL, level, -1):
            index += (unit >> (PAGE_SHIFTS[upper] - PAGE_SHIFTS[level])) & SLOT_MASK
            table = self.child(upper, self.words[index])
            if table < 0:
                return index, upper
            index = table
        return index + (unit & SLOT_MASK), level

    def are_zero(self, index: int, count: int) -> bool:
        """Whether `count` words, at most a table, are all zero."""
        if count == 1:
            return not self.words[index]
        return self.words[index : index + count].tobytes() == _ZEROS[: count * ENTRY_SIZE]

    def destroy(self) -> None:
        """Give all table pages back, also those that damaged bits made unreachable."""
        for level, frames in enumerate(self.owned):
            self.give(level, sorted(frames))

    def require_alive(self) -> None:
        """Raise `InternalError` after `destroy`."""
        if not self.owned[ROOT_LEVEL]:
            raise InternalError("page tables used after they were destroyed")


def _runs_of(frames: list[int]) -> list[Run]:
    """Return ascending frames, at least one, as runs."""
    array = np.array(frames, np.int64)
    starts = np.flatnonzero(np.diff(array, prepend=-2) != 1)
    counts = np.diff(starts, append=len(array))
    return list(map(Run, array[starts].tolist(), counts.tolist()))
