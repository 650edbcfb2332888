"""Points of commands: their bytes as the device takes them from a ring."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import BadLength, BadOpcode, Drop, Flip, Repeat, Set
from firmware.inject.point import Layer, Point, Side

_SELECTORS: Final = ("device", "pid", "process", "ring", "opcode", "address", "size", "object")
_ACTIONS: Final = (Flip, Set, BadOpcode, BadLength, Drop, Repeat)

POINTS: Final = (
    Point(
        "command.control",
        Layer.COMMAND,
        Side.DEVICE,
        "the device takes a command from a control ring",
        _ACTIONS,
        BadOpcode(),
        _SELECTORS,
    ),
    Point(
        "command.work",
        Layer.COMMAND,
        Side.DEVICE,
        "the device takes a command from a work ring",
        _ACTIONS,
        BadOpcode(),
        _SELECTORS,
    ),
)
"""Points of commands."""
