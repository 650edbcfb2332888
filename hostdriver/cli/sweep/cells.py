"""Cells: the runs of a sweep, one for each occurrence of each point that the program reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from firmware.inject import Rule, When, Where, line_of, points
from firmware.inject.chance import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from firmware.inject import Coverage
    from hostdriver.inject.messages import DriverRow

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


def plan(
    rules: Sequence[Rule],
    coverage: Coverage,
    drivers: Sequence[DriverRow] = (),
    most: int = 0,
    seed: int = 0,
) -> tuple[Cell, ...]:
    """Return the cells for rules, as often as their points were reached.

    Drivers in processes of their own count for themselves. Where several processes reach a point,
    each has cells of its own, whose rules select it.

    Args:
        rules: what fails; their triggers are replaced by the number of the site.
        coverage: of a run in which everything was counted.
        drivers: what of it each driver in a process of its own reached.
        most: cells of one rule, point and process, the first and the last among them; 0: all.
        seed: of the choice between the first and the last.
    """
    reached = {point.point: point.reached for point in coverage.points}
    return tuple(
        _cell(rule, point.name, part.where, nth)
        for rule in rules
        for point in rule.points
        for part in _parts(rule.where, point.name, reached.get(point.name, 0), drivers)
        for nth in spread(part.reached, most, seed, point.name)
    )


class _Part(NamedTuple):
    """Sites of a point that one process counts."""

    where: Where
    """What selects them."""
    reached: int


def _parts(where: Where, point: str, reached: int, drivers: Sequence[DriverRow]) -> list[_Part]:
    """Return the sites of a point, those of each process by themselves."""
    counts = {(row.process, row.driver): row.points.get(point, 0) for row in drivers}
    counts[("", 0)] = reached - sum(counts.values())
    counts = {who: count for who, count in counts.items() if count > 0}
    if len(counts) < 2 or where.process or where.driver is not None:
        # A rule that selects a process already counts there alone.
        return [_Part(where, max(counts.values(), default=0))]
    names = {process for process, number in counts if number}
    return [
        _Part(
            msgspec.structs.replace(
                where,
                driver=number,
                process=_glob_of(process) if number and len(names) > 1 else "",
            ),
            count,
        )
        for (process, number), count in sorted(counts.items())
    ]


def _glob_of(name: str) -> str:
    """Return the glob that selects a name and nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def spread(count: int, most: int, seed: int, name: str) -> Iterator[int]:
    """Yield 1 to `count`, or `most` of them.

    These are the first, the last, and between them one from each of as many equal parts, which
    seed and name draw: other seeds try other sites.
    """
    if most <= 0 or count <= most:
        yield from range(1, count + 1)
        return
    yield 1
    parts = most - 2
    for part in range(parts):
        start, end = (2 + edge * (count - 2) // parts for edge in (part, part + 1))
        yield start + int(draw(seed, name, part) * (end - start))
    if most > 1:
        yield count


def _cell(rule: Rule, point: str, where: Where, nth: int) -> Cell:
    single = Rule(point, rule.action, where, When(nth=nth))
    return Cell(point, nth, single)
