"""All points there are, one module for the layers that belong together."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from firmware.inject.catalogue import (
    api,
    commands,
    device,
    dma,
    link,
    memory,
    mmu,
    peers,
    system,
)
from firmware.inject.errors import RuleError

if TYPE_CHECKING:
    from firmware.inject.point import Point


@cache
def points() -> dict[str, Point]:
    """Return all points by name, from the application down."""
    found = (
        *api.points(),
        *system.POINTS,
        *peers.POINTS,
        *link.POINTS,
        *commands.POINTS,
        *device.POINTS,
        *dma.POINTS,
        *mmu.POINTS,
        *memory.POINTS,
    )
    return {point.name: point for point in found}


@cache
def matching(pattern: str) -> tuple[Point, ...]:
    """Return the points that a glob selects.

    Raises:
        RuleError: none.
    """
    found = tuple(point for name, point in points().items() if fnmatchcase(name, pattern))
    if not found:
        near = get_close_matches(pattern, points(), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise RuleError(f"no point is called {pattern!r}; `emuzero faults list` shows all{meant}")
    return found
