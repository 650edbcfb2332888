"""Coverage: which points were reached, armed, fired, and recovered, and which never were."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from firmware.inject.catalogue import points

if TYPE_CHECKING:
    from collections.abc import Mapping


class PointCoverage(NamedTuple):
    """What became of one point."""

    point: str
    reached: int
    """Times it was reached while anybody counted."""
    armed: int
    """Rules that select it now."""
    fired: int
    """Times that a rule fired there."""
    recovered: int
    """Times that it was passed without a fault after one."""

    def joined(self, other: PointCoverage) -> PointCoverage:
        """Return the sum of what two processes counted."""
        return PointCoverage(
            self.point,
            self.reached + other.reached,
            max(self.armed, other.armed),
            self.fired + other.fired,
            self.recovered + other.recovered,
        )


class Coverage(NamedTuple):
    """What became of all points there are."""

    points: tuple[PointCoverage, ...]
    """In the order of the catalogue; every point is there."""

    @classmethod
    def of(cls, found: Mapping[str, PointCoverage]) -> Self:
        """Return the coverage of all points, of which `found` are not untouched."""
        return cls(tuple(found.get(name, PointCoverage(name, 0, 0, 0, 0)) for name in points()))

    @property
    def never_reached(self) -> tuple[str, ...]:
        """Names of the points that nobody reached."""
        return tuple(point.point for point in self.points if not point.reached)

    def joined(self, other: Coverage) -> Coverage:
        """Return the sum of what two processes counted."""
        return Coverage(
            tuple(one.joined(two) for one, two in zip(self.points, other.points, strict=True))
        )
