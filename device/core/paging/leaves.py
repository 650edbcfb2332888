"""Which leaf sizes map an extent: the largest that alignment and the device allow, piece by piece.

A 64 KiB leaf stands on level 0 like a 4 KiB one, as sixteen entries with the contiguous bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from device.core.paging.bits import CONTIGUOUS, NULL
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, PageSizes
from firmware.abi.paging import FRAME_MASK, LEVELS

if TYPE_CHECKING:
    from device.core.paging.bits import Entries, Numbers


class Leaves(NamedTuple):
    """Leaves of one size, side by side, whose memory is consecutive (null: none)."""

    level: int
    unit: int
    """Number of the first entry: its address in units of what one entry of `level` covers."""
    entries: int
    """Entries of `level`, at least one."""
    entry: int
    """The first one; its neighbours follow by the size of a leaf, or are the same if null."""


class LeafColumns(NamedTuple):
    """Many `Leaves` of one level; the fields are arrays of equal length."""

    level: int
    unit: Numbers
    entries: Numbers
    entry: Entries

    def where(self, chosen: Numbers) -> LeafColumns:
        """Return some of them, in the order given."""
        return LeafColumns(self.level, self.unit[chosen], self.entries[chosen], self.entry[chosen])


class Rung(NamedTuple):
    """One leaf size of a device."""

    size: int
    level: int
    flags: int


Ladder: TypeAlias = tuple[Rung, ...]
"""The leaf sizes that are used, smallest first."""

_ALL_RUNGS: Final = (
    Rung(PageSizes.SMALL.value, 0, 0),
    Rung(PageSizes.MEDIUM.value, 0, CONTIGUOUS),
    Rung(PageSizes.LARGE.value, 1, 0),
    Rung(PageSizes.HUGE.value, 2, 0),
)


def ladder_of(page_sizes: PageSizes) -> Ladder:
    """Return the sizes to use. 1 GiB is used beside 2 MiB only, since it is split into that."""
    sizes = int(page_sizes) | PageSizes.SMALL
    if not sizes & PageSizes.LARGE:
        sizes &= ~PageSizes.HUGE
    return tuple(rung for rung in _ALL_RUNGS if sizes & rung.size)


def choose(va: int, size: int, entry: int, ladder: Ladder) -> list[Leaves]:
    """Return the leaves that map an extent, in the order of their addresses.

    `va` and `size` are whole pages; `entry` is the `Pte` of the first 4 KiB page.
    """
    if size == PAGE_SIZE:
        return [Leaves(0, va >> PAGE_SHIFT, 1, entry)]
    found: list[Leaves] = []
    _choose(found, va, va + size, entry, ladder)
    return found


def _choose(found: list[Leaves], start: int, stop: int, entry: int, ladder: Ladder) -> None:
    rungs = len(ladder)
    step = 0 if entry & NULL else 1
    misfit = ((start ^ entry) & FRAME_MASK) * step
    while rungs > 1:
        size, level, flags = ladder[rungs - 1]
        first = -(-start // size) * size
        last = stop // size * size
        if first < last and not misfit & (size - 1):
            break
        rungs -= 1
    else:
        size, level, flags = ladder[0]
        first, last = start, stop
    if start < first:
        _choose(found, start, first, entry, ladder[: rungs - 1])
    shift = LEVELS[level].shift
    first_entry = (entry + (first - start) * step) | flags
    found.append(Leaves(level, first >> shift, (last - first) >> shift, first_entry))
    if last < stop:
        _choose(found, last, stop, entry + (last - start) * step, ladder[: rungs - 1])


class _Stretch(NamedTuple):
    """Parts of extents for which a leaf size is still to be chosen."""

    start: Numbers
    stop: Numbers
    entry: Entries

    def where(self, chosen: Numbers) -> _Stretch:
        return _Stretch(self.start[chosen], self.stop[chosen], self.entry[chosen])

    def moved(self, start: Numbers, stop: Numbers) -> _Stretch:
        """Return the parts from `start` to `stop`, with the entries that map them."""
        distance = start - self.start
        distance[(self.entry & NULL) != 0] = 0
        return _Stretch(start, stop, self.entry + distance.view(np.uint64))


def choose_many(start: Numbers, stop: Numbers, entry: Entries, ladder: Ladder) -> list[LeafColumns]:
    """Return the leaves that map the addresses from `start` to `stop` of many extents.

    They are those that `choose` returns for each, in any order.
    """
    found: list[LeafColumns] = []
    rest = [_Stretch(start, stop, entry)]
    for rung in reversed(ladder[1:]):
        rest = [part for stretch in rest for part in _take_rung(found, stretch, rung)]
    for stretch in rest:
        _append(found, stretch, ladder[0])
    return found


def _take_rung(found: list[LeafColumns], stretch: _Stretch, rung: Rung) -> list[_Stretch]:
    """Add what leaves of this size can map to `found`; return the rest."""
    low_bits = rung.size - 1
    first = (stretch.start + low_bits) & ~low_bits
    last = stretch.stop & ~low_bits
    address = (stretch.entry & FRAME_MASK).view(np.int64)
    misfit = ((stretch.start ^ address) & low_bits != 0) & ((stretch.entry & NULL) == 0)
    fits = (first < last) & ~misfit
    if not fits.any():
        return [stretch]
    chosen = np.flatnonzero(fits)
    part, first, last = stretch.where(chosen), first[chosen], last[chosen]
    _append(found, part.moved(first, last), rung)
    rests = (
        stretch.where(np.flatnonzero(~fits)),
        part.moved(part.start, first).where(np.flatnonzero(part.start < first)),
        part.moved(last, part.stop).where(np.flatnonzero(last < part.stop)),
    )
    return [rest for rest in rests if len(rest.start)]


def _append(found: list[LeafColumns], stretch: _Stretch, rung: Rung) -> None:
    shift = LEVELS[rung.level].shift
    entries = (stretch.stop - stretch.start) >> shift
    entry = stretch.entry | np.uint64(rung.flags)
    found.append(LeafColumns(rung.level, stretch.start >> shift, entries, entry))
