"""`emuzero run`: a program, and an emulator of its own for as long as it runs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hostdriver.cli.completion import complete_files
from hostdriver.cli.console import say_aside, warn
from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import BadInput
from hostdriver.cli.faults.given import fault_options, injection_of
from hostdriver.cli.faults.outcome import ReportFile, judge, lines_of, look_at
from hostdriver.cli.job import RUN_VARIABLE, job_emulator, job_of, run_around
from hostdriver.cli.listener import Listener
from hostdriver.cli.options import DRIVER_OPTION, LOG_OPTION, device_options
from hostdriver.cli.private import EXIT_CODES, Record, options_of, private_emulator, run_program
from hostdriver.cli.summary import NOTHING, summary_of
from hostdriver.cli.trace.happenings import Ended

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from firmware.inject import Expectation
    from hostdriver.channel.account import Account
    from hostdriver.cli.faults.given import Injection
    from hostdriver.cli.faults.outcome import Outcome
    from hostdriver.cli.trace.happenings import Happening

EPILOG: Final = f"""\b
Examples:
  emuzero run -- ./program --its-options
  emuzero run --devices 2 --vram 1GiB -- mpirun -n 2 ./program
  emuzero run --summary -- ./program
  emuzero run --fault 'os.driver.map errno=ENOMEM nth=3' -- ./program
  mpirun -n 2 emuzero run -- ./program

\b
{EXIT_CODES}
With a scenario that expects something: 4 when that did not come; 0 when it names an
exit status and all of it came."""


@click.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@device_options
@DRIVER_OPTION
@LOG_OPTION
@fault_options
@click.option(
    "--faults-report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="At the end, write what became of the faults, as JSON (docs/faults.md).",
)
@click.option(
    "--summary",
    is_flag=True,
    help="At the end, tell of each process what it called, moved and did not free.",
)
@click.argument(
    "program",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    shell_complete=complete_files,
)
def command(  # noqa: PLR0913 - one for each option
    *,
    devices: int | None,
    vram: int | None,
    spec: Path | None,
    profile: str | None,
    driver: str | None,
    log: str | None,
    fault: tuple[str, ...],
    scenario: Path | None,
    seed: int | None,
    count_points: bool,
    faults_report: Path | None,
    summary: bool,
    program: tuple[str, ...],
) -> int:
    """Run a Level Zero program on an emulator of its own.

    The program needs no change: it finds the driver through the loader, or in the loader's place
    where none is installed. Its children find the same emulator. Terminal, signals and exit code
    are the program's.

    Inside another run its emulator is used, unless options say what the devices are to be. Ranks
    of a launcher such as mpirun, when each is run by this command, share one.
    """
    wanted = {
        "--devices": devices,
        "--vram": vram,
        "--spec": spec,
        "--profile": profile,
        "--driver": driver,
        "--log": log,
    }
    injection = injection_of(fault, scenario, seed, counts_all=count_points)
    expects_leaks = injection.scenario.expect.leaks is not None
    if (summary or injection.is_any) and job_of(os.environ) is not None:
        what = "--summary" if summary else "--fault RULE"
        raise BadInput(
            f"{what}: the ranks of a job share an emulator; put the launcher behind it, as in"
            f" `emuzero run {what} -- mpirun -n 2 ./program`"
        )
    if faults_report is not None and not injection.is_any:
        raise BadInput("--faults-report needs a --fault, a --scenario or --count-points")
    report = None if faults_report is None else ReportFile(faults_report)
    accounts: list[Account] | None = [] if summary or expects_leaks else None
    code, outcome = _run(wanted, program, injection, accounts)
    if summary:
        _say_summary(accounts or [])
    if not injection.is_any:
        return code
    return _tell(injection.scenario.expect, code, outcome, accounts, report)


def _run(
    wanted: Mapping[str, object],
    program: Sequence[str],
    injection: Injection,
    accounts: list[Account] | None,
) -> tuple[int, Outcome | None]:
    """Run a program; return its exit code and what became of rules. Accounts are put into a list.

    Raises:
        CommandError: the emulator cannot run.
    """
    if accounts is None:
        return _run_on(wanted, program, injection, None)

    def hear(happening: Happening) -> None:
        if isinstance(happening, Ended):
            accounts.append(happening.account)

    with Listener(hear) as listener:
        found = _run_on(wanted, program, injection, Record(listener.descriptor, "count"))
    if listener.problem:
        warn(listener.problem)
    return found


def _run_on(
    wanted: Mapping[str, object],
    program: Sequence[str],
    injection: Injection,
    record: Record | None,
) -> tuple[int, Outcome | None]:
    with _emulator(wanted, record, injection) as socket:
        environment = {
            **environment_for(socket),
            **injection.environment,
            RUN_VARIABLE: str(socket),
        }
        code = run_program(program, {**os.environ, **environment})
        return code, look_at(socket) if injection.is_any else None


@contextlib.contextmanager
def _emulator(
    wanted: Mapping[str, object], record: Record | None, injection: Injection
) -> Generator[Path]:
    """Have an emulator listen: that of the run around, of the launcher's job, or one of its own.

    Options ask for another than that of the run around; who records or injects has its own.

    Raises:
        CommandError: it cannot run.
    """
    options = options_of(wanted)
    alone = record is not None or injection.is_any
    if not alone and not options and (around := run_around()) is not None:
        yield around
        return
    job = None if alone else job_of(os.environ)
    emulator = (
        private_emulator(wanted, record, injection) if job is None else job_emulator(job, options)
    )
    with emulator as socket:
        yield socket


def _say_summary(accounts: Sequence[Account]) -> None:
    for account in accounts:
        for line in summary_of(account):
            say_aside(line)
    if not accounts:
        say_aside(NOTHING)


def _tell(
    expected: Expectation,
    code: int,
    outcome: Outcome | None,
    accounts: Sequence[Account] | None,
    report: ReportFile | None,
) -> int:
    """Tell what became of the rules; return what the command ends with."""
    leaks = any(one.left_count or one.handle_count for one in accounts) if accounts else None
    verdict = judge(expected, code, outcome, leaks=leaks)
    if outcome is None:
        warn("the emulator was gone at the end: what became of the faults is not known")
    else:
        for line in lines_of(outcome):
            say_aside(line)
    for sentence in verdict.unmet:
        say_aside(f"emuzero: not as the scenario expects: {sentence}")
    if report is not None:
        report.write(outcome, code, verdict)
    return verdict.exit_code
