"""`emuzero sweep`: each place where something can fail, failing once."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from firmware.inject import Rule, RuleError, line_of, matching, parse_rule
from hostdriver.cli.completion import complete_files
from hostdriver.cli.exits import BadInput, Exit
from hostdriver.cli.faults.completing import complete_rules
from hostdriver.cli.options import device_options
from hostdriver.cli.private import options_of
from hostdriver.cli.seeds import SEED
from hostdriver.cli.signals import ended_by_signals
from hostdriver.cli.sweep.cells import default_rules
from hostdriver.cli.sweep.files import write_reports
from hostdriver.cli.sweep.ledger import NAME, Ledger, Question
from hostdriver.cli.sweep.reduce import reduce_scenario
from hostdriver.cli.sweep.screen import Screen
from hostdriver.cli.sweep.sweep import run_cells, survey, time_limit
from hostdriver.cli.sweep.trial import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FIRST_SECONDS: Final = 300.0
"""How long a program may take of which nothing is known yet."""
EPILOG: Final = """\b
Examples:
  emuzero sweep -- ./program                           everything that can fail
  emuzero sweep --point 'api.*' --point 'os.*' -- ./program
  emuzero sweep --fault 'api.zeMem* refuse=ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY' -- ./program
  emuzero sweep --output found -- ./program            reports; the same again goes on
  emuzero sweep --minimise many.yaml -- ./program      which of its rules are needed

\b
Exit codes:
  0  every run was handled        2    wrong command line or file
  1  some were not, or no run     130  ended by Ctrl-C; with --output it goes on later"""


@click.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@device_options
@click.option(
    "--point",
    metavar="GLOB",
    multiple=True,
    help="Only these points, each as it fails by itself; all by default.",
)
@click.option(
    "--fault",
    metavar="RULE",
    multiple=True,
    shell_complete=complete_rules,
    help="Only this, such as 'api.zeMem* delay=0.5'; at which site, the sweep says.",
)
@click.option(
    "--most",
    type=click.IntRange(0),
    default=0,
    help="Runs of one point: its first site, its last, some between; 0, the default: all sites.",
)
@click.option(
    "--seed", type=SEED, default=0, help="Seed of what rules leave to chance, and of --most."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    help="Seconds after which a run hangs; by default 5 times what the program takes, at least 10.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Runs at a time; by default one for each processor.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html, report.json and junit.xml there, and go on there if it was begun.",
)
@click.option("--fresh", is_flag=True, help="Begin anew, whatever --output holds.")
@click.option(
    "--minimise",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead, drop from a scenario the rules that are not needed for it to fail.",
)
@click.argument(
    "program", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=complete_files
)
@ended_by_signals()
def command(  # noqa: PLR0913 - one for each option
    *,
    devices: int | None,
    vram: int | None,
    spec: Path | None,
    profile: str | None,
    point: tuple[str, ...],
    fault: tuple[str, ...],
    most: int,
    seed: int,
    timeout: float | None,
    workers: int | None,
    output: Path | None,
    fresh: bool,
    minimise: Path | None,
    program: tuple[str, ...],
) -> int:
    """Run a program once for each place where something can fail, with that failing.

    It runs twice undisturbed, while all sites are counted, and then once for each of them. A run
    is handled when the program goes on or ends with an error of its own; other output, a hang, a
    crash and a leak are told with the command that repeats it.
    """
    wanted = {"--devices": devices, "--vram": vram, "--spec": spec, "--profile": profile}
    setting = Setting(program, wanted, seed, timeout or FIRST_SECONDS)
    if minimise is not None:
        return reduce_scenario(setting, minimise, timeout)
    rules = _rules(point, fault)
    question = Question(
        program=list(program),
        options=_options(wanted),
        seed=seed,
        rules=[line_of(rule) for rule in rules] if point or fault else ["all"],
        most=most,
    )
    screen = Screen()
    ledger = _begin(setting, question, rules, _folder(output), fresh=fresh, screen=screen)
    limit = timeout or time_limit(ledger.heading.good.seconds)
    try:
        with screen.progress(len(ledger.heading.cells), len(ledger)) as done:
            run_cells(
                setting._replace(timeout_seconds=limit),
                ledger,
                workers or len(os.sched_getaffinity(0)),
                done,
            )
    finally:
        ledger.close()
        if output is not None:
            write_reports(output, ledger.heading, ledger.entries())
    screen.conclude(ledger.heading, ledger.entries(), output)
    return Exit.OK if all(entry.outcome.is_good for entry in ledger.entries()) else Exit.FAILED


def _begin(
    setting: Setting,
    question: Question,
    rules: Sequence[Rule],
    folder: Path | None,
    *,
    fresh: bool,
    screen: Screen,
) -> Ledger:
    """Return the ledger to go on with, or a new one after the undisturbed runs."""
    path = None if folder is None else folder / NAME
    if path is not None and not fresh and (found := Ledger.resume(path, question)) is not None:
        screen.resumed(len(found), len(found.heading.cells))
        return found
    screen.surveying(shlex.join(question.program))
    heading = survey(setting, question, rules)
    screen.surveyed(heading)
    return Ledger(heading, path)


def _rules(point: tuple[str, ...], fault: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return what fails.

    Raises:
        BadInput: a glob or a rule is wrong.
    """
    try:
        found = [parse_rule(line) for line in fault]
        found += [Rule(one.name, one.default) for glob in point for one in matching(glob)]
    except RuleError as error:
        raise BadInput(str(error)) from error
    return tuple(found) or default_rules()


def _options(wanted: Mapping[str, object]) -> dict[str, str]:
    words = options_of(wanted)
    return dict(zip(words[::2], words[1::2], strict=True))


def _folder(output: Path | None) -> Path | None:
    """Make the folder of the reports.

    Raises:
        BadInput: it cannot be made.
    """
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--output {output}: {error.strerror}") from error
    return output
