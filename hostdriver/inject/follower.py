"""The rules of an emulator in a process beside it: taken there, and told what became of them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, final

import msgspec

from firmware.inject import Board, Injector, RuleError, rule_of
from firmware.link.client import open_talk
from firmware.link.errors import ContractError, LinkError
from firmware.link.lines import Lines
from hostdriver.inject.holding import FOREVER
from hostdriver.inject.messages import Follow, Halt, Orders, Report, decode_answer, encode, row_of

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from firmware.inject import Hit
    from hostdriver.inject.messages import HitRow

PATIENCE_SECONDS: Final = 5.0
"""How long an emulator may take to read or to answer."""
_LOG: Final = logging.getLogger(__name__)


@final
class Follower:
    """An injector and a board with the rules of an emulator elsewhere.

    Owner: whoever follows; one thread at a time, or under a lock that is held, too, while the
    injector is asked. Invariants: `_names` has the injector's rules by serial number; what was
    counted up to `_told` and `_points` has been told. When the talk breaks there are no rules here
    any more, and nothing raises.
    """

    def __init__(self, path: Path, name: str, pid: int) -> None:
        """Begin with the rules that there are.

        Args:
            path: the emulator's socket.
            name: what this program is called.
            pid: this process.

        Raises:
            LinkError, OSError: no emulator, or it takes no rules; nothing is left open.
        """
        self._pid = pid
        self._process = name
        self.number = 0
        """Of this driver among those of its name; 0: the emulator has not said it yet."""
        self._talk = open_talk(path, name)
        self._talk.settimeout(PATIENCE_SECONDS)
        self._lines = Lines(self._talk, waits=True)
        self.generation = -1
        """The state of the rules that is in force here."""
        self.is_lost = False
        self.is_closed = False
        """Whether nobody follows here any more."""
        self._names: dict[int, str] = {}
        self._told: dict[int, tuple[int, int]] = {}
        self._points: dict[str, tuple[int, int, int]] = {}
        try:
            orders = self._ask()
        except BaseException:
            self._talk.close()
            raise
        self._ahead = orders.seconds - time.monotonic()
        self.injector = Injector(self._clock, orders.seed)
        self.injector.on_hit = self._note
        self.board = Board(self.injector)
        self.take(orders)

    def _clock(self) -> float:
        """Return the emulator's time."""
        return time.monotonic() + self._ahead

    def take(self, orders: Orders) -> None:
        """Have the rules of some orders in force, unless later ones are already."""
        if orders.generation <= self.generation or not self._tells():
            return
        self.generation = orders.generation
        wanted = {order.serial for order in orders.rules}
        for serial in [serial for serial in self._names if serial not in wanted]:
            self.injector.remove(self._names.pop(serial))
            self._told.pop(serial, None)
        for order in orders.rules:
            if order.serial not in self._names:
                try:
                    rule = rule_of({**order.words, "name": order.name})
                    # This clock is late by as long as the first answer took: no rule begins later.
                    since = min(order.since, self._clock())
                    self._names[order.serial] = self.injector.add(rule, since)
                except RuleError as error:
                    _LOG.warning("rule %s is not in force here: %s", order.name, error)
        self.injector.seed = orders.seed
        self.injector.counts_all = orders.counting
        self.board.update()

    def catch_up(self) -> None:
        """Take the rules as they are now."""
        if self.is_lost:
            return
        try:
            orders = self._ask()
        except (LinkError, OSError) as problem:
            self.lose(problem)
            return
        self.take(orders)

    def halt(self, hit: Hit, seconds: float) -> None:
        """Stand still, as a process that is stopped, for so long, or until the rule is gone.

        Whoever has no emulator any more does not.
        """
        if self.is_lost:
            return
        asked = None if seconds == FOREVER else seconds
        self._talk.settimeout(None)
        try:
            self._lines.push(encode(Halt(rule=hit.rule, point=hit.point, seconds=asked)))
            self._hear()
            self._talk.settimeout(PATIENCE_SECONDS)
        except (LinkError, OSError) as problem:
            self.lose(problem)
        except BaseException:
            # An answer that is under way would be taken for that of another question.
            self.abandon()
            raise

    def tell(self) -> None:
        """Tell what happened since this was called last."""
        if not self.is_lost:
            self._report([])

    def _tells(self) -> bool:
        """Tell, and return whether the talk is whole."""
        self.tell()
        return not self.is_lost

    def lose(self, problem: Exception) -> None:
        """Go on without rules: the talk is broken."""
        if self.is_lost:
            return
        _LOG.warning("emuzero: process %d follows no rules any more: %s", self._pid, problem)
        self.abandon()

    def close(self) -> None:
        """Tell the last, and end the talk; the wrappers are out afterwards. Twice is once."""
        self.tell()
        self.is_closed = True
        self.abandon()

    def abandon(self) -> None:
        """End without a word, as a child does with its parent's."""
        self.is_lost = True
        self._talk.close()
        self._names.clear()
        self.injector.clear()
        self.injector.counts_all = False
        self.board.update()

    def _note(self, hit: Hit) -> None:
        """Tell of a hit at once: the process may not live longer."""
        self._report([row_of(hit, 0, self._pid)])

    def _report(self, hits: list[HitRow]) -> None:
        points, rules = self._new_points(), self._new_counts()
        if self.is_lost or not (hits or points or rules):
            return
        report = Report(
            hits=hits, points=points, rules=rules, process=self._process, driver=self.number
        )
        try:
            self._lines.push(encode(report))
        except (LinkError, OSError) as problem:
            self.lose(problem)

    def _new_points(self) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for name, point in self.injector.touched().items():
            now = point.reached, point.fired, point.recovered
            before = self._points.get(name, (0, 0, 0))
            if now != before:
                found[name] = (now[0] - before[0], now[1] - before[1], now[2] - before[2])
                self._points[name] = now
        return found

    def _new_counts(self) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        rows = {row.name: row for row in self.injector.rules()}
        for serial, name in self._names.items():
            now = rows[name].seen, rows[name].fired
            before = self._told.get(serial, (0, 0))
            if now != before:
                found[serial] = (now[0] - before[0], now[1] - before[1])
                self._told[serial] = now
        return found

    def _ask(self) -> Orders:
        """Return the rules as they are now.

        Raises:
            LinkError, OSError: the emulator is gone, answers something else, or nothing in time.
        """
        self._lines.push(encode(Follow(process=self._process, driver=self.number)))
        orders = orders_in(self._hear())
        self.number = orders.driver
        return orders

    def _hear(self) -> bytes:
        """Return the next answer."""
        line = None
        while line is None:
            line = self._lines.pull()
        return line


