"""Mapping all or nothing, many extents at once: what `planning` does, with numpy.

No Python loop runs over extents, pages or tables; there are loops over the three levels that have
leaves and over blocks of entries, which bound the memory this takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from device.core.errors import DeviceError
from device.core.paging.bits import DIRECTORY, LEAF_BYTES, NOT_FRAME, NULL, PAGE_SHIFTS, SLOT_MASK
from device.core.paging.leaves import LeafColumns
from device.core.paging.segments import first_used
from device.core.paging.store import MISSING
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.paging import FRAME_MASK, ROOT_LEVEL, TABLE_SHIFT
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.store import TableStore

_BLOCK: Final = 1 << 17
"""Entries written by one numpy operation."""
_NO_NUMBERS: Final[Numbers] = np.zeros(0, np.int64)
_NO_ENTRIES: Final[Entries] = np.zeros(0, np.uint64)


@dataclass(slots=True)
class _LevelPlan:
    """What one level gets."""

    spans: LeafColumns
    """Leaves, each span inside of one table, sorted."""
    tables: Numbers
    """Units of all tables that are written or lie above such, sorted."""
    words: Numbers
    """First word of each of these tables; MISSING: to be made."""


@final
class BulkMapPlan:
    """What one `map` is going to write."""

    __slots__ = ("_levels", "_start", "_stop", "_store")

    def __init__(
        self, store: TableStore, start: Numbers, stop: Numbers, leaves: list[LeafColumns]
    ) -> None:
        """Plan to write `leaves`, which map pages `start[i]` to `stop[i]` (sorted, disjoint).

        Raises:
            DeviceError: OVERLAP, at the first address that is not free.
        """
        self._store = store
        self._start = start
        self._stop = stop
        below = _NO_NUMBERS
        self._levels: list[_LevelPlan] = []
        for level in range(ROOT_LEVEL):
            plan = _plan_level(level, [part for part in leaves if part.level == level], below)
            self._levels.append(plan)
            below = plan.tables
        conflicts = [*self._resolve(), *self._occupied()]
        if conflicts:
            used = min(first_used(store, low, high) for low, high in conflicts)
            raise DeviceError(Status.OVERLAP, used << PAGE_SHIFT)

    def commit(self) -> None:
        """Take table pages, write the entries, then link the fresh tables.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing was written.
        """
        fresh = [np.flatnonzero(plan.words < 0) for plan in self._levels]
        addresses = self._take(sum(map(len, fresh)))
        at = 0
        for plan, missing in zip(self._levels, fresh, strict=True):
            plan.words[missing] = addresses[at : at + len(missing)] >> 3
            at += len(missing)
        for plan in self._levels:
            self._write(plan)
        # Lower tables first: what a walker can reach is complete at any time.
        for plan, missing in zip(self._levels, fresh, strict=True):
            if len(missing):
                tables = plan.words[missing] << 3
                pointers = self._pointers(plan.spans.level, plan.tables[missing])
                self._store.entries[pointers] = tables.view(np.uint64) | np.uint64(DIRECTORY)
                self._store.owned[plan.spans.level].update((tables >> PAGE_SHIFT).tolist())

    def _take(self, count: int) -> Numbers:
        return np.array(self._store.take(count), np.int64) if count else _NO_NUMBERS

    def _pointers(self, level: int, tables: Numbers) -> Numbers:
        """Return the word that points to each table; negative if it is in a table to be made."""
        above = tables >> TABLE_SHIFT
        if level + 1 == ROOT_LEVEL:
            return (self._store.root >> 3) + (tables & SLOT_MASK)
        upper = self._levels[level + 1]
        words = upper.words[np.searchsorted(upper.tables, above)]
        return np.where(words < 0, MISSING, words + (tables & SLOT_MASK))

    def _resolve(self) -> Iterator[tuple[int, int]]:
        """Find the tables that exist, from the top; yield page ranges where none can be."""
        store = self._store
        for plan in reversed(self._levels):
            pointers = self._pointers(plan.spans.level, plan.tables)
            known = np.flatnonzero(pointers >= 0)
            entries = store.entries[pointers[known]]
            if not entries.any():
                continue
            frames = ((entries & FRAME_MASK) >> np.uint64(PAGE_SHIFT)).view(np.int64)
            owned = store.owned[plan.spans.level]
            ours = np.fromiter((frame in owned for frame in frames.tolist()), bool, len(frames))
            ours &= (entries & NOT_FRAME) == DIRECTORY
            plan.words[known[ours]] = frames[ours] << TABLE_SHIFT
            blocked = known[(entries != 0) & ~ours]
            if len(blocked):
                shift = PAGE_SHIFTS[plan.spans.level + 1]
                unit = int(plan.tables[blocked[0]])
                yield self._within(unit << shift, (unit + 1) << shift)

    def _within(self, low: int, high: int) -> tuple[int, int]:
        """Return the first pages of the request in a page range that the request touches."""
        first = int(np.searchsorted(self._stop, low, side="right"))
        return max(low, int(self._start[first])), min(high, int(self._stop[first]))

    def _occupied(self) -> Iterator[tuple[int, int]]:
        """Yield page ranges that are to be written and are not free."""
        for plan in self._levels:
            words = _span_words(plan)
            for spans, offset in _blocks(plan.spans.entries, words >= 0):
                used = self._store.entries[words[spans] + offset] != 0
                if used.any():
                    first = int(spans[np.argmax(used)])
                    shift = PAGE_SHIFTS[plan.spans.level]
                    unit = int(plan.spans.unit[first])
                    yield unit << shift, (unit + int(plan.spans.entries[first])) << shift
                    break

    def _write(self, plan: _LevelPlan) -> None:
        words = _span_words(plan)
        first = plan.spans.entry
        step = np.where((first & NULL) != 0, 0, LEAF_BYTES[plan.spans.level])
        for spans, offset in _blocks(plan.spans.entries):
            values = first[spans] + (offset * step[spans]).view(np.uint64)
            self._store.entries[words[spans] + offset] = values


def _plan_level(level: int, parts: list[LeafColumns], below: Numbers) -> _LevelPlan:
    """Return the plan of a level above the tables `below`, with no table found yet."""
    parts = [_cut(part) for part in parts]
    spans = LeafColumns(
        level,
        np.concatenate([_NO_NUMBERS, *(part.unit for part in parts)]),
        np.concatenate([_NO_NUMBERS, *(part.entries for part in parts)]),
        np.concatenate([_NO_ENTRIES, *(part.entry for part in parts)]),
    )
    if (spans.unit[1:] < spans.unit[:-1]).any():
        spans = spans.where(np.argsort(spans.unit, kind="stable"))
    tables = _unique(np.concatenate((spans.unit >> TABLE_SHIFT, below >> TABLE_SHIFT)))
    return _LevelPlan(spans, tables, np.full(len(tables), MISSING))


def _cut(part: LeafColumns) -> LeafColumns:
    """Cut leaves where tables end."""
    stop = part.unit + part.entries
    table = part.unit >> TABLE_SHIFT
    tables = (stop - 1 >> TABLE_SHIFT) - table + 1
    if (tables == 1).all():
        return part
    span = np.repeat(np.arange(len(tables)), tables)
    number = np.arange(len(span)) - (np.cumsum(tables) - tables)[span]
    table = table[span] + number
    low = np.maximum(table << TABLE_SHIFT, part.unit[span])
    high = np.minimum(table + 1 << TABLE_SHIFT, stop[span])
    moved = (low - part.unit[span]) * LEAF_BYTES[part.level]
    moved[(part.entry[span] & NULL) != 0] = 0
    return LeafColumns(part.level, low, high - low, part.entry[span] + moved.view(np.uint64))


def _unique(numbers: Numbers) -> Numbers:
    """Return the different numbers, sorted; quick if they are nearly sorted already."""
    numbers = np.sort(numbers, kind="stable")
    return numbers[np.flatnonzero(np.diff(numbers, prepend=MISSING))]


def _span_words(plan: _LevelPlan) -> Numbers:
    """Return the word where each span begins; negative in tables to be made."""
    unit = plan.spans.unit
    words = plan.words[np.searchsorted(plan.tables, unit >> TABLE_SHIFT)]
    return np.where(words < 0, MISSING, words + (unit & SLOT_MASK))


def _blocks(
    counts: Numbers, chosen: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield (number of the span, offset in it) for the entries of all (chosen) spans, in blocks."""
    spans = np.arange(len(counts)) if chosen is None else np.flatnonzero(chosen)
    counts = counts[spans]
    ends = np.cumsum(counts)
    first = 0
    while first < len(spans):
        done = int(ends[first] - counts[first])
        last = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), first + 1)
        part = counts[first:last]
        begins = ends[first:last] - part - done
        offset = np.arange(int(ends[last - 1]) - done) - np.repeat(begins, part)
        yield np.repeat(spans[first:last], part), offset
        first = last
