"""Bits of page-table entries: masks, geometry, and what makes an entry malformed.

Masks are plain Python integers: they combine with scalars and with numpy arrays of uint64 alike.
All of them are positive, since a negative number does not fit such an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from firmware.abi.ids import PAGE_SHIFT, VA_BITS, PageSizes
from firmware.abi.paging import (
    CONTIGUOUS_ENTRIES,
    FRAME_MASK,
    LEVELS,
    RIGHTS_MASK,
    ROOT_LEVEL,
    TABLE_ENTRIES,
    Aperture,
    Pde,
    Pte,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Entries: TypeAlias = NDArray[np.uint64]
    """Page-table entries, as they stand in memory or one for each page."""
    Numbers: TypeAlias = NDArray[np.int64]
    """Page numbers, slots and word indices: everything that is no entry."""

ALL_BITS: Final = (1 << 64) - 1
VALID: Final = Pte.valid.mask
LEAF: Final = Pte.leaf.mask
VALID_LEAF: Final = VALID | LEAF
CONTIGUOUS: Final = Pte.contiguous.mask
NULL: Final = Pte.null.mask
APERTURE: Final = Pte.aperture.mask
APERTURE_SHIFT: Final = Pte.aperture.low
BUS: Final = Pte.aperture.of(Aperture.BUS)
PEER: Final = Pte.aperture.of(Aperture.PEER)
PEER_DEVICE: Final = Pte.peer.mask
RESERVED: Final = ALL_BITS ^ Pte.USED
NOT_FRAME: Final = ALL_BITS ^ FRAME_MASK
NOT_CONTIGUOUS: Final = ALL_BITS ^ CONTIGUOUS
NOT_RIGHTS: Final = ALL_BITS ^ RIGHTS_MASK
DIRECTORY: Final = Pde.valid.mask
"""All bits of a sound directory entry but its frame."""
PLACE: Final = FRAME_MASK | NULL
"""A sound page without any of these is the first of its aperture: it continues no other page,
though the last page of one peer and the first of the next look as if it did."""
UNUSUAL: Final = RESERVED | PEER | PEER_DEVICE | CONTIGUOUS | NULL | VALID_LEAF
"""An entry that has just VALID_LEAF of these is a 4 KiB leaf with nothing more to look at."""

SLOT_MASK: Final = TABLE_ENTRIES - 1
LEAF_BYTES: Final = tuple(1 << level.shift for level in LEVELS)
"""Bytes that one entry covers, by level."""
PAGE_SHIFTS: Final = tuple(level.shift - PAGE_SHIFT for level in LEVELS)
"""4 KiB pages that one entry covers, by level, as a power of two."""
GROUP_MASK: Final = CONTIGUOUS_ENTRIES - 1
GROUP_BYTES: Final = PageSizes.MEDIUM.value
PAGE_LIMIT: Final = 1 << (VA_BITS - PAGE_SHIFT)
"""First page number that does not exist."""

SLOTS: Final[Numbers] = np.arange(TABLE_ENTRIES, dtype=np.int64)
GROUP_SLOTS: Final[Numbers] = SLOTS[:CONTIGUOUS_ENTRIES]
GROUP_RAMP: Final[Entries] = GROUP_SLOTS.astype(np.uint64) << np.uint64(PAGE_SHIFT)
RAMPS: Final[tuple[Entries, ...]] = tuple(
    SLOTS.astype(np.uint64) << np.uint64(level.shift) for level in LEVELS
)
"""By level: what to add to the entry of slot 0 so that a whole table maps consecutive memory."""


def is_malformed(entry: int, level: int) -> bool:
    """Whether an entry, looked at alone, breaks the contract as the end of a walk at `level`.

    A directory entry that obeys the contract does not end a walk, so it is malformed here.
    """
    return bool(
        entry
        and (
            entry & VALID_LEAF != VALID_LEAF
            or level == ROOT_LEVEL
            or entry & RESERVED
            or entry & APERTURE == APERTURE
            or (entry & PEER_DEVICE and entry & APERTURE != PEER)
            or (entry & CONTIGUOUS and level)
            or (not entry & NULL and entry & FRAME_MASK & (LEAF_BYTES[level] - 1))
        )
    )


def are_malformed(entries: Entries, level: int) -> NDArray[np.bool_]:
    """`is_malformed` of many entries, at a level that may have leaves; zero counts as malformed."""
    aperture = entries & APERTURE
    misplaced = FRAME_MASK & (LEAF_BYTES[level] - 1)
    bad: NDArray[np.bool_] = (
        ((entries & VALID_LEAF) != VALID_LEAF)
        | ((entries & (RESERVED | (CONTIGUOUS if level else 0))) != 0)
        | (aperture == APERTURE)
        | (((entries & PEER_DEVICE) != 0) & (aperture != PEER))
        | (((entries & NULL) == 0) & ((entries & misplaced) != 0))
    )
    return bad


def leave_memory(entries: Entries, level: int, limit: int) -> NDArray[np.bool_]:
    """Which sound leaves reach beyond the end of VRAM, which is `limit` bytes."""
    local: NDArray[np.bool_] = (entries & (APERTURE | NULL)) == 0
    local &= (entries & FRAME_MASK) > limit - LEAF_BYTES[level]
    return local


def page_entry(entry: int, page: int) -> int:
    """Return the 4 KiB `Pte` of page number `page` inside the leaf `entry` covers from page 0."""
    if entry & NULL:
        return entry & NOT_CONTIGUOUS & NOT_FRAME
    return (entry & NOT_CONTIGUOUS) + (page << PAGE_SHIFT)


def page_entries(entries: Entries) -> Entries:
    """Return the 4 KiB `Pte` of the first page of each leaf."""
    pages = entries & np.uint64(NOT_CONTIGUOUS)
    null = (pages & NULL) != 0
    if null.any():
        pages[null] &= NOT_FRAME
    return pages
