"""The command `emuzero` as a process: run to its end, or as an emulator that serves a test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

ROOT: Final = Path(__file__).parents[2]
PATIENCE_SECONDS: Final = 60


def command_line(*arguments: object) -> list[str]:
    """Return the command line of `emuzero` with these arguments."""
    return [sys.executable, "-P", "-m", "hostdriver.cli", *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    """Return an environment in which the tree is found and no emulator of the user is."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"EMUZERO_SOCKET", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"}
    }
    return {**kept, "PYTHONPATH": str(ROOT), **changes}


def emuzero(
    *arguments: object, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command_line(*arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=environment(**(env or {})),
        check=False,
    )


def start(*arguments: object, **env: str) -> subprocess.Popen[str]:
    """Start a command with pipes."""
    return subprocess.Popen(
        command_line(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**env),
    )


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[str, str]:
    """Send a signal if the process still runs; return what it wrote."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


class Emulator:
    """An emulator that serves: what it said when it was ready."""

    def __init__(self, process: subprocess.Popen[str], socket: Path, ready: dict[str, Any]) -> None:
        self.process = process
        self.socket = socket
        self.ready = ready

    def status(self) -> dict[str, Any]:
        """Return what `emuzero status --json` says of it."""
        shown = emuzero("status", "--socket", self.socket, "--json")
        assert shown.returncode == 0, shown.stderr
        document: dict[str, Any] = json.loads(shown.stdout)
        return document


@contextmanager
def serving(folder: Path, *options: object) -> Generator[Emulator]:
    """Run `emuzero serve --json` on a socket in a folder."""
    socket = folder / "socket"
    process = start("serve", "--json", "--socket", socket, *options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, errors = end(process)
            raise AssertionError(f"the emulator did not start: {errors}")
        yield Emulator(process, socket, json.loads(line))
    finally:
        end(process)
