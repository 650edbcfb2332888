"""The walker for many pages at once: what `walker.walk` would find, computed with numpy.

Every function here tells which pages translate, and to what; `walk` says why the others do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from device.core.paging.bits import (
    BUS,
    CONTIGUOUS,
    DIRECTORY,
    GROUP_BYTES,
    GROUP_MASK,
    GROUP_RAMP,
    GROUP_SLOTS,
    NOT_CONTIGUOUS,
    NOT_FRAME,
    NULL,
    PAGE_LIMIT,
    PAGE_SHIFTS,
    RAMPS,
    SLOT_MASK,
    UNUSUAL,
    VALID_LEAF,
    are_malformed,
    leave_memory,
    page_entries,
)
from device.core.paging.walker import walk
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import (
    CONTIGUOUS_ENTRIES,
    FRAME_MASK,
    ROOT_LEVEL,
    TABLE_ENTRIES,
    TABLE_SHIFT,
    TABLE_SIZE,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.ports import Vram


def walk_pages(memory: Vram, root: int, first_vpn: int, count: int) -> tuple[Entries, int]:
    """Translate `count` consecutive pages, at least one.

    Returns:
        The 4 KiB `Pte` of each page, 0 where `walk` reports a fault; and the index of the first 0,
        or -1. The array belongs to the caller.
    """
    first_row = first_vpn >> TABLE_SHIFT
    stop_row = ((first_vpn + count - 1) >> TABLE_SHIFT) + 1
    rows = np.empty((stop_row - first_row, TABLE_ENTRIES), np.uint64)
    row = first_row
    while row < stop_row:
        window_stop = min((row | SLOT_MASK) + 1, stop_row)
        _read_window(memory, root, row, rows[row - first_row : window_stop - first_row])
        row = window_stop
    skip = first_vpn & SLOT_MASK
    # Whole groups, so that a torn one is seen although the range cuts it.
    groups = slice(skip & ~GROUP_MASK, (skip + count + GROUP_MASK) & ~GROUP_MASK)
    all_sound = keep_sound(rows.reshape(-1)[groups], len(memory.words) << 3)
    pages = rows.reshape(-1)[skip : skip + count]
    if all_sound:
        return pages, -1
    first_hole = int(np.argmin(pages))
    return pages, -1 if pages[first_hole] else first_hole


def walk_many(memory: Vram, root: int, vpns: Numbers) -> Entries:
    """Translate any pages; return the 4 KiB `Pte` of each, 0 where `walk` reports a fault."""
    limit = len(memory.words) << 3
    pages = np.zeros(len(vpns), np.uint64)
    rest = np.flatnonzero((vpns >= 0) & (vpns < PAGE_LIMIT))
    tables = np.full(len(rest), root, np.int64)
    for level in range(ROOT_LEVEL, -1, -1):
        index = (tables >> 3) + ((vpns[rest] >> PAGE_SHIFTS[level]) & SLOT_MASK)
        entries = memory.entries[index]
        onward = leads_on(entries, limit) & (level > 0)
        if level < ROOT_LEVEL and not onward.all():
            ends = ~onward
            where = rest[ends]
            pages[where] = leaf_pages(memory, index[ends], entries[ends], level, vpns[where])
        rest = rest[onward]
        tables = (entries[onward] & FRAME_MASK).view(np.int64)
    return pages


def keep_sound(pages: Entries, limit: int) -> bool:
    """Turn level-0 entries (whole groups) into 4 KiB entries in place; unsound ones become 0.

    Returns:
        True if all were sound; False if some may not have been.
    """
    union = int(np.bitwise_or.reduce(pages))
    common = int(np.bitwise_and.reduce(pages))
    # Sixteen or 262,144 entries that are all plain memory show it in these two numbers.
    plain = union & UNUSUAL & NOT_CONTIGUOUS == VALID_LEAF == common & VALID_LEAF
    if plain and (common & BUS or int(pages.max()) & FRAME_MASK < limit):
        if not union & CONTIGUOUS:
            return True
        if _all_consecutive(pages.reshape(-1, CONTIGUOUS_ENTRIES)):
            pages &= NOT_CONTIGUOUS
            return True
    bad = are_malformed(pages, 0) | leave_memory(pages, 0, limit)
    if union & CONTIGUOUS:
        groups = pages.reshape(-1, CONTIGUOUS_ENTRIES)
        torn = ~_intact(groups)[:, np.newaxis] & ((groups & CONTIGUOUS) != 0)
        bad |= torn.reshape(-1)
    pages[:] = page_entries(pages)
    pages[bad] = 0
    return not bad.any()


def _all_consecutive(groups: Entries) -> bool:
    """Whether every group maps 64 KiB of aligned memory with equal bits, contiguous or not."""
    first = groups[:, :1]
    aligned = not int(np.bitwise_or.reduce(first[:, 0])) & (GROUP_BYTES - PAGE_SIZE)
    return aligned and bool((groups == first + GROUP_RAMP).all())


def _intact(groups: Entries) -> NDArray[np.bool_]:
    """Which groups of sixteen entries form one 64 KiB leaf, null or not."""
    first = groups[:, :1]
    null = (first[:, 0] & NULL) != 0
    consecutive: NDArray[np.bool_] = (groups == first + GROUP_RAMP).all(axis=1)
    consecutive &= (first[:, 0] & (GROUP_BYTES - PAGE_SIZE)) == 0
    same: NDArray[np.bool_] = (((groups ^ first) & NOT_FRAME) == 0).all(axis=1)
    intact = np.where(null, same, consecutive)
    intact &= (first[:, 0] & CONTIGUOUS) != 0
    return intact


def leads_on(entries: Entries, limit: int) -> NDArray[np.bool_]:
    """Which entries are directory entries whose table lies in VRAM."""
    onward: NDArray[np.bool_] = (entries & NOT_FRAME) == DIRECTORY
    onward &= (entries & FRAME_MASK) <= limit - TABLE_SIZE
    return onward


def leaf_pages(
    memory: Vram, index: Numbers, entries: Entries, level: int, vpns: Numbers
) -> Entries:
    """Return the 4 KiB `Pte` of each page that its leaf gives it, or 0."""
    bad = are_malformed(entries, level) | leave_memory(entries, level, len(memory.words) << 3)
    pages = page_entries(entries)
    if level:
        inside = (vpns & ((1 << PAGE_SHIFTS[level]) - 1)) << PAGE_SHIFT
        inside[(entries & NULL) != 0] = 0
        pages += inside.view(np.uint64)
    else:
        grouped = np.flatnonzero((entries & CONTIGUOUS) != 0)
        group_index = (index[grouped] & ~GROUP_MASK)[:, np.newaxis] + GROUP_SLOTS
        bad[grouped] |= ~_intact(memory.entries[group_index])
    pages[bad] = 0
    return pages


def _read_window(memory: Vram, root: int, first_row: int, rows: Entries) -> None:
    """Fill rows with what stands for 2 MiB each, all of them below one entry of level 2."""
    vpn = first_row << TABLE_SHIFT
    table = _level_one_table(memory.words, root, vpn)
    if table < 0:
        page = walk(memory, root, vpn << PAGE_SHIFT).page
        rows[:] = page
        if page and not page & NULL:
            starts = np.arange(len(rows), dtype=np.uint64) << np.uint64(PAGE_SHIFT + TABLE_SHIFT)
            rows += starts[:, np.newaxis] + RAMPS[0]
        return
    index = (table >> 3) + (first_row & SLOT_MASK)
    directory = memory.entries[index : index + len(rows)]
    onward = leads_on(directory, len(memory.words) << 3)
    tables = memory.entries.reshape(-1, TABLE_ENTRIES)
    frames = ((directory & FRAME_MASK) >> np.uint64(PAGE_SHIFT)).view(np.int64)
    if onward.all():
        # `clip` only saves a copy: every frame is known to be inside.
        np.take(tables, frames, axis=0, out=rows, mode="clip")
        return
    rows[onward] = tables[frames[onward]]
    rows[~onward] = _large_leaves(directory[~onward], len(memory.words) << 3)


def _large_leaves(leaves: Entries, limit: int) -> Entries:
    """Return a row of 4 KiB entries for each leaf of 2 MiB; zeros for what is none."""
    rows = np.repeat(page_entries(leaves)[:, np.newaxis], TABLE_ENTRIES, axis=1)
    rows[(leaves & NULL) == 0] += RAMPS[0]
    rows[are_malformed(leaves, 1) | leave_memory(leaves, 1, limit)] = 0
    return rows


def _level_one_table(words: memoryview, root: int, vpn: int) -> int:
    """Return the byte address of the level-1 table for a page, or -1 if no table is there."""
    if vpn >= PAGE_LIMIT:
        return -1
    table = root
    for level in (3, 2):
        entry = words[(table >> 3) + ((vpn >> PAGE_SHIFTS[level]) & SLOT_MASK)]
        table = entry & FRAME_MASK
        if entry & NOT_FRAME != DIRECTORY or table > (len(words) << 3) - TABLE_SIZE:
            return -1
    return table
