"""Points of the interface: one for each function, from the facts."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Final, cast

from firmware.inject.actions import Delay, FailLate, Refuse
from firmware.inject.point import Layer, Point, Side

_FACTS: Final = ("level_zero.json", "level_zero_sysman.json")
_SELECTORS: Final = ("pid", "process", "call", "thread", "driver")


@cache
def functions() -> tuple[str, ...]:
    """Return the names of all functions of the interface, in the order of the facts."""
    folder = resources.files("firmware") / "facts"
    found: list[str] = []
    for name in _FACTS:
        facts = cast("dict[str, object]", json.loads((folder / name).read_text("utf-8")))
        found.extend(cast("dict[str, object]", facts["functions"]))
    return tuple(found)


def points() -> tuple[Point, ...]:
    """Return the points of the interface."""
    return tuple(_point(name) for name in functions())


def _point(name: str) -> Point:
    return Point(
        f"api.{name}",
        Layer.API,
        Side.DRIVER,
        f"a call of {name}",
        (Refuse, FailLate, Delay),
        Refuse(),
        _SELECTORS,
    )
