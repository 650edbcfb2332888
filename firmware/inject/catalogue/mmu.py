"""Points of the MMU: page-table entries, walks and the TLB."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import Drop, FailWalk, Flip, KeepStale
from firmware.inject.point import Layer, Point, Side

_SELECTORS: Final = ("device", "pid", "process", "address", "size", "level")

POINTS: Final = (
    Point(
        "mmu.entry",
        Layer.MMU,
        Side.DEVICE,
        "page-table entries of a range were written",
        (Flip,),
        Flip(),
        _SELECTORS,
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
