"""Points of DMA: the transfers that engines make."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import Delay, Lose, Partial, WrongPage
from firmware.inject.point import Layer, Point, Side

POINTS: Final = (
    Point(
        "dma.transfer",
        Layer.DMA,
        Side.DEVICE,
        "an engine begins a copy or fill; `address` is where it writes",
        (Partial, Lose, WrongPage, Delay),
        Partial(),
        ("device", "pid", "process", "ring", "opcode", "address", "size"),
    ),
)
"""Points of DMA."""
