"""`emuzero trace`: run a program and tell what it calls, or read what was kept of a run."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, BinaryIO, Final, final

import click

from hostdriver.cli.completion import complete_files, complete_functions
from hostdriver.cli.console import say_aside
from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.faults.given import fault_options, injection_of
from hostdriver.cli.listener import Listener
from hostdriver.cli.options import DRIVER_OPTION, LOG_OPTION, device_options
from hostdriver.cli.private import EXIT_CODES, Record, private_emulator, run_program
from hostdriver.cli.summary import NOTHING
from hostdriver.cli.trace.document import line_of
from hostdriver.cli.trace.happenings import Beside, Call, happenings
from hostdriver.cli.trace.lines import lines_of
from hostdriver.cli.trace.stream import StreamError, read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from hostdriver.cli.faults.given import Injection
    from hostdriver.cli.trace.happenings import Happening

BEHIND_DASHES: Final = "emuzero.behind_dashes"
"""Where the context keeps whether `--` stood on the command line."""
EPILOG: Final = f"""\b
Examples:
  emuzero trace -- ./program                    a line each call, on standard error
  emuzero trace --ring --filter 'zeMem*' -- ./program
  emuzero trace --output run.trace -- ./program keeps all of it in a file
  emuzero trace --ring run.trace                shows that, on standard output

\b
{EXIT_CODES} Reading a
file: 0, or 1 when it is damaged or breaks off; what stands before that is shown."""


@final
class TraceCommand(click.Command):
    """A command that knows whether `--` stood before its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the dashes, and parse as usual."""
        ctx.meta[BEHIND_DASHES] = "--" in args
        return super().parse_args(ctx, args)


@final
class Show:
    """How happenings are told: which ones, and as what.

    Owner: one run of the command.
    """

    def __init__(
        self, write: Callable[[str], None], *, filters: Sequence[str], ring: bool, as_json: bool
    ) -> None:
        self._write = write
        self._filters = filters
        self._ring = ring
        self._as_json = as_json
        self.is_empty = True

    def tell(self, happening: Happening) -> None:
        """Write the lines of one happening, if it is wanted."""
        self.is_empty = False
        if isinstance(happening, Call | Beside) and not self._is_wanted(happening.function):
            return
        for line in self._lines(happening):
            self._write(line)

    def _lines(self, happening: Happening) -> Iterator[str]:
        if not self._as_json:
            yield from lines_of(happening, with_commands=self._ring)
        elif (line := line_of(happening, with_commands=self._ring)) is not None:
            yield line

    def _is_wanted(self, function: str) -> bool:
        return not self._filters or any(fnmatchcase(function, glob) for glob in self._filters)


@click.command(
    cls=TraceCommand,
    epilog=EPILOG,
    context_settings={"allow_interspersed_args": False},
)
@device_options
@DRIVER_OPTION
@LOG_OPTION
@fault_options
@click.option("--ring", is_flag=True, help="Show the binary commands that each call caused, too.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="GLOB",
    shell_complete=complete_functions,
    help="Only functions whose names match, such as 'zeMem*'; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line (docs/trace.md).")
@click.option(
    "--output",
    type=click.Path(dir_okay=False),
    help="Keep everything in a file, and show nothing.",
)
@click.argument(
    "what", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=complete_files
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
    ring: bool,
    filters: tuple[str, ...],
    as_json: bool,
    output: str | None,
    what: tuple[str, ...],
) -> int:
    """Tell what a program calls: `emuzero trace -- PROGRAM`, or `emuzero trace FILE`.

    One line for each call of the interface when it returns: seconds since the start, process and
    thread, arguments, result, outputs, and the time that it took. A traced program makes every call
    a round trip to its driver. FILE is what --output kept; - is standard input.
    """
    if not click.get_current_context().meta[BEHIND_DASHES]:
        file, *more = what
        if more:
            raise BadInput("to trace a program, put -- before it; to read a trace, name one file")
        _read(file, Show(click.echo, filters=filters, ring=ring, as_json=as_json))
        return 0
    wanted = {
        "--devices": devices,
        "--vram": vram,
        "--spec": spec,
        "--profile": profile,
        "--driver": driver,
        "--log": log,
    }
    injection = injection_of(fault, scenario, seed, counts_all=count_points)
    if output is not None:
        with _opened(output) as kept:
            return _run(wanted, what, Record(kept.fileno(), "trace"), injection)
    show = Show(say_aside, filters=filters, ring=ring, as_json=as_json)
    with Listener(show.tell) as listener:
        code = _run(wanted, what, Record(listener.descriptor, "trace"), injection)
    if listener.problem:
        raise CommandError(listener.problem)
    if show.is_empty and not as_json:
        say_aside(NOTHING)
    return code


def _run(
    wanted: Mapping[str, object], program: Sequence[str], record: Record, injection: Injection
) -> int:
    with private_emulator(wanted, record, injection) as socket:
        environment = {**environment_for(socket), **injection.environment}
        return run_program(program, {**os.environ, **environment})


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "wb", buffering=0)  # noqa: PTH123 - the caller closes it
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error


def _read(name: str, show: Show) -> None:
    with _stream(name) as stream:
        try:
            header = read_header(stream)
        except StreamError as error:
            raise BadInput(f"{name}: {error}{_advice(name)}") from error
        try:
            for happening in happenings(stream, header):
                show.tell(happening)
        except StreamError as error:
            raise CommandError(f"{name}: {error}") from error


def _advice(name: str) -> str:
    """Return what to say of a name that is no trace, but a program."""
    return f"; to trace the program: emuzero trace -- {name}" if shutil.which(name) else ""


@contextlib.contextmanager
def _stream(name: str) -> Generator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(name, "rb")  # noqa: PTH123, SIM115 - closed below
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror}{_advice(name)}") from error
    with stream:
        yield stream
