"""`emuzero_inject`: rules of fault injection on the test's emulator, gone when the test ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, final

from firmware.inject import RuleError
from firmware.link.errors import LinkError
from hostdriver.core.results import ZeError
from hostdriver.inject.remote import Faults
from hostdriver.pytestplugin.errors import NotRecovered
from hostdriver.pytestplugin.evidence import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from firmware.inject import Rule
    from firmware.inject.words import Words
    from hostdriver.inject.messages import HitRow, RuleRow
    from hostdriver.pytestplugin.emulator import PrivateEmulator

MOST_SHOWN: Final = 40
"""Hits that a report shows, the last ones."""
NAME: Final = "emuzero pytest"
ValueT = TypeVar("ValueT")
ErrorT = TypeVar("ErrorT", bound=Exception)


class Recovery(NamedTuple, Generic[ErrorT, ValueT]):
    """What a call did with a fault and without it."""

    error: ErrorT
    """What it raised while the rules were there."""
    value: ValueT
    """What it returned when they were gone."""


@final
class Injected:
    """Rules that were added together; a context manager that removes them.

    Owner: the test. They go with the test, too.
    """

    def __init__(self, faults: Faults, names: tuple[str, ...]) -> None:
        self._faults = faults
        self.names = names
        """How hits and other rules call them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def rows(self) -> tuple[RuleRow, ...]:
        """Return what became of them so far; of those that were removed nothing."""
        return tuple(row for row in self._faults.rules().rules if row.name in self.names)

    @property
    def fired(self) -> int:
        """How often they have fired."""
        return sum(row.fired for row in self.rows())

    def remove(self) -> None:
        """Remove those that are there."""
        self._faults.remove(*(row.name for row in self.rows()))


@final
class Injection:
    """Adds rules to one emulator; call it.

    Owner: the fixture, which closes it. Raises LinkError everywhere when the emulator is gone.
    """

    def __init__(self, emulator: PrivateEmulator, seed: int) -> None:
        """Connect to the emulator, and give its chance the run's seed."""
        self.faults = Faults(emulator.socket, name=NAME)
        """Everything else that can be said about rules: `hits`, `coverage`, `count`, `clear`."""
        self.faults.seed(seed)
        emulator.was_injected = True
        emulator.calm = self.close

    def __call__(self, *rules: Rule | str | Words) -> Injected:
        """Add rules, all or none: lines of text, tables of words, or `firmware.inject.Rule`.

        Raises:
            RuleError: one of them cannot be carried out.
        """
        __tracebackhide__ = True
        try:
            names = self.faults.add(*rules)
        except RuleError as error:
            # What is wrong is the rule, so the report shows where it was given and nothing inside.
            raise RuleError(str(error)) from None
        return Injected(self.faults, names)

    def hits(self) -> tuple[HitRow, ...]:
        """Return every time that a rule has fired, oldest first."""
        return self.faults.hits()

    def recovers(
        self,
        call: Callable[[], ValueT],
        *rules: Rule | str | Words,
        raises: type[ErrorT] | None = None,
    ) -> Recovery[ErrorT | ZeError, ValueT]:
        """Have a call fail by rules, remove these, and have the same call work.

        Args:
            call: a function without arguments.
            *rules: see `__call__`.
            raises: what it has to raise while the rules are there; by default `ZeError`.

        Raises:
            NotRecovered: it did not fail, failed without a rule, or fails still.
            RuleError: a rule cannot be carried out.
        """
        __tracebackhide__ = True
        wanted = ZeError if raises is None else raises
        with self(*rules) as injected:
            try:
                value = call()
            except wanted as error:
                failure = error
            else:
                fired = injected.fired
                raise NotRecovered(
                    f"the call returned {value!r}, expected {wanted.__name__}; rules fired"
                    f" {fired} times"
                )
            if not injected.fired:
                raise NotRecovered(f"no rule has fired, and the call raised: {failure}")
        try:
            return Recovery(failure, call())
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise NotRecovered(f"with the rules gone the call raised {what}") from error

    def close(self) -> None:
        """Remove the rules of the test; a second call does nothing."""
        self.faults.close()


def fault_sections(emulator: PrivateEmulator) -> Iterator[Section]:
    """Yield rules and hits for the report of a test that fails."""
    try:
        with Faults(emulator.socket, name=NAME) as faults:
            rules, hits = faults.rules(), faults.hits()
    except (LinkError, RuleError, OSError) as error:
        yield Section("faults", f"cannot be asked for: {error}")
        return
    lines = [f"{row.name}: {row.line} (seen {row.seen}, fired {row.fired})" for row in rules.rules]
    lines += [f"({len(hits) - MOST_SHOWN} hits before these)"] if len(hits) > MOST_SHOWN else []
    lines += [_line_of(hit) for hit in hits[-MOST_SHOWN:]]
    document = {
        "seed": rules.seed,
        "rules": [{"name": row.name, "line": row.line, "fired": row.fired} for row in rules.rules],
        "hits": [{"rule": hit.rule, "point": hit.point, **hit.site} for hit in hits],
    }
    text = json.dumps(document, indent=2)
    yield Section("faults", "\n".join(lines) or "(no rules, no hits)", {"faults.json": f"{text}\n"})


def _line_of(hit: HitRow) -> str:
    where = " ".join(f"{name}={value}" for name, value in hit.site.items())
    return f"hit {hit.number}: {hit.rule} at {hit.point}#{hit.occurrence}, {hit.action} {where}"
