"""Describing a range as the walker sees it: its coalesced extents and its first hole.

Reads nothing but bits: it follows a directory entry wherever the walker would.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from device.core.paging.bits import (
    APERTURE,
    APERTURE_SHIFT,
    DIRECTORY,
    NOT_FRAME,
    NULL,
    PAGE_SHIFTS,
    PLACE,
)
from device.core.paging.segments import Segment, segments
from device.core.paging.walker import walk
from device.core.paging.wide import leaf_pages
from firmware.abi.control import TranslationExtent
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, Rights
from firmware.abi.paging import FRAME_MASK, RIGHTS_MASK, RIGHTS_SHIFT, ROOT_LEVEL, TABLE_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.ports import Vram

NULL_APERTURE: Final = 0xFFFF
"""`TranslationExtent.aperture` of null pages."""
_BLOCK: Final = 1 << 16
"""Entries looked at together."""


class Query(NamedTuple):
    """What QUERY tells about a range."""

    extents: list[TranslationExtent]
    """The first extents, as many as were asked for."""
    total: int
    """Extents of the whole range."""
    first_hole: int | None
    """First virtual address that does not translate."""


def query(memory: Vram, root: int, va: int, size: int, capacity: int) -> Query:
    """Describe a byte range below the end of the address space; `size` is at least 1."""
    start, stop = va >> PAGE_SHIFT, (va + size - 1 >> PAGE_SHIFT) + 1
    # As many runs as are told of, and those behind them in the same block: a range may have
    # millions, which are only counted.
    pages: list[int] = []
    firsts: list[int] = []
    total = 0
    first_hole: int | None = None
    expected = -1
    for block_firsts, block_pages, after in _runs(memory, root, start, stop):
        # The first run of a block may go on with the last one of the block before.
        skip = int(int(block_pages[0]) == expected)
        expected = after
        if total <= capacity:
            firsts += block_firsts[skip:].tolist()
            pages += block_pages[skip:].tolist()
        holes = block_firsts[skip:][block_pages[skip:] == 0]
        total += len(block_pages) - skip - len(holes)
        if first_hole is None and len(holes):
            first_hole = max(va, int(holes[0]) << PAGE_SHIFT)
    ends = [*firsts[1:], stop]
    extents: list[TranslationExtent] = []
    for first, page, end in zip(firsts, pages, ends, strict=True):
        if len(extents) == capacity:
            break
        if page:
            begin = max(va, first << PAGE_SHIFT)
            finish = min(va + size, end << PAGE_SHIFT)
            extents.append(_describe(memory, root, begin, finish - begin, page))
    return Query(extents, total, first_hole)


def _describe(memory: Vram, root: int, va: int, size: int, page: int) -> TranslationExtent:
    found = walk(memory, root, va)
    null = bool(page & NULL)
    return TranslationExtent(
        va=va,
        size_bytes=size,
        address=0 if null else (page & FRAME_MASK) | (va & (PAGE_SIZE - 1)),
        entry=found.entry,
        aperture=NULL_APERTURE if null else (page & APERTURE) >> APERTURE_SHIFT,
        level=found.level,
        rights=Rights((page & RIGHTS_MASK) >> RIGHTS_SHIFT),
    )


def _runs(memory: Vram, root: int, start: int, stop: int) -> Iterator[tuple[Numbers, Entries, int]]:
    """Yield, block by block, first page and first entry of each run; holes are runs of entry 0.

    The third value is the entry that would continue the last run.
    """
    limit = len(memory.words) << 3

    def follow(level: int, entry: int) -> int:
        table = entry & FRAME_MASK
        if not level or entry & NOT_FRAME != DIRECTORY or table > limit - TABLE_SIZE:
            return -1
        return table >> 3

    block: list[Segment] = []
    size = 0
    for segment in segments(memory, root, start, stop, follow):
        block.append(segment)
        size += segment.entries
        if size >= _BLOCK:
            yield _coalesce(memory, block, start)
            block, size = [], 0
    if block:
        yield _coalesce(memory, block, start)


def _coalesce(memory: Vram, block: list[Segment], start: int) -> tuple[Numbers, Entries, int]:
    """Return the runs of consecutive segments (see `_runs`)."""
    first, page, span = _translate(memory, block, start)
    step = np.where((page == 0) | ((page & NULL) != 0), 0, span << PAGE_SHIFT)
    after = page + step.view(np.uint64)
    breaks = np.ones(len(page), bool)
    breaks[1:] = (page[1:] != after[:-1]) | ((page[1:] & PLACE == 0) & (page[1:] != 0))
    starts = np.flatnonzero(breaks)
    return first[starts], page[starts], int(after[-1])


def _translate(memory: Vram, block: list[Segment], start: int) -> tuple[Numbers, Entries, Numbers]:
    """Return for each entry: first page in the range, its 4 KiB `Pte` or 0, pages from there on."""
    counts = [segment.entries for segment in block]
    numbers = np.repeat(np.arange(len(block)), counts)
    before = np.array([0, *accumulate(counts[:-1])], np.int64)
    offset = np.arange(len(numbers)) - before[numbers]
    table = np.array(block, np.int64)
    level = table[numbers, 0]
    word = table[numbers, 1] + offset
    shift = np.array(PAGE_SHIFTS)[level]
    unit = table[numbers, 2] + offset
    first = np.maximum(unit << shift, start)
    page = np.zeros(len(numbers), np.uint64)
    entries = memory.entries[word]
    for number in range(ROOT_LEVEL):
        here = np.flatnonzero(level == number)
        if len(here):
            page[here] = leaf_pages(memory, word[here], entries[here], number, first[here])
    return first, page, (unit + 1 << shift) - first
