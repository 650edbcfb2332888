"""Points of commands: their bytes as the device takes them from a ring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import CONTROL_COMMANDS
from firmware.abi.work import WORK_COMMANDS
from firmware.inject.actions import BadLength, BadOpcode, Drop, Flip, Repeat, Set
from firmware.inject.point import Layer, Point, Side

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firmware.abi import Record

_SELECTORS: Final = ("device", "pid", "process", "ring", "opcode", "address", "size", "object")
_ACTIONS: Final = (Flip, Set, BadOpcode, BadLength, Drop, Repeat)


def _fields(commands: Mapping[int, type[Record]]) -> tuple[str, ...]:
    """Return the names of all fields of commands."""
    return tuple(sorted({field.name for one in commands.values() for field in one.FIELDS}))


POINTS: Final = (
    Point(
        "command.control",
        Layer.COMMAND,
        Side.DEVICE,
        "the device takes a command from a control ring; a dropped one is carried out when the rule"
        " goes",
        _ACTIONS,
        BadOpcode(),
        _SELECTORS,
        _fields(CONTROL_COMMANDS),
    ),
    Point(
        "command.work",
        Layer.COMMAND,
        Side.DEVICE,
        "the device takes a command from a work ring; a dropped one counts and does nothing, but a"
        " fence is signalled when the rule goes",
        _ACTIONS,
        BadOpcode(),
        _SELECTORS,
        _fields(WORK_COMMANDS),
    ),
)
"""Points of commands."""
