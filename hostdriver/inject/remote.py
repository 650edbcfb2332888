"""Rules of an emulator elsewhere: what commands, test plugins and programs talk to it with."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar, final

import msgspec

from firmware.inject import Coverage, Rule, RuleError, check_seed, words_of
from firmware.link.client import open_talk
from firmware.link.errors import ContractError, LinkError
from firmware.link.lines import Lines
from hostdriver.inject.joining import local
from hostdriver.inject.messages import (
    Add,
    Added,
    Clear,
    Count,
    CoverageList,
    Covered,
    Done,
    HitList,
    Hits,
    Refused,
    Release,
    Remove,
    RuleList,
    Rules,
    Seed,
    decode_answer,
    encode,
)
from hostdriver.runtime.discovery import find_socket

if TYPE_CHECKING:
    import os
    from collections.abc import Generator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from firmware.inject.words import Words
    from hostdriver.inject.messages import Answer, DriverRow, HitRow, Request, RuleRow

PATIENCE_SECONDS: Final = 10.0
"""How long an emulator may take to answer."""
AnswerT = TypeVar("AnswerT", bound="Answer")


@final
class Faults:
    """Talk with the rules of one emulator; a context manager that ends it.

    Owner: whoever made it, in one thread at a time. Rules that were added through it are removed
    when it is closed, or its process ends in whatever way, unless they were added to `stay`.
    """

    __slots__ = ("_holds", "_lines", "_path", "_socket")

    def __init__(
        self, socket: str | os.PathLike[str] | None = None, *, name: str = "rules"
    ) -> None:
        """Connect to an emulator.

        Args:
            socket: where it listens; None: EMUZERO_SOCKET, else the shared one of this user.
            name: what this program is called.

        Raises:
            AttachError: there is none, it refuses, or takes no rules; nothing is left open.
            LinkError: it hangs up, or answers nonsense.
        """
        self._path = find_socket(socket)
        self._socket = open_talk(self._path, name)
        self._socket.settimeout(PATIENCE_SECONDS)
        self._lines = Lines(self._socket, waits=True)
        self._holds = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The emulator's socket."""
        return self._path

    def close(self) -> None:
        """End the talk; the rules that it holds are gone then. Twice is once."""
        with self._socket:
            if self._holds:
                self._holds = False
                with suppress(LinkError, TimeoutError):
                    self._ask(Release(), RuleList)

    def add(
        self, *rules: Rule | str | Words, seed: int | None = None, stay: bool = False
    ) -> tuple[str, ...]:
        """Add rules, all or none; return their names.

        Args:
            rules: each an object, a line of text or a table of words.
            seed: of all chance from now on; None leaves it.
            stay: whether they stay when this talk ends.

        Raises:
            RuleError: one of them cannot be carried out, or the seed has more than 64 bits.
            LinkError: the emulator is gone.
        """
        if seed is not None:
            check_seed(seed)
        given = [words_of(rule) if isinstance(rule, Rule) else rule for rule in rules]
        told = [rule if isinstance(rule, str) else dict(rule) for rule in given]
        self._holds = self._holds or not stay
        return tuple(self._ask(Add(rules=told, seed=seed, hold=not stay), Added).names)

    def remove(self, *names: str) -> tuple[RuleRow, ...]:
        """Remove rules, all or none; return what became of them.

        Raises:
            RuleError: one is not there.
            LinkError: the emulator is gone.
        """
        return tuple(self._ask(Remove(names=list(names)), RuleList).rules)

    @contextmanager
    def injected(
        self, *rules: Rule | str | Words, seed: int | None = None
    ) -> Generator[tuple[str, ...]]:
        """Have rules while a block runs; yield their names."""
        names = self.add(*rules, seed=seed)
        try:
            yield names
        finally:
            there = {row.name for row in self.rules().rules}
            self.remove(*(name for name in names if name in there))

    def rules(self) -> RuleList:
        """Return all rules with what became of them, whoever added them, and the seed."""
        return self._ask(Rules(), RuleList)

    def clear(self, *, forget: bool = False) -> tuple[RuleRow, ...]:
        """Remove all rules, whoever added them; return what became of them.

        Args:
            forget: forget hits and coverage too.
        """
        return tuple(self._ask(Clear(forget=forget), RuleList).rules)

    def hits(self, *, after: int = 0, rule: str = "", point: str = "") -> tuple[HitRow, ...]:
        """Return the hits so far, of all processes, oldest first.

        Args:
            after: only those with higher numbers.
            rule: glob of names of rules.
            point: glob of points.
        """
        found: list[HitRow] = []
        while True:
            answer = self._ask(Hits(after=after, rule=rule, point=point), HitList)
            found += answer.hits
            if answer.last == after:
                return tuple(found)
            after = answer.last

    def follow(
        self,
        *,
        after: int = 0,
        rule: str = "",
        point: str = "",
        patience_seconds: float | None = None,
    ) -> Generator[HitRow]:
        """Yield hits as they come, for ever, on a connection of its own.

        Raises:
            TimeoutError: none came for so long.
            LinkError: the emulator has ended.
        """
        with Faults(self._path, name="hits") as talk:
            talk._socket.settimeout(patience_seconds)
            while True:
                request = Hits(after=after, rule=rule, point=point, wait=True)
                answer = talk._ask(request, HitList)
                yield from answer.hits
                after = answer.last

    def coverage(self) -> Coverage:
        """Return what was reached, armed, fired and recovered in all processes together."""
        rows = self._ask(Covered(), CoverageList).points
        return Coverage.of({row.point: row.coverage() for row in rows})

    def reached_by_drivers(self) -> tuple[DriverRow, ...]:
        """Return what of `coverage` each driver in a process of its own reached."""
        return tuple(self._ask(Covered(), CoverageList).drivers)

    def count(self, *, on: bool = True) -> None:
        """Count all points, whether a rule selects them or not; it costs time at each."""
        self._ask(Count(on=on), Done)

    def seed(self, seed: int) -> None:
        """Set the seed of all chance from now on.

        Raises:
            RuleError: it has more than 64 bits.
            LinkError: the emulator is gone.
        """
        self._ask(Seed(seed=check_seed(seed)), Done)

    def _ask(self, request: Request, kind: type[AnswerT]) -> AnswerT:
        """Return the answer to a request.

        Raises:
            RuleError: the emulator says no.
            LinkError: it is gone, or answers something else.
        """
        for follower in local:
            follower.tell()
        self._lines.push(encode(request))
        line = None
        while line is None:
            line = self._lines.pull()
        try:
            answer = decode_answer(line)
        except msgspec.DecodeError as error:
            raise ContractError(f"the emulator's answer to {request}: {error}") from error
        if isinstance(answer, Refused):
            raise RuleError(answer.text)
        if not isinstance(answer, kind):
            raise ContractError(f"the emulator answered {answer} to {request}")
        if not isinstance(request, Rules | Hits | Covered):
            for follower in local:
                follower.catch_up()
        return answer
