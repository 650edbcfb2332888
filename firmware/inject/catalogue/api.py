"""Points of the interface: one for each function, from the facts."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Final, NamedTuple, cast

from firmware.inject.actions import Delay, FailLate, Refuse
from firmware.inject.point import Layer, Point, Side

_FACTS: Final = ("level_zero.json", "level_zero_sysman.json")
_RESULT: Final = "ze_result_t"
_NO_RESULT: Final = "ZE_RESULT_FORCE_UINT32"
"""Member that only makes the type as wide as it is."""
_SELECTORS: Final = ("pid", "process", "call", "thread", "driver")


class _Names(NamedTuple):
    functions: tuple[str, ...]
    results: tuple[str, ...]


def functions() -> tuple[str, ...]:
    """Return the names of all functions of the interface, in the order of the facts."""
    return _names().functions


def results() -> tuple[str, ...]:
    """Return the names of all results (`ze_result_t`), in the order of the facts."""
    return _names().results


@cache
def _names() -> _Names:
    """Return the names in the facts, which take long to read."""
    folder = resources.files("firmware") / "facts"
    functions: list[str] = []
    results: list[str] = []
    for name in _FACTS:
        facts = cast("dict[str, object]", json.loads((folder / name).read_text("utf-8")))
        functions.extend(cast("dict[str, object]", facts["functions"]))
        enums = cast("dict[str, dict[str, int]]", facts.get("enums", {}))
        results.extend(one for one in enums.get(_RESULT, {}) if one != _NO_RESULT)
    return _Names(tuple(functions), tuple(results))


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