@final
class Changes:
    """A talk over which an emulator says that its rules have changed.

    Owner: whoever waits for it.
    """

    def __init__(self, path: Path, name: str, number: int, *, waits_seconds: float | None) -> None:
        """Begin, for the driver that has a number among those of its name.

        `waits_seconds` is how long `take` waits, None: not at all.

        Raises:
            LinkError, OSError: no emulator, or it takes no rules; nothing is left open.
        """
        self._process = name
        self._number = number
        self.talk: socket.socket = open_talk(path, name)
        self.talk.settimeout(waits_seconds)
        self._lines = Lines(self.talk, waits=waits_seconds is not None)

    @property
    def is_open(self) -> bool:
        """Whether the talk is not closed yet, by this side."""
        return self.talk.fileno() >= 0

    def ask(self, generation: int) -> None:
        """Ask for what comes after a state of the rules; to be called before each `take`.

        Raises:
            LinkError, OSError: the emulator is gone.
        """
        self._lines.push(
            encode(Follow(after=generation, process=self._process, driver=self._number))
        )

    def take(self) -> Orders | None:
        """Return the changed rules; None: there are none yet.

        Raises:
            LinkError, OSError: the emulator is gone, or answers something else.
        """
        try:
            line = self._lines.pull()
        except TimeoutError:
            return None
        return None if line is None else orders_in(line)


def orders_in(line: bytes) -> Orders:
    """Return the orders in a line.

    Raises:
        ContractError: it has none.
    """
    try:
        answer = decode_answer(line)
    except msgspec.DecodeError as error:
        raise ContractError(f"the emulator's rules: {error}") from error
    if not isinstance(answer, Orders):
        raise ContractError(f"the emulator answered {answer}, expected rules")
    return answer
