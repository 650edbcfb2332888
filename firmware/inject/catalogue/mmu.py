"""Points of the MMU: page-table entries, walks and the TLB."""

from __future__ import annotations

from typing import Final

from firmware.abi.paging import Pte
from firmware.inject.actions import Drop, FailWalk, Flip, KeepStale
from firmware.inject.point import Layer, Point, Side

_SELECTORS: Final = ("device", "pid", "process", "address", "size", "level")

POINTS: Final = (
    Point(
        "mmu.entry",
        Layer.MMU,
        Side.DEVICE,
        "entries of a range were written: mapped, or with new rights; level 0 to 3",
        (Flip,),
        Flip(),
        _SELECTORS,
        tuple(field.name for field in Pte.FIELDS),
    ),
    Point(
        "mmu.walk",
        Layer.MMU,
        Side.DEVICE,
        "an address is looked up in the page tables",
        (FailWalk,),
        FailWalk(),
        _SELECTORS,
    ),
    Point(
        "mmu.invalidate",
        Layer.MMU,
        Side.DEVICE,
        "a TLB is told to forget a range",
        (KeepStale, Drop),
        KeepStale(),
        _SELECTORS,
    ),
)
"""Points of the MMU; dropping an invalidation loses its acknowledgement."""
