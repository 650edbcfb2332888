"""The sweep: counts the sites, runs every cell, several at a time, and judges each."""

from __future__ import annotations

import contextlib
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final

from firmware.inject import parse_rule
from firmware.inject.actions import Kill
from hostdriver.cli.exits import CommandError
from hostdriver.cli.sweep.cells import plan
from hostdriver.cli.sweep.ledger import Entry, Heading, Ledger
from hostdriver.cli.sweep.outcome import SIGNALS, judge
from hostdriver.cli.sweep.trial import run_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from firmware.inject import Rule
    from hostdriver.cli.sweep.ledger import Question
    from hostdriver.cli.sweep.trial import Setting

SLOWER: Final = 5.0
"""How much longer than undisturbed a program may take."""
LEAST_SECONDS: Final = 10.0
"""Time that every program gets."""


def survey(setting: Setting, question: Question, rules: Sequence[Rule]) -> Heading:
    """Run the program twice without a fault: count its sites, see whether its output is steady.

    Raises:
        CommandError: it cannot be started, hangs or crashes by itself, or leaves something in the
            emulator by itself.
    """
    first, second = run_trial(setting), run_trial(setting)
    good = first.trial
    if good.exit_status is None:
        raise CommandError(f"the program does not end by itself in {good.seconds:.1f} s")
    if good.exit_status > SIGNALS:
        raise CommandError(
            f"the program crashes by itself: signal {good.exit_status - SIGNALS}\n{good.tail}"
        )
    if good.emulator_gone:
        raise CommandError("the emulator dies of the program without any fault")
    if remains := good.remains.beyond(second.trial.remains):
        raise CommandError(f"without any fault the emulator still holds {', '.join(remains)}")
    return Heading(
        question=question,
        cells=[
            cell.line
            for cell in plan(rules, first.coverage, first.drivers, question.most, question.seed)
        ],
        good=good,
        compares_output=first.trial.output == second.trial.output,
        reached={point.point: point.reached for point in first.coverage.points if point.reached},
    )


def time_limit(seconds: float) -> float:
    """Return how long a program may take that takes so long undisturbed."""
    return max(LEAST_SECONDS, SLOWER * seconds)


def run_cell(setting: Setting, heading: Heading, line: str) -> Entry:
    """Run one cell and judge it.

    Raises:
        CommandError: no emulator could be started, or the program.
    """
    rule = parse_rule(line)
    watched = run_trial(setting, [rule])
    judgement = judge(
        watched.trial,
        heading.good,
        compares_output=heading.compares_output,
        kills=isinstance(rule.action, Kill),
    )
    recovered = {point.point for point in watched.coverage.points if point.recovered}
    return Entry(
        cell=line,
        point=rule.point,
        nth=rule.when.nth,
        outcome=judgement.outcome,
        text=judgement.text,
        trial=watched.trial,
        recovered=rule.point in recovered,
    )


def run_cells(
    setting: Setting, ledger: Ledger, workers: int, done: Callable[[Entry], None]
) -> None:
    """Run the cells that are open, `workers` at a time; `done` hears of each, in this thread.

    An interrupt ends it when those that run have ended; the ledger has all that were judged.

    Raises:
        CommandError: no emulator could be started, or the program.
    """
    cells = iter(ledger.open_cells())
    running: set[Future[Entry]] = set()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                while len(running) < workers and (cell := next(cells, None)) is not None:
                    running.add(pool.submit(run_cell, setting, ledger.heading, cell))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    entry = future.result()
                    ledger.add(entry)
                    done(entry)
        except BaseException:
            for future in running:
                future.cancel()
                with contextlib.suppress(BaseException):
                    ledger.add(future.result())
            raise
