"""Cells: the runs of a sweep, one for each occurrence of each point that the program reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from firmware.inject import Rule, When, line_of, points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from firmware.inject import Coverage

RULE_NAME: Final = "sweep"
"""Name of the rule of a cell."""


class Cell(NamedTuple):
    """One run: a rule that fires at the nth site, and no other."""

    point: str
    nth: int
    """Counted from 1."""
    rule: Rule

    @property
    def line(self) -> str:
        """The rule as `--fault` takes it."""
        return line_of(self.rule)


def default_rules() -> tuple[Rule, ...]:
    """Return what a sweep does when nothing else is said: each point as it fails by itself."""
    return tuple(Rule(name, point.default) for name, point in points().items())


def plan(rules: Sequence[Rule], coverage: Coverage, most: int = 0) -> tuple[Cell, ...]:
    """Return the cells for rules, as often as their points were reached.

    Args:
        rules: what fails; their triggers are replaced by the number of the site.
        coverage: of a run in which everything was counted.
        most: cells of one rule and point, spread evenly, the first and the last among them; 0: all.
    """
    reached = {point.point: point.reached for point in coverage.points}
    return tuple(
        _cell(rule, point.name, nth)
        for rule in rules
        for point in rule.points
        for nth in spread(reached.get(point.name, 0), most)
    )


def spread(count: int, most: int) -> Iterator[int]:
    """Yield 1 to `count`, or `most` of them as far apart as they can be."""
    if most <= 0 or count <= most:
        yield from range(1, count + 1)
    elif most == 1:
        yield 1
    else:
        for step in range(most):
            yield 1 + step * (count - 1) // (most - 1)


def _cell(rule: Rule, point: str, nth: int) -> Cell:
    single = msgspec.structs.replace(rule, point=point, when=When(nth=nth), name="")
    return Cell(point, nth, single)
