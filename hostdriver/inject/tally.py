"""What became of rules and points in all processes together, and the hits as they came."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple, final

import msgspec

from firmware.inject import PointCoverage
from firmware.inject.injector import MOST_HITS
from hostdriver.inject.messages import DriverRow, HitList, HitRow, PointRow, row_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firmware.inject import Hit
    from hostdriver.inject.messages import Hits, Report

MOST_LOOKED_AT: Final = 2_000
"""Hits that one answer looks at, so that nobody waits long for it."""


class RuleCounts(NamedTuple):
    """What became of a rule."""

    seen: int
    fired: int


@final
class Tally:
    """Hits of all processes, and the counts of those beside this one.

    Owner: the desk. Invariant: hits are numbered without gaps, in the order in which they came.
    """

    __slots__ = ("_drivers", "_hits", "_points", "_rules", "total")

    def __init__(self) -> None:
        self._hits: list[HitRow] = []
        self.total = 0
        """Hits so far; the first `MOST_HITS` are kept."""
        self._points: dict[str, PointCoverage] = {}
        self._rules: dict[int, RuleCounts] = {}
        self._drivers: dict[tuple[str, int], dict[str, int]] = {}

    def note(self, hit: Hit, by: int) -> None:
        """Note a hit of this process, whose number is `by`."""
        self.total += 1
        if len(self._hits) < MOST_HITS:
            self._hits.append(row_of(hit, self.total, by))

    def take(self, report: Report, by: int) -> None:
        """Note what process `by` tells."""
        for hit in report.hits:
            self.total += 1
            if len(self._hits) < MOST_HITS:
                self._hits.append(msgspec.structs.replace(hit, number=self.total, by=by))
        for point, counts in report.points.items():
            self._add(PointCoverage(point, counts[0], 0, counts[1], counts[2]))
            own = self._drivers.setdefault((report.process, report.driver), {})
            own[point] = own.get(point, 0) + counts[0]
        for serial, (seen, fired) in report.rules.items():
            before = self.counts_of(serial)
            self._rules[serial] = RuleCounts(before.seen + seen, before.fired + fired)

    def _add(self, counts: PointCoverage) -> None:
        before = self._points.get(counts.point)
        self._points[counts.point] = counts if before is None else before.joined(counts)

    def counts_of(self, serial: int) -> RuleCounts:
        """Return what became of a rule in the other processes."""
        return self._rules.get(serial, RuleCounts(0, 0))

    def points(self, here: Mapping[str, PointCoverage]) -> list[PointRow]:
        """Return what became of points in all processes, of which this one counted `here`."""
        rows: list[PointRow] = []
        for name in sorted(here.keys() | self._points.keys()):
            nothing = PointCoverage(name, 0, 0, 0, 0)
            both = here.get(name, nothing).joined(self._points.get(name, nothing))
            rows.append(PointRow(*both))
        return rows

    def drivers(self) -> list[DriverRow]:
        """Return what each driver beside this process reached."""
        return [
            DriverRow(process=process, driver=number, points=dict(sorted(points.items())))
            for (process, number), points in sorted(self._drivers.items())
        ]

    def find(self, wanted: Hits) -> HitList:
        """Return hits that a request asks for, as many as one answer holds."""
        found: list[HitRow] = []
        start = max(0, wanted.after)
        last = start
        for hit in self._hits[start : start + MOST_LOOKED_AT]:
            if len(found) >= max(1, wanted.most):
                break
            last = hit.number
            if _is_like(hit.rule, wanted.rule) and _is_like(hit.point, wanted.point):
                found.append(hit)
        return HitList(hits=found, last=last, total=self.total)

    def forget(self) -> None:
        """Forget everything, as `Injector.forget` does; counts of rules stay."""
        self._hits.clear()
        self._points.clear()
        self._drivers.clear()
        self.total = 0


def _is_like(name: str, pattern: str) -> bool:
    return not pattern or fnmatchcase(name, pattern)
