"""Physical extents out of translated pages: neighbours that continue each other become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from device.core.memory.extents import Columns, Extents
from device.core.paging.bits import (
    APERTURE,
    APERTURE_SHIFT,
    NULL,
    PEER,
    PLACE,
)
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import FRAME_MASK, RIGHTS_MASK, RIGHTS_SHIFT

if TYPE_CHECKING:
    from device.core.paging.bits import Entries, Numbers


def run_starts(pages: Entries) -> Numbers:
    """Return the index of each page that does not continue the page before it, 0 first.

    `pages` are 4 KiB entries of consecutive pages, at least one, all of them sound. A run has
    equal attributes and consecutive frames, or is null throughout.
    """
    breaks = np.ones(len(pages), bool)
    step = pages[1:] - pages[:-1]
    np.not_equal(step, PAGE_SIZE, out=breaks[1:])
    union = int(np.bitwise_or.reduce(pages))
    if union & NULL:
        breaks[1:] &= (step != 0) | ((pages[1:] & NULL) == 0)
    if union & PEER:
        breaks[1:] |= (pages[1:] & PLACE) == 0
    return np.flatnonzero(breaks)


@final
class ExtentCollector:
    """Gathers the pages of one byte range, window by window, into coalesced extents."""

    def __init__(self, va: int, size: int) -> None:
        self._va = va
        self._size = size
        self._windows: list[tuple[Numbers, Entries]] = []
        """First page of each run, and its entry."""
        self._next_page = 0
        """Entry that would continue the last run."""

    def add(self, first_vpn: int, pages: Entries) -> None:
        """Add sound 4 KiB entries; `first_vpn` follows the last page added before."""
        starts = run_starts(pages)
        first, last = int(pages[0]), int(pages[-1])
        if first == self._next_page and first & PLACE:
            starts = starts[1:]
        self._next_page = last if last & NULL else last + PAGE_SIZE
        if len(starts) != len(pages):
            pages = pages[starts]
        starts += first_vpn
        self._windows.append((starts, pages))

    def extents(self) -> Extents:
        """Return the extents of the range, whose pages were all added."""
        count = sum(len(starts) for starts, _ in self._windows)
        # One block: many large ones cost a page fault for every 4 KiB each time.
        va, size, address = np.empty((3, count), np.uint64)
        aperture, rights = np.empty((2, count), np.uint8)
        null = np.empty(count, np.bool_)
        at = 0
        for starts, pages in self._windows:
            part = slice(at, at + len(starts))
            at += len(starts)
            np.left_shift(starts.view(np.uint64), np.uint64(PAGE_SHIFT), out=va[part])
            np.bitwise_and(pages, np.uint64(FRAME_MASK), out=address[part])
            low = pages.astype(np.uint16)
            aperture[part] = (low & APERTURE) >> APERTURE_SHIFT
            rights[part] = (low & RIGHTS_MASK) >> RIGHTS_SHIFT
            null[part] = (low & NULL) != 0
        va[0] = self._va
        if not null[0]:
            address[0] |= np.uint64(self._va & (PAGE_SIZE - 1))
        np.subtract(va[1:], va[:-1], out=size[:-1])
        size[-1] = self._va + self._size - int(va[-1])
        return Extents.from_columns(Columns(va, size, address, aperture, rights, null))
