"""`emuzero run`: a program, and an emulator of its own for as long as it runs."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

import click

from hostdriver.cli.completion import complete_files
from hostdriver.cli.console import say_aside, warn
from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import BadInput
from hostdriver.cli.job import RUN_VARIABLE, job_emulator, job_of, run_around
from hostdriver.cli.listener import Listener
from hostdriver.cli.options import DRIVER_OPTION, LOG_OPTION, device_options
from hostdriver.cli.private import EXIT_CODES, Record, options_of, private_emulator, run_program
from hostdriver.cli.summary import NOTHING, summary_of
from hostdriver.cli.trace.happenings import Ended

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from hostdriver.channel.account import Account
    from hostdriver.cli.trace.happenings import Happening

EPILOG: Final = f"""\b
Examples:
  emuzero run -- ./program --its-options
  emuzero run --devices 2 --vram 1GiB -- mpirun -n 2 ./program
  emuzero run --summary -- ./program
  mpirun -n 2 emuzero run -- ./program

\b
{EXIT_CODES}"""


@click.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@device_options
@DRIVER_OPTION
@LOG_OPTION
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
    if summary and driver == "process":
        raise BadInput("--summary needs drivers in the emulator: --driver inline")
    if summary and job_of(os.environ) is not None:
        raise BadInput(
            "--summary: the ranks of a job share an emulator; put the launcher behind it, as in"
            " `emuzero run --summary -- mpirun -n 2 ./program`"
        )
    return _run_with_summary(wanted, program) if summary else _run(wanted, program, None)


def _run(wanted: Mapping[str, object], program: Sequence[str], record: Record | None) -> int:
    with _emulator(wanted, record) as socket:
        environment = {**environment_for(socket), RUN_VARIABLE: str(socket)}
        return run_program(program, {**os.environ, **environment})


@contextlib.contextmanager
def _emulator(wanted: Mapping[str, object], record: Record | None) -> Generator[Path]:
    """Have an emulator listen: that of the run around, of the launcher's job, or one of its own.

    Options ask for another than that of the run around; who records has its own.

    Raises:
        CommandError: it cannot run.
    """
    options = options_of(wanted)
    if record is None and not options and (around := run_around()) is not None:
        yield around
        return
    job = None if record is not None else job_of(os.environ)
    emulator = private_emulator(wanted, record) if job is None else job_emulator(job, options)
    with emulator as socket:
        yield socket


def _run_with_summary(wanted: Mapping[str, object], program: Sequence[str]) -> int:
    accounts: list[Account] = []

    def hear(happening: Happening) -> None:
        if isinstance(happening, Ended):
            accounts.append(happening.account)

    with Listener(hear) as listener:
        code = _run(wanted, program, Record(listener.descriptor, "count"))
    for account in accounts:
        for line in summary_of(account):
            say_aside(line)
    if not accounts:
        say_aside(NOTHING)
    if listener.problem:
        warn(listener.problem)
    return code
