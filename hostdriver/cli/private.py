"""A program, and an emulator of its own for as long as it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from firmware.inject import scenario_json
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.faults.given import NOTHING, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from types import FrameType

    from hostdriver.cli.faults.given import Injection

PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
PATIENCE_SECONDS: Final = 30.0
EXIT_CODES: Final = """\
Exit code: the program's; 128 + N when signal N ended it; 126 and 127 when it cannot
be started; 1 or 2 when the emulator cannot."""


class Record(NamedTuple):
    """What an emulator is to tell of its programs."""

    descriptor: int
    """Where it writes; it stays the caller's."""
    what: str
    """`count` or `trace`."""


@contextlib.contextmanager
def private_emulator(
    wanted: Mapping[str, object],
    record: Record | None = None,
    injection: Injection = NOTHING,
) -> Generator[Path]:
    """Have an emulator, with those options that are not None, listen meanwhile; yield its socket.

    What is injected is all that is: the environment says nothing to it any more.

    Raises:
        CommandError: it cannot run.
    """
    with tempfile.TemporaryDirectory(prefix="emuzero-run-") as folder:
        socket = Path(folder) / "emulator.sock"
        given = options_of(wanted)
        if injection.is_any:
            scenario = Path(folder) / "scenario.json"
            scenario.write_bytes(scenario_json(injection.scenario))
            given += ["--scenario", str(scenario)]
            given += ["--count-points"] if injection.counts_all else []
        with _serving(given, socket, record):
            yield socket


def options_of(wanted: Mapping[str, object]) -> list[str]:
    """Return options that are not None as `serve` takes them."""
    return [
        word for name, value in wanted.items() if value is not None for word in (name, str(value))
    ]


@contextlib.contextmanager
def _serving(options: Sequence[str], socket: Path, record: Record | None) -> Generator[None]:
    ready, told = os.pipe()
    given = list(options)
    passed = [told]
    if record is not None:
        given += ["--record", record.what, "--record-fd", str(record.descriptor)]
        passed.append(record.descriptor)
    try:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "hostdriver.cli", "serve", "--socket", str(socket)),
                *("--ready-fd", str(told), "--private", str(os.getpid()), *given),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            env={name: value for name, value in os.environ.items() if name not in VARIABLES},
            # Ctrl-C is the program's; the emulator ends when the program has.
            start_new_session=True,
        )
    except OSError as error:
        os.close(ready)
        raise CommandError(f"no emulator could be started: {error}") from error
    finally:
        os.close(told)
    try:
        with os.fdopen(ready, "rb") as line:
            if not line.readline():
                code = process.wait(PATIENCE_SECONDS)
                refusal = BadInput if code == BadInput.exit_code else CommandError
                raise refusal("the emulator did not start; what it said stands above")
        yield
    finally:
        process.terminate()
        process.wait()


def run_program(program: Sequence[str], environment: dict[str, str]) -> int:
    """Run a program in the foreground; return its exit code as a shell gives it."""
    before = [
        (number, signal.signal(number, signal.SIG_IGN))
        for number in (signal.SIGINT, signal.SIGQUIT)
    ]
    try:
        # What this command inherited is the program's, such as the descriptor by which a launcher
        # speaks to its ranks; what it opened itself ends with exec.
        child = subprocess.Popen(
            program,
            env=environment,
            preexec_fn=_take_signals,  # noqa: PLW1509 - no lock is held by another thread
            close_fds=False,
        )
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
