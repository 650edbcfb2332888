"""The injector: told that a point is reached, it answers what to do there.

It is pure: time is an argument of its maker, chance is drawn from the seed. Occurrences are counted
for each rule and each point, so the same calls in the same order give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from firmware.inject.answers import Hit, RuleStatus, Standing
from firmware.inject.chance import draw, draw_bits
from firmware.inject.coverage import Coverage, PointCoverage
from firmware.inject.errors import RuleError
from firmware.inject.rule import FOREVER, address_range
from firmware.inject.words import line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from firmware.inject.rule import Rule
    from firmware.inject.site import Site

MOST_HITS: Final = 10_000
"""Hits that are kept; later ones are only counted."""


@final
@dataclass(slots=True, eq=False)
class _Armed:
    """A rule that is active, and its counts."""

    rule: Rule
    since: float
    points: frozenset[str]
    seen: int = 0
    fired: int = 0
    space: int = field(default=0)


@final
class Injector:
    """The rules of one process.

    Owner: what wraps the points, in one thread at a time. Invariant: every rule passed its `check`;
    names are unique; `fired` of a rule is at most its `times`.
    """

    __slots__ = (
        "_armed",
        "_clock",
        "_fired",
        "_hits",
        "_last_name",
        "_reached",
        "_recovered",
        "_recovering",
        "changes",
        "counts_all",
        "on_hit",
        "seed",
    )

    def __init__(self, clock: Callable[[], float], seed: int = 0) -> None:
        """Begin without rules.

        Args:
            clock: seconds from any start; never goes back.
            seed: of all chance.
        """
        self._clock = clock
        self.seed = seed
        self.changes = 0
        """Grows whenever a rule comes or goes; see `standing`."""
        self.counts_all = False
        """Whether points are to be counted that no rule selects; see `wants`."""
        self.on_hit: Callable[[Hit], None] | None = None
        """Told of every hit; it may not raise."""
        self._armed: dict[str, _Armed] = {}
        self._hits: list[Hit] = []
        self._fired: dict[str, int] = {}
        self._reached: dict[str, int] = {}
        self._recovering: set[str] = set()
        self._recovered: dict[str, int] = {}
        self._last_name = 0

    def add(self, rule: Rule, since: float | None = None) -> str:
        """Add a rule behind the others; return its name.

        Args:
            rule: what to add.
            since: the time from which `after_seconds` and `before_seconds` count; None: now.

        Raises:
            RuleError: it cannot be carried out, or its name is taken; nothing changed.
        """
        rule.check()
        name = rule.name or self._next_name()
        if name in self._armed:
            raise RuleError(f"there is a rule called {name!r} already: {self._line(name)}")
        points = frozenset(point.name for point in rule.points)
        start = self._clock() if since is None else since
        self._armed[name] = _Armed(rule, start, points, space=rule.when.space)
        self.changes += 1
        return name

    def remove(self, name: str) -> RuleStatus:
        """Remove a rule; return what became of it.

        Raises:
            RuleError: there is none of that name.
        """
        if name not in self._armed:
            there = ", ".join(self._armed) or "none"
            raise RuleError(f"no rule is called {name!r}; there are: {there}")
        status = self._status(name)
        del self._armed[name]
        self.changes += 1
        return status

    def clear(self) -> None:
        """Remove all rules; counts of points and hits stay."""
        self._armed.clear()
        self.changes += 1

    def forget(self) -> None:
        """Forget counts and hits; rules stay and count on."""
        self._hits.clear()
        for counts in (self._fired, self._reached, self._recovered):
            counts.clear()
        self._recovering.clear()

    def rules(self) -> tuple[RuleStatus, ...]:
        """Return the rules in their order."""
        return tuple(self._status(name) for name in self._armed)

    def standing(self, point: str) -> list[Standing]:
        """Return the rules on a point, in their order; the same while `changes` is."""
        return [
            Standing(name, armed.rule, armed.since + armed.rule.when.after_seconds)
            for name, armed in self._armed.items()
            if point in armed.points
        ]

    def has(self, name: str) -> bool:
        """Return whether there is a rule of that name: what it holds back is held until it goes."""
        return name in self._armed

    def hits(self) -> tuple[Hit, ...]:
        """Return the first `MOST_HITS` hits, of removed rules too."""
        return tuple(self._hits)

    def wants(self, points: Iterable[str]) -> bool:
        """Return whether any of these points has to be told to `ask` now."""
        if self.counts_all:
            return True
        return any(not armed.points.isdisjoint(points) for armed in self._armed.values())

    def ask(self, point: str, site: Site) -> Hit | None:
        """Count that a point is reached; return what to do there, or None.

        The first rule that fires decides; those behind it count the site and do not fire.
        """
        occurrence = self._reached[point] = self._reached.get(point, 0) + 1
        decided: tuple[str, _Armed] | None = None
        for name, armed in self._armed.items():
            if point not in armed.points or not armed.rule.selects(site):
                continue
            fires = self._decide(name, armed, site)
            if fires and decided is None:
                armed.fired += 1
                decided = name, armed
        if decided is None:
            if point in self._recovering:
                self._recovering.discard(point)
                self._recovered[point] = self._recovered.get(point, 0) + 1
            return None
        return self._hit(*decided, point, occurrence, site)

    def coverage(self) -> Coverage:
        """Return what was reached, armed, fired and recovered, for each point there is."""
        return Coverage.of(self.touched())

    def touched(self) -> dict[str, PointCoverage]:
        """Return the coverage of those points that were reached, or that a rule selects."""
        armed: dict[str, int] = {}
        for entry in self._armed.values():
            for point in entry.points:
                armed[point] = armed.get(point, 0) + 1
        return {
            name: PointCoverage(
                name,
                self._reached.get(name, 0),
                armed.get(name, 0),
                self._fired.get(name, 0),
                self._recovered.get(name, 0),
            )
            for name in self._reached.keys() | armed.keys() | self._fired.keys()
        }

    def _decide(self, name: str, armed: _Armed, site: Site) -> bool:
        """Count a site that a rule selects, and return whether its trigger fires there."""
        when = armed.rule.when
        if not self._is_time(when.after_rule, when.before_rule):
            return False
        age = self._clock() - armed.since
        if age < when.after_seconds or 0 < when.before_seconds < age:
            return False
        armed.seen += 1
        if when.sticky and armed.fired:
            return True
        if when.nth:
            return armed.seen == when.nth
        if armed.fired >= when.times != FOREVER:
            return False
        size = max(1, site.size)
        if armed.space >= size:
            armed.space -= size
            return False
        if armed.seen % when.interval:
            return False
        return when.probability >= 1 or draw(self.seed, name, armed.seen) < when.probability

    def _is_time(self, after_rule: str, before_rule: str) -> bool:
        """Return whether other rules have fired, or not, as a rule asks."""
        if after_rule and not self._has_fired(after_rule):
            return False
        return not before_rule or not self._has_fired(before_rule)

    def _has_fired(self, name: str) -> bool:
        armed = self._armed.get(name)
        return armed is not None and armed.fired > 0

    def _hit(self, name: str, armed: _Armed, point: str, occurrence: int, site: Site) -> Hit:
        self._fired[point] = self._fired.get(point, 0) + 1
        self._recovering.add(point)
        number = sum(self._fired.values())
        bits = draw_bits(self.seed, f"{name}/{point}", armed.fired)
        wanted = address_range(armed.rule.where.address)
        hit = Hit(
            number,
            self._clock(),
            name,
            point,
            occurrence,
            armed.rule.action,
            site,
            bits,
            max(site.address, wanted.start) if wanted else -1,
        )
        if len(self._hits) < MOST_HITS:
            self._hits.append(hit)
        if self.on_hit is not None:
            self.on_hit(hit)
        return hit

    def _next_name(self) -> str:
        while True:
            self._last_name += 1
            if (name := f"rule{self._last_name}") not in self._armed:
                return name

    def _line(self, name: str) -> str:
        return line_of(self._armed[name].rule)

    def _status(self, name: str) -> RuleStatus:
        armed = self._armed[name]
        return RuleStatus(name, self._line(name), armed.seen, armed.fired)
