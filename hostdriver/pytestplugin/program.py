"""`emuzero_run`: a Level Zero program under the test's emulator, to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from firmware.link.linux import end_with_parent
from hostdriver.cli.summary import NOTHING, summary_of
from hostdriver.pytestplugin.errors import ProgramFailed
from hostdriver.pytestplugin.forking import SIGNALLED, describe_exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hostdriver.channel.account import Account
    from hostdriver.pytestplugin.emulator import PrivateEmulator

TIMEOUT_SECONDS: Final = 60.0
MOST_SHOWN: Final = 4000
"""Characters of a program's output that a failure shows, from the end."""


@final
@dataclass(frozen=True)
class ProgramResult:
    """How a program ended, and what it left."""

    arguments: tuple[str, ...]
    exit_status: int
    """Its exit status; 128 and the signal when one ended it, as a shell says."""
    stdout: str
    stderr: str
    seconds: float
    accounts: tuple[Account, ...] = field(repr=False)
    """What each process of it called, moved and did not free; empty when drivers are apart."""

    @property
    def left(self) -> tuple[str, ...]:
        """What its processes did not free, a line for each piece of memory and each handle."""
        return tuple(
            line
            for account in self.accounts
            for line in (
                *(f"{piece.what}, {piece.size_bytes:#x} bytes" for piece in account.left),
                *(f"{handle.kind}#{handle.number}" for handle in account.handles),
            )
        )

    @property
    def summary(self) -> str:
        """What `emuzero run --summary` tells."""
        lines = [line for account in self.accounts for line in summary_of(account)]
        return "\n".join(lines or [NOTHING])

    def check(self, exit_status: int = 0) -> ProgramResult:
        """Return this result if the program ended with this status and freed all that it made.

        Raises:
            ProgramFailed: it did not; the text says what it wrote and left.
        """
        __tracebackhide__ = True
        why: list[str] = []
        if self.exit_status != exit_status:
            why.append(f"{describe_exit(self.exit_status)}, expected exit status {exit_status}")
        if self.left:
            why.append("it did not free: " + "; ".join(self.left))
        if why:
            raise ProgramFailed(told(self.arguments, "; ".join(why), self.stdout, self.stderr))
        return self


@final
class ProgramRunner:
    """Runs programs under one emulator; call it.

    Owner: a test.
    """

    def __init__(self, emulator: PrivateEmulator) -> None:
        self.emulator = emulator
        """Where the programs run."""

    def __call__(
        self,
        arguments: Sequence[str | os.PathLike[str]],
        *,
        stdin: str = "",
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        env: Mapping[str, str] | None = None,
    ) -> ProgramResult:
        """Run a program to its end.

        Args:
            arguments: program and its arguments, as a list.
            stdin: text that it reads.
            cwd: folder in which it runs.
            timeout: seconds that it may take.
            env: variables that it has besides those by which it finds emulator and library.

        Raises:
            ProgramFailed: it cannot be started; it did not end in time, and was killed with all
                that it started.
            EmulatorFailed: the library cannot be built.
        """
        __tracebackhide__ = True
        command = tuple(os.fspath(word) for word in arguments)
        records = self.emulator.records
        before = 0 if records is None else records.programs()
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=self.emulator.environment(**(env or {})),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509 - takes no lock
            )
        except OSError as error:
            raise ProgramFailed(f"{command[0]} cannot be started: {error.strerror}") from None
        with process:
            stdout, stderr, is_late = _communicate(process, stdin, timeout)
        seconds = time.monotonic() - began
        if is_late:
            raise ProgramFailed(told(command, f"no end after {timeout:g} s", stdout, stderr))
        accounts = [] if records is None else records.accounts(before, is_gone)
        code = process.returncode
        status = code if code >= 0 else SIGNALLED - code
        return ProgramResult(command, status, stdout, stderr, seconds, tuple(accounts))


def told(arguments: Sequence[str], why: str, stdout: str, stderr: str) -> str:
    """Return what a failure says of a program."""
    parts = [f"{' '.join(arguments)}: {why}"]
    for name, text in (("stdout", stdout), ("stderr", stderr)):
        if text:
            parts.append(f"--- its {name} ---\n{text[-MOST_SHOWN:].rstrip()}")
    return "\n".join(parts)


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, or is about to be waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def _communicate(
    process: subprocess.Popen[str], stdin: str, timeout: float
) -> tuple[str, str, bool]:
    """Return what a program wrote, and whether it had to be killed."""
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        _kill_all(process.pid)
        return (*process.communicate(), True)
    except BaseException:
        _kill_all(process.pid)
        raise
    return stdout, stderr, False


def _kill_all(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
