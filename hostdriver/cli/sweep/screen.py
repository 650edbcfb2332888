"""What a sweep says while it runs and at its end."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Final, final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hostdriver.cli.console import make_console, say, say_aside
from hostdriver.cli.sweep.outcome import Outcome
from hostdriver.cli.sweep.reports import point_rows, repeat_command

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from hostdriver.cli.sweep.ledger import Entry, Heading

MOST_NAMED: Final = 10
"""Points that were never reached and are named; more are counted."""


@final
class Screen:
    """Speaks of one sweep: what is on its way to standard error, the result to standard output."""

    def __init__(self) -> None:
        self._aside = Console(stderr=True, highlight=False, markup=False)

    def surveying(self, program: str) -> None:
        """Say that the undisturbed runs begin."""
        say_aside(f"sweep: counting the sites of {program} in two undisturbed runs")

    def surveyed(self, heading: Heading) -> None:
        """Say what the undisturbed runs showed."""
        say_aside(
            f"sweep: {sum(heading.reached.values()):,} sites at {len(heading.reached):,} points,"
            f" {len(heading.cells):,} runs; undisturbed it takes {heading.good.seconds:.2f} s"
        )
        if not heading.compares_output:
            say_aside("sweep: its output differs from run to run, so it is not compared")

    def resumed(self, done: int, total: int) -> None:
        """Say that an earlier sweep goes on."""
        say_aside(f"sweep: going on, {done:,} of {total:,} runs are done")

    @contextlib.contextmanager
    def progress(self, total: int, done: int) -> Generator[Callable[[Entry], None]]:
        """Show a bar; yield what is to hear of every run. What fails is told at once."""
        counts: Counter[Outcome] = Counter()
        columns = (
            TextColumn("sweep"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        with Progress(
            *columns, console=self._aside, disable=not self._aside.is_terminal, transient=True
        ) as bar:
            task = bar.add_task("", total=total, completed=done)

            def hear(entry: Entry) -> None:
                counts[entry.outcome] += 1
                told = ", ".join(f"{counts[one]} {one}" for one in Outcome if counts[one])
                bar.update(task, advance=1, description=told)
                if not entry.outcome.is_good:
                    bar.console.print(f"{entry.outcome.value}: {entry.cell}: {entry.text}")

            yield hear

    def conclude(self, heading: Heading, entries: Sequence[Entry], folder: Path | None) -> None:
        """Tell the result: counts, every run that failed with its command, what was not reached."""
        counts = Counter(entry.outcome for entry in entries)
        make_console().print(_table(heading, entries))
        for entry in entries:
            if not entry.outcome.is_good:
                say(f"{entry.outcome.value}: {entry.text}")
                say(f"  {repeat_command(heading, entry)}")
        say(", ".join(f"{counts[one]:,} {one}" for one in Outcome if counts[one]) or "no runs")
        never = [row.point for row in point_rows(heading, entries) if not row.reached]
        others = [point for point in never if not point.startswith("api.")]
        named = ", ".join(others[:MOST_NAMED]) + (" ..." if len(others) > MOST_NAMED else "")
        functions = len(never) - len(others)
        say(f"never reached: {functions:,} functions of the interface; {named or 'no other point'}")
        if folder is not None:
            say(f"reports: {folder / 'report.html'}, report.json, junit.xml")


def _table(heading: Heading, entries: Sequence[Entry]) -> Table:
    outcomes: dict[str, Counter[Outcome]] = {}
    for entry in entries:
        outcomes.setdefault(entry.point, Counter())[entry.outcome] += 1
    there = [one for one in Outcome if any(found[one] for found in outcomes.values())]
    table = Table(box=None, pad_edge=False)
    table.add_column("point", no_wrap=True, overflow="fold")
    for column in ("reached", "armed", "fired", "recovered", *there):
        table.add_column(column, justify="right")
    for row in point_rows(heading, entries):
        if row.armed:
            found = outcomes[row.point]
            numbers = (row.reached, row.armed, row.fired, row.recovered)
            table.add_row(
                row.point,
                *(f"{number:,}" for number in numbers),
                *(f"{found[one]:,}" if found[one] else "" for one in there),
            )
    return table
