"""The TLB: translations remembered until something else takes their place or they are invalidated.

It never looks at the page tables. What was cached stays visible after the tables have changed,
which is what makes a forgotten invalidate show, as on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from device.core.errors import InternalError, InvariantError
from device.core.paging.bits import (
    APERTURE,
    CONTIGUOUS,
    NULL,
    PAGE_LIMIT,
    RESERVED,
    VALID_LEAF,
)
from firmware.abi.paging import FRAME_MASK

if TYPE_CHECKING:
    from device.core.paging.bits import Entries, Numbers

EMPTY: Final = -1
"""Tag of a place that holds nothing; no page has this number."""
_SHORT: Final = 64
_NOTHING: Final = tuple(EMPTY.to_bytes(8, "little", signed=True) * n for n in range(_SHORT + 1))
"""The tags of so many empty places: what was never used is forgotten in a tenth of the time."""


@dataclass(frozen=True, slots=True)
class TlbStatistics:
    """Counters of one TLB."""

    hits: int
    """Translations found."""
    misses: int
    """Translations that needed a walk."""
    invalidations: int
    """Invalidate operations."""
    entries: int
    """Translations held now."""


@final
class Tlb:
    """A direct-mapped cache of 4 KiB translations: page `vpn` has place `vpn` modulo the size.

    Owner: one address space. Invariants: a place is empty (tag `EMPTY`, entry 0) or holds the sound
    4 KiB `Pte` of a page that belongs there; faults are never held. Nothing survives a device
    reset.

    `tags`, `pages` and `mask` are for the space's own loop over pages, which counts for itself
    with `count`.
    """

    __slots__ = (
        "_hits",
        "_invalidations",
        "_misses",
        "_page_array",
        "_tag_array",
        "mask",
        "pages",
        "size",
        "tags",
    )

    def __init__(self, entry_count: int) -> None:
        if entry_count < 1 or entry_count & (entry_count - 1):
            raise InternalError(f"TLB of {entry_count} entries, expected a power of two")
        self.size = entry_count
        self.mask = entry_count - 1
        self._tag_array: Numbers = np.full(entry_count, EMPTY, np.int64)
        self._page_array: Entries = np.zeros(entry_count, np.uint64)
        self.tags = self._tag_array.data
        self.pages = self._page_array.data
        self._hits = 0
        self._misses = 0
        self._invalidations = 0

    def lookup(self, vpn: int) -> int:
        """Return the cached entry of a page, or 0; count a hit or a miss."""
        place = vpn & self.mask
        if self.tags[place] == vpn:
            self._hits += 1
            return int(self.pages[place])
        self._misses += 1
        return 0

    def lookup_many(self, vpns: Numbers) -> Entries:
        """Return the cached entry of each page, or 0, as they are before any of them is filled."""
        places = vpns & self.mask
        found = np.where(self._tag_array[places] == vpns, self._page_array[places], np.uint64(0))
        hits = int(np.count_nonzero(found))
        self.count(hits, len(vpns) - hits)
        return found

    def peek_run(self, first_vpn: int, count: int) -> Entries:
        """Return what is cached for consecutive pages, at most `size` of them; count nothing."""
        place = first_vpn & self.mask
        head = min(count, self.size - place)
        found = np.empty(count, np.uint64)
        expected = np.arange(first_vpn, first_vpn + count)
        for begin, end, at in ((0, head, place), (head, count, 0)):
            hit = self._tag_array[at : at + end - begin] == expected[begin:end]
            np.multiply(self._page_array[at : at + end - begin], hit, out=found[begin:end])
        return found

    def count(self, hits: int, misses: int) -> None:
        """Count look-ups that did not go through `lookup`."""
        self._hits += hits
        self._misses += misses

    def fill(self, vpn: int, page: int) -> None:
        """Remember the sound 4 KiB `Pte` of a page; forget what had its place."""
        place = vpn & self.mask
        self.tags[place] = vpn
        self.pages[place] = page

    def fill_many(self, vpns: Numbers, pages: Entries) -> None:
        """Remember many pages as if filled one after another."""
        places = vpns & self.mask
        self._tag_array[places] = vpns
        self._page_array[places] = pages

    def fill_run(self, first_vpn: int, pages: Entries) -> None:
        """Remember consecutive pages as if filled one after another."""
        skip = max(len(pages) - self.size, 0)
        first_vpn += skip
        kept = pages[skip:]
        place = first_vpn & self.mask
        head = min(len(kept), self.size - place)
        for begin, end, at in ((0, head, place), (head, len(kept), 0)):
            self._tag_array[at : at + end - begin] = np.arange(first_vpn + begin, first_vpn + end)
            self._page_array[at : at + end - begin] = kept[begin:end]

    def invalidate_page(self, vpn: int) -> int:
        """Forget one page; return how many translations were held (0 or 1)."""
        self._invalidations += 1
        place = vpn & self.mask
        if self.tags[place] != vpn:
            return 0
        self.tags[place] = EMPTY
        self.pages[place] = 0
        return 1

    def invalidate_range(self, first_vpn: int, count: int) -> int:
        """Forget `count` consecutive pages; return how many translations were held."""
        self._invalidations += 1
        place = first_vpn & self.mask
        if count <= self.size - place:
            # The pages of a short range stand side by side: look nowhere else.
            if count <= _SHORT and self.tags[place : place + count].tobytes() == _NOTHING[count]:
                return 0
            return self._forget(place, place + count, first_vpn, count)
        return self._forget(0, self.size, first_vpn, count)

    def invalidate_all(self) -> int:
        """Forget everything; return how many translations were held."""
        self._invalidations += 1
        held = self._held
        self._tag_array.fill(EMPTY)
        self._page_array.fill(0)
        return held

    def statistics(self) -> TlbStatistics:
        """Return the counters."""
        return TlbStatistics(self._hits, self._misses, self._invalidations, self._held)

    def check(self) -> None:
        """Check the invariants.

        Raises:
            InvariantError: a place holds a page that does not belong there, or no sound entry.
        """
        places = np.flatnonzero(self._tag_array != EMPTY)
        tags = self._tag_array[places]
        pages = self._page_array[places]
        aperture = pages & APERTURE
        bad = (
            (tags < 0)
            | (tags >= PAGE_LIMIT)
            | ((tags & self.mask) != places)
            | ((pages & (VALID_LEAF | RESERVED | CONTIGUOUS)) != VALID_LEAF)
            | (aperture == APERTURE)
            | (((pages & NULL) != 0) & ((pages & FRAME_MASK) != 0))
        )
        if bad.any():
            place = int(places[bad][0])
            raise InvariantError(
                f"TLB place {place:#x} holds page {self.tags[place]:#x} "
                f"with entry {self.pages[place]:#018x}"
            )
        empty = self._tag_array == EMPTY
        if self._page_array[empty].any():
            raise InvariantError("TLB: an empty place holds an entry")

    @property
    def _held(self) -> int:
        return int(np.count_nonzero(self._tag_array != EMPTY))

    def _forget(self, begin: int, end: int, first_vpn: int, count: int) -> int:
        """Forget the pages of a range that stand in places `begin` to `end`."""
        tags = self._tag_array[begin:end]
        hit = (tags >= first_vpn) & (tags < first_vpn + count)
        held = int(np.count_nonzero(hit))
        if held:
            tags[hit] = EMPTY
            self._page_array[begin:end][hit] = 0
        return held
