"""`emuzero run`: a program, and an emulator of its own for as long as it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click

from hostdriver.cli.console import say_aside, warn
from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import BadInput
from hostdriver.cli.listener import Listener
from hostdriver.cli.options import DRIVER_OPTION, LOG_OPTION, device_options
from hostdriver.cli.private import EXIT_CODES, Record, private_emulator, run_program
from hostdriver.cli.summary import NOTHING, summary_of
from hostdriver.cli.trace.happenings import Ended

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hostdriver.channel.account import Account
    from hostdriver.cli.trace.happenings import Happening

EPILOG: Final = f"""\b
Examples:
  emuzero run -- ./program --its-options
  emuzero run --devices 2 --vram 1GiB -- mpirun -n 2 ./program
  emuzero run --summary -- ./program

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
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
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
    return _run_with_summary(wanted, program) if summary else _run(wanted, program, None)


def _run(wanted: Mapping[str, object], program: Sequence[str], record: Record | None) -> int:
    with private_emulator(wanted, record) as socket:
        return run_program(program, {**os.environ, **environment_for(socket)})


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
