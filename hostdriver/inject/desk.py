"""The desk: answers requests about the rules of an emulator, without a socket.

All calls come from the thread that works at the points.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final, final

import msgspec

from firmware.inject import Rule, RuleError, Side, parse_rule, rule_of, words_of
from hostdriver.inject.messages import (
    MOST_AT_A_TIME,
    Add,
    Added,
    Clear,
    Count,
    CoverageList,
    Covered,
    Done,
    Follow,
    Halt,
    HitList,
    Hits,
    Order,
    Orders,
    Refused,
    Release,
    Remove,
    Report,
    RuleList,
    RuleRow,
    Rules,
    Seed,
    decode_request,
)
from hostdriver.inject.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.inject import Board, Hit, Injector, RuleStatus
    from firmware.inject.words import Scalar
    from hostdriver.inject.messages import Answer, Request

MOST_RULES: Final = 1_000
"""Rules at a time: each is asked at every site that it selects."""
_LOG: Final = logging.getLogger(__name__)


@final
class Kept(msgspec.Struct):
    """What the desk knows of a rule beside the injector."""

    rule: Rule
    serial: int
    since: float
    owner: object | None
    """Whose connection it goes with."""


@final
class Desk:
    """Rules come in here, and what became of them goes out.

    Owner: the control of an emulator. Invariants: `_kept` has the rules of the injector, in their
    order; the board was updated since the last change; a request that is refused changed nothing.
    """

    __slots__ = (
        "_board",
        "_clock",
        "_drivers",
        "_kept",
        "_pid",
        "_serials",
        "generation",
        "injector",
        "on_change",
        "on_hit",
        "tally",
    )

    def __init__(
        self, injector: Injector, board: Board, clock: Callable[[], float], pid: int
    ) -> None:
        """Serve an injector and its board; `clock` is the injector's, `pid` this process."""
        self.injector = injector
        self._board = board
        self._clock = clock
        self._pid = pid
        self._serials = itertools.count(1)
        self._kept: dict[str, Kept] = {}
        # How many drivers of each name have followed.
        self._drivers: Counter[str] = Counter()
        self.tally = Tally()
        self.generation = 0
        """Counts changes that drivers in processes of their own have to hear of."""
        self.on_change: Callable[[int], None] | None = None
        """Told of every new generation; it may not raise."""
        self.on_hit: Callable[[], None] | None = None
        """Told that there are hits or changed rules to be told of; it may not raise."""
        injector.on_hit = self._note

    def decode(self, line: bytes) -> Request | Refused:
        """Return the request in a line, or why it is none."""
        try:
            return decode_request(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Refused(text=f"no request: {error}")

    def answer(self, request: Request, talker: object, pid: int) -> Answer | None:
        """Carry a request out and return the answer, None where there is none.

        Args:
            request: what is asked.
            talker: who asks; `leave` removes what it holds.
            pid: its process.
        """
        try:
            match request:
                case Add():
                    return self._add(request, talker)
                case Remove() | Clear() | Release():
                    return self._take_out(request, talker)
                case Count() | Seed():
                    return self._switch(request)
                case Report():
                    self._take(request, pid)
                    return None
                case Halt():
                    return Done()
                case _:
                    return self._tell(request)
        except RuleError as error:
            return Refused(text=str(error))

    def _tell(self, request: Rules | Hits | Covered | Follow) -> Answer:
        match request:
            case Rules():
                return self._list(self._rows())
            case Hits():
                return self.hits(request)
            case Covered():
                points = self.tally.points(self.injector.touched())
                return CoverageList(points=points, drivers=self.tally.drivers())
            case Follow():
                return self._orders(request)

    def hits(self, request: Hits) -> HitList:
        """Return hits that a request asks for."""
        most = min(request.most, MOST_AT_A_TIME)
        return self.tally.find(msgspec.structs.replace(request, most=most))

    def add(self, rule: Rule, owner: object | None = None) -> str:
        """Add a rule; return its name. `update` is to be called behind the last one.

        Raises:
            RuleError: it cannot be carried out, its name is taken, there are too many.
        """
        if len(self._kept) >= MOST_RULES:
            raise RuleError(f"there are {MOST_RULES} rules already, and no room for more")
        since = self._clock()
        name = self.injector.add(rule, since)
        self._kept[name] = Kept(rule, next(self._serials), since, owner)
        return name

    def update(self) -> None:
        """Have wrappers as the rules want them, and drivers elsewhere hear of the rules."""
        try:
            self._board.update()
        except Exception:  # noqa: BLE001 - a bug in a wrapper costs nobody the emulator
            _LOG.exception("wrappers could not be put in or taken out")
        self.generation += 1
        if self.on_hit is not None:
            self.on_hit()
        if self.on_change is not None:
            self.on_change(self.generation)

    def leave(self, talker: object) -> None:
        """Remove what somebody holds who has left."""
        if any(kept.owner is talker for kept in self._kept.values()):
            self._take_out(Release(), talker)

    def close(self) -> None:
        """Remove all rules; wrappers let go of what they hold back."""
        self.injector.counts_all = False
        self._take_out(Clear())

    def _add(self, request: Add, talker: object) -> Added:
        rules: list[Rule] = []
        for number, entry in enumerate(request.rules, 1):
            try:
                rules.append(parse_rule(entry) if isinstance(entry, str) else rule_of(entry))
            except RuleError as error:
                place = f"rule {number}: " if len(request.rules) > 1 else ""
                raise RuleError(f"{place}{error}") from error
        names: list[str] = []
        owner = talker if request.hold else None
        try:
            for rule in rules:
                # One by one: those that were added are undone when the next cannot be.
                names += [self.add(rule, owner)]
        except RuleError:
            for name in names:
                self._drop(name)
            raise
        if request.seed is not None:
            self.injector.seed = request.seed
        self.update()
        return Added(names=names)

    def _take_out(self, request: Remove | Clear | Release, talker: object = None) -> RuleList:
        rows = self._rows()
        if isinstance(request, Release):
            rows = [row for row in rows if self._kept[row.name].owner is talker]
        elif isinstance(request, Remove):
            for name in request.names:
                if name not in self._kept:
                    there = ", ".join(self._kept) or "none"
                    raise RuleError(f"no rule is called {name!r}; there are: {there}")
            rows = [row for row in rows if row.name in request.names]
        elif request.forget:
            self.injector.forget()
            self.tally.forget()
        for row in rows:
            self._drop(row.name)
        self.update()
        return self._list(rows)

    def _drop(self, name: str) -> None:
        del self._kept[name]
        self.injector.remove(name)

    def _switch(self, request: Count | Seed) -> Done:
        if isinstance(request, Count):
            self.injector.counts_all = request.on
        else:
            self.injector.seed = request.seed
        self.update()
        return Done()

    def _list(self, rows: list[RuleRow]) -> RuleList:
        injector = self.injector
        return RuleList(seed=injector.seed, counting=injector.counts_all, rules=rows)

    def _rows(self) -> list[RuleRow]:
        return [self._row(status) for status in self.injector.rules()]

    def _row(self, status: RuleStatus) -> RuleRow:
        kept = self._kept[status.name]
        elsewhere = self.tally.counts_of(kept.serial)
        return RuleRow(
            name=status.name,
            line=status.line,
            seen=status.seen + elsewhere.seen,
            fired=status.fired + elsewhere.fired,
            held=kept.owner is not None,
        )

    def _orders(self, request: Follow) -> Orders:
        number = request.driver
        if not number:
            self._drivers[request.process] += 1
            number = self._drivers[request.process]
        orders = [
            Order(serial=kept.serial, name=name, words=_for_one(kept.rule), since=kept.since)
            for name, kept in self._kept.items()
            if kept.rule.where.driver in {None, number}
            and any(point.side is Side.DRIVER for point in kept.rule.points)
        ]
        return Orders(
            driver=number,
            generation=self.generation,
            seed=self.injector.seed,
            counting=self.injector.counts_all,
            seconds=self._clock(),
            rules=orders,
        )

    def _take(self, report: Report, pid: int) -> None:
        self.tally.take(report, pid)
        if report.hits and self.on_hit is not None:
            self.on_hit()

    def _note(self, hit: Hit) -> None:
        self.tally.note(hit, self._pid)
        if self.on_hit is not None:
            self.on_hit()


def _for_one(rule: Rule) -> dict[str, Scalar]:
    """Return the words of a rule for a driver that it selects, which does not know its number."""
    words = words_of(rule)
    words.pop("driver", None)
    return words
