"""What became of the rules of a run: a short report, a file, and what was expected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, final

from firmware.inject import RuleError
from firmware.link.errors import LinkError
from hostdriver.cli.exits import BadInput, CommandError, Exit
from hostdriver.cli.faults.document import SCHEMA, coverage_document, hit_object, rule_rows
from hostdriver.cli.faults.lines import rule_lines
from hostdriver.inject.remote import Faults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from firmware.inject import Coverage, Expectation
    from hostdriver.inject.messages import HitRow, RuleList


class Outcome(NamedTuple):
    """What an emulator tells at the end of a run."""

    rules: RuleList
    hits: tuple[HitRow, ...]
    coverage: Coverage


class Verdict(NamedTuple):
    """A run beside what was expected of it."""

    exit_code: int
    """What the command ends with."""
    unmet: tuple[str, ...]
    """A sentence for each expectation that was not met."""


@final
class ReportFile:
    """The file of `--faults-report`; that it can be written is known before the program runs."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            BadInput: it cannot be written.
        """
        self._path = path
        try:
            path.write_text("")
        except OSError as error:
            raise BadInput(f"--faults-report {path}: {error.strerror}") from error

    def write(self, outcome: Outcome | None, program: int, verdict: Verdict) -> None:
        """Write what is known at the end; without an outcome, that the emulator was gone.

        Raises:
            CommandError: it cannot be written any more.
        """
        document: dict[str, object] = {
            "schema": SCHEMA,
            "exit_status": program,
            "unmet": list(verdict.unmet),
        }
        if outcome is not None:
            document |= {
                "seed": outcome.rules.seed,
                "rules": rule_rows(outcome.rules.rules),
                "hits": [hit_object(hit) for hit in outcome.hits],
                "coverage": coverage_document(outcome.coverage),
            }
        try:
            self._path.write_text(json.dumps(document, indent=2) + "\n")
        except OSError as error:
            raise CommandError(f"--faults-report {self._path}: {error.strerror}") from error


def look_at(socket: Path) -> Outcome | None:
    """Return what became of the rules of an emulator; None: it is gone."""
    try:
        with Faults(socket, name="emuzero run") as faults:
            return Outcome(faults.rules(), faults.hits(), faults.coverage())
    except (LinkError, RuleError, TimeoutError):
        return None


def judge(
    expected: Expectation, program: int, outcome: Outcome | None, *, leaks: bool | None
) -> Verdict:
    """Return what a run ends with.

    Args:
        expected: what the scenario says.
        program: exit code of the program.
        outcome: what the emulator told.
        leaks: whether the program left anything; None: that is not known.
    """
    fired = {} if outcome is None else {row.name: row.fired for row in outcome.rules.rules}
    unmet = [*expected.unmet(program, fired, leaks=leaks)]
    if expected.leaks is not None and leaks is None:
        unmet.append("whether anything leaked is not known: no process used the C library")
    if unmet:
        return Verdict(Exit.UNMET, tuple(unmet))
    return Verdict(program if expected.exit_status is None else Exit.OK, ())


def lines_of(outcome: Outcome) -> Iterator[str]:
    """Yield the report, a line for each rule."""
    yield f"emuzero: faults with seed {outcome.rules.seed}"
    yield from rule_lines(outcome.rules.rules)
    if outcome.rules.counting:
        points = outcome.coverage.points
        reached = sum(1 for point in points if point.reached)
        yield f"  {reached} of {len(points)} points were reached"
