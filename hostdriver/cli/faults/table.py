"""The points there are, as JSON and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.inject import ACTIONS
from firmware.inject.actions import parameters, usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from firmware.inject import Point


def point_document(point: Point) -> dict[str, object]:
    """Return one point as it is written in JSON (docs/faults.md)."""
    return {
        "point": point.name,
        "layer": point.layer.value,
        "side": point.side.value,
        "text": point.text,
        "actions": [kind.WORD for kind in point.actions],
        "default": point.default.WORD,
        "selectors": list(point.selectors),
    }


def points_document(points: Iterable[Point]) -> dict[str, object]:
    """Return points, and the actions that they take."""
    chosen = list(points)
    words = sorted({kind.WORD for point in chosen for kind in point.actions})
    return {
        "schema": 1,
        "points": [point_document(point) for point in chosen],
        "actions": [
            {
                "action": word,
                "text": ACTIONS[word].TEXT,
                "main": ACTIONS[word].MAIN or None,
                "parameters": [one._asdict() for one in parameters(ACTIONS[word])],
            }
            for word in words
        ],
    }


def list_lines(points: Sequence[Point]) -> Iterator[str]:
    """Yield a line for each point; functions of the interface, which are alike, are counted."""
    width = max((len(point.name) for point in points), default=0)
    layer = ""
    for point in points:
        if point.layer != layer:
            layer = point.layer
            yield f"{layer}"
        actions = ", ".join(kind.WORD for kind in point.actions)
        yield f"  {point.name:<{width}}  {point.text}"
        yield f"  {'':<{width}}  {actions}"


def point_lines(point: Point) -> Iterator[str]:
    """Yield all that is known of one point."""
    yield f"{point.name}: {point.text}"
    yield f"  layer      {point.layer}, in the {point.side}"
    yield f"  selectors  {', '.join(point.selectors) or 'none'}"
    for number, kind in enumerate(point.actions):
        yield f"  {'actions' if not number else '':<9}  {usage(kind)}"
        yield f"  {'':<9}    {kind.TEXT}"
