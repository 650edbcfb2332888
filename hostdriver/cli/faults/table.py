"""The points there are, as JSON and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.inject import ACTIONS, Layer
from firmware.inject.actions import parameters, usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from firmware.inject import Point

_EACH_FUNCTION: Final = "told by `emuzero faults list 'api.*'`"


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
    """Yield lines for each point; functions of the interface are alike, and stand as one."""
    functions = [point for point in points if point.layer is Layer.API]
    others = [point for point in points if point.layer is not Layer.API]
    shown = [(point.layer, point.name, point.text, point.actions) for point in others]
    if functions:
        text = f"a call of the function: {len(functions)} of them, {_EACH_FUNCTION}"
        shown.insert(0, (Layer.API, "api.FUNCTION", text, functions[0].actions))
    width = max((len(name) for _, name, _, _ in shown), default=0)
    last = None
    for layer, name, text, actions in shown:
        if layer is not last:
            last = layer
            yield layer.value
        yield f"  {name:<{width}}  {text}"
        yield f"  {'':<{width}}  {', '.join(kind.WORD for kind in actions)}"


def point_lines(point: Point) -> Iterator[str]:
    """Yield all that is known of one point."""
    yield f"{point.name}: {point.text}"
    yield f"  layer      {point.layer}, in the {point.side}"
    yield f"  selectors  {', '.join(point.selectors) or 'none'}"
    for number, kind in enumerate(point.actions):
        yield f"  {'actions' if not number else '':<9}  {usage(kind)}"
        yield f"  {'':<9}    {kind.TEXT}"
