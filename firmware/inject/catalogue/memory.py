"""Points of the memory controller."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import Correctable, Fail, Retire, Uncorrectable
from firmware.inject.point import Layer, Point, Side

POINTS: Final = (
    Point(
        "memory.allocate",
        Layer.MEMORY,
        Side.DEVICE,
        "frames are given out",
        (Fail,),
        Fail(),
        ("device", "size"),
    ),
    Point(
        "memory.access",
        Layer.MEMORY,
        Side.DEVICE,
        "an engine reads or writes VRAM",
        (Correctable, Uncorrectable, Retire),
        Uncorrectable(),
        ("device", "address", "size"),
    ),
)
"""Points of the memory controller. `address` is one of VRAM."""
