"""Starting an emulator when none runs: in the background, once, whoever asks first.

The emulator is nobody's child, so that no program's wait() ever sees it: a shell starts it in a
session of its own and is gone. Standard input is empty, output goes to a log beside the socket, and
of the program's descriptors it gets one pipe, whose end tells that it died before it listened.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

from firmware.link.errors import AttachError, NoResources
from firmware.link.locks import locked
from firmware.link.runtime_dir import connect_socket
from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PATIENCE_SECONDS: Final = 20.0
"""How long an emulator may take to listen."""
_LOOK_SECONDS: Final = 0.005
_LOG_TAIL: Final = 2000
_IN_BACKGROUND: Final = '"$@" </dev/null &'


def emulator_command(path: Path) -> list[str]:
    """Return the command line of an emulator that listens at `path` and leaves with its clients."""
    return [sys.executable, "-m", "hostdriver.cli", "serve", "--on-demand", "--socket", str(path)]


def log_of(path: Path) -> Path:
    """Return where an emulator that was started on demand logs."""
    return path.with_suffix(".log")


def start_emulator(path: Path) -> None:
    """Start an emulator at `path` and return when it listens.

    Raises:
        AttachError: it ended, or does not listen in time; the text holds the end of its log.
    """
    start_command(path, emulator_command(path))


def start_command(path: Path, command: Sequence[str]) -> None:
    """Run a command in the background and return when somebody listens at `path`.

    Raises:
        AttachError: see `start_emulator`.
    """
    try:
        alive, held = os.pipe()
    except OSError as error:
        raise AttachError(f"no emulator could be started: {error}") from error
    try:
        with log_of(path).open("ab") as log:
            subprocess.run(
                ["/bin/sh", "-c", _IN_BACKGROUND, "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(held,),
                cwd="/",
                env=child_environment(),
                start_new_session=True,
                check=True,
            )
        os.close(held)
        held = -1
        _await_listener(path, alive)
    except (OSError, subprocess.SubprocessError) as error:
        raise AttachError(f"no emulator could be started: {error}") from error
    finally:
        os.close(alive)
        if held >= 0:
            os.close(held)


def listens(path: Path) -> bool:
    """Return whether somebody listens at a socket.

    Raises:
        NoResources: this process has no descriptor left to find out.
    """
    try:
        connect_socket(path, blocking=False).close()
    except NoResources:
        raise
    except AttachError as error:
        # Too many wait already: somebody is there.
        return isinstance(error.__cause__, BlockingIOError)
    return True


def ensure_listener(path: Path, start: Callable[[Path], None]) -> None:
    """Have somebody listen at `path`: whoever does already, or what `start` starts.

    Others who want the same meanwhile wait until it listens.

    Raises:
        AttachError: nothing could be started; another process is about to, for too long.
    """
    if listens(path):
        return
    lock = path.with_suffix(".lock")
    with contextlib.ExitStack() as held:
        try:
            mine = held.enter_context(
                locked(lock, os.O_RDWR | os.O_CREAT, is_needless=lambda: listens(path))
            )
        except OSError as error:
            raise AttachError(f"no emulator can be started at {path}: {error}") from error
        if mine and not listens(path):
            start(path)


def _await_listener(path: Path, alive: int) -> None:
    """Wait until somebody listens, or the pipe tells that nobody will."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    while not listens(path):
        ended = bool(poll.poll(_LOOK_SECONDS * 1000))
        if ended and not listens(path):
            raise AttachError(f"the emulator ended before it listened; its log: {end_of_log(path)}")
        if time.monotonic() > deadline:
            raise AttachError(
                f"the emulator does not listen after {PATIENCE_SECONDS} s; its log:"
                f" {end_of_log(path)}"
            )


def end_of_log(path: Path) -> str:
    """Return the end of the log at `path`."""
    try:
        text = log_of(path).read_bytes()[-_LOG_TAIL:].decode(errors="replace").strip()
    except OSError as error:
        return str(error)
    return text or "(empty)"
