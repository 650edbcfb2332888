"""`emuzero run`: a program, and an emulator of its own for as long as it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.options import device_options

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from types import FrameType

PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
PATIENCE_SECONDS: Final = 30.0
EPILOG: Final = """\b
Examples:
  emuzero run -- ./program --its-options
  emuzero run --devices 2 --vram 1GiB -- mpirun -n 2 ./program

\b
Exit code: the program's; 128 + N when signal N ended it; 126 and 127 when it cannot
be started; 1 or 2 when the emulator cannot."""


@click.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@device_options
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    *,
    devices: int | None,
    vram: int | None,
    spec: Path | None,
    profile: str | None,
    program: tuple[str, ...],
) -> int:
    """Run a Level Zero program on an emulator of its own.

    The program needs no change: it finds the driver through the loader, or in the loader's place
    where none is installed. Its children find the same emulator. Terminal, signals and exit code
    are the program's.
    """
    wanted = {"--devices": devices, "--vram": vram, "--spec": spec, "--profile": profile}
    with contextlib.ExitStack() as stack:
        socket = _socket(stack)
        environment = {**os.environ, **environment_for(socket)}
        stack.enter_context(_emulator(wanted, socket))
        return _run(program, environment)


def _socket(stack: contextlib.ExitStack) -> Path:
    """Return a path for a socket that goes with the command."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="emuzero-run-"))
    return Path(folder) / "emulator.sock"


@contextlib.contextmanager
def _emulator(wanted: Mapping[str, object], socket: Path) -> Generator[None]:
    """Have an emulator, with those options that are not None, listen at a socket meanwhile.

    Raises:
        CommandError: it cannot run.
    """
    ready, told = os.pipe()
    given = [
        word for name, value in wanted.items() if value is not None for word in (name, str(value))
    ]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "hostdriver.cli", "serve", "--socket", str(socket)),
            *("--ready-fd", str(told), *given),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(told,),
        # Ctrl-C is the program's; the emulator ends when the program has.
        start_new_session=True,
    )
    os.close(told)
    try:
        with os.fdopen(ready, "rb") as line:
            if not line.readline():
                code = process.wait(PATIENCE_SECONDS)
                error = BadInput if code == BadInput.exit_code else CommandError
                raise error("the emulator did not start; what it said stands above")
        yield
    finally:
        process.terminate()
        process.wait()


def _run(program: Sequence[str], environment: dict[str, str]) -> int:
    """Run a program in the foreground; return its exit code as a shell gives it."""
    before = [
        (number, signal.signal(number, signal.SIG_IGN))
        for number in (signal.SIGINT, signal.SIGQUIT)
    ]
    try:
        child = subprocess.Popen(program, env=environment, preexec_fn=_take_signals)  # noqa: PLW1509 - no thread runs here
    except FileNotFoundError as error:
        _restore(before)
        click.echo(f"Error: {program[0]}: {error.strerror}", err=True)
        return NOT_FOUND
    except OSError as error:
        _restore(before)
        click.echo(f"Error: {program[0]}: {error.strerror}", err=True)
        return NOT_EXECUTABLE

    def pass_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    before += [(number, signal.signal(number, pass_on)) for number in PASSED_ON]
    code = child.wait()
    _restore(before)
    return code if code >= 0 else 128 - code


def _take_signals() -> None:
    """Give a program back what this command ignores."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def _restore(handlers: Sequence[tuple[int, object]]) -> None:
    for number, handler in handlers:
        signal.signal(number, handler)  # type: ignore[arg-type]
