"""One run of a sweep: an emulator of its own, rules that come before the program and go after."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from functools import partial
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from firmware.inject import Coverage, RuleError
from firmware.link.errors import LinkError
from firmware.link.linux import end_with_parent
from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import CommandError
from hostdriver.cli.listener import Listener
from hostdriver.cli.private import Record, private_emulator
from hostdriver.cli.sweep.outcome import Left, Trial
from hostdriver.cli.sweep.vitals import difference, read_vitals, settled_vitals
from hostdriver.cli.trace.happenings import Ended
from hostdriver.inject.joining import FOLLOW_VARIABLE
from hostdriver.inject.remote import Faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from firmware.inject import Rule
    from hostdriver.channel.account import Account
    from hostdriver.cli.trace.happenings import Happening
    from hostdriver.inject.messages import DriverRow

TAIL_BYTES: Final = 4000
"""Of standard error that are kept."""
GRACE_SECONDS: Final = 2.0
"""Between SIGTERM and SIGKILL for a program that hangs."""
_NOTHING: Final = Left({})


class Setting(NamedTuple):
    """What is the same in all runs of a sweep."""

    program: tuple[str, ...]
    wanted: Mapping[str, object]
    """Options of the emulator."""
    seed: int
    timeout_seconds: float


class Watched(NamedTuple):
    """A run, and which points it reached."""

    trial: Trial
    coverage: Coverage
    drivers: Sequence[DriverRow]
    """What of it each driver in a process of its own reached."""
    fired: Mapping[str, int]
    """How often each rule fired, by name."""


def run_trial(setting: Setting, rules: Sequence[Rule] = ()) -> Watched:
    """Run the program once under rules; count every point when there are none.

    Raises:
        CommandError: no emulator could be started, or the program.
    """
    accounts: list[Account] = []

    def hear(happening: Happening) -> None:
        if isinstance(happening, Ended):
            accounts.append(happening.account)

    # What rules do to the connection of a recorder's program is seen by the run itself.
    with Listener(hear) as listener:
        record = Record(listener.descriptor, "count")
        with private_emulator(setting.wanted, record) as socket:
            before = read_vitals(socket)
            with Faults(socket, name="emuzero sweep") as faults:
                seen = _watch(setting, rules, socket, faults)
            remains = _remains(socket, before)
    trial = Trial(
        exit_status=seen.ran.exit_status,
        seconds=seen.ran.seconds,
        output=seen.ran.output,
        tail=seen.ran.tail,
        fired=sum(seen.fired.values()),
        emulator_gone=seen.emulator_gone or remains is None,
        unfreed=_unfreed(accounts),
        remains=remains or _NOTHING,
    )
    return Watched(trial, seen.coverage, seen.drivers, seen.fired)


class _Ran(NamedTuple):
    """A program that ended, or was ended."""

    exit_status: int | None
    seconds: float
    output: str
    tail: str


class _Seen(NamedTuple):
    """A program under rules."""

    ran: _Ran
    coverage: Coverage
    drivers: Sequence[DriverRow]
    fired: Mapping[str, int]
    emulator_gone: bool


def _watch(setting: Setting, rules: Sequence[Rule], socket: Path, faults: Faults) -> _Seen:
    if rules:
        faults.add(*rules, seed=setting.seed)
    else:
        faults.count()
    ran = _run(setting, socket)
    try:
        coverage, drivers = faults.coverage(), faults.reached_by_drivers()
        rows = faults.clear()
        faults.count(on=False)
    except (LinkError, RuleError, OSError):
        return _Seen(ran, Coverage.of({}), (), {}, emulator_gone=True)
    return _Seen(ran, coverage, drivers, {row.name: row.fired for row in rows}, emulator_gone=False)


def _run(setting: Setting, socket: Path) -> _Ran:
    """Run the program in a session of its own, which ends with it."""
    environment = {**os.environ, **environment_for(socket), FOLLOW_VARIABLE: "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        try:
            child = subprocess.Popen(
                setting.program,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509 - takes no lock
            )
        except OSError as error:
            raise CommandError(f"{setting.program[0]}: {error.strerror}") from error
        code: int | None = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = child.wait(setting.timeout_seconds)
        finally:
            _end_group(child)
        seconds = time.monotonic() - began
        status = 128 - code if code is not None and code < 0 else code
        return _Ran(status, seconds, _digest(out), _tail(err))


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a program and its children."""
    if child.poll() is None:
        _signal_group(child.pid, signal.SIGTERM)
        # A stopped process takes the signal when it goes on.
        _signal_group(child.pid, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _remains(socket: Path, before: Left) -> Left | None:
    """Return what an emulator still holds of a program that has gone; None: it cannot tell."""
    try:
        return difference(settled_vitals(socket, before), before)
    except (CommandError, OSError):
        return None


def _unfreed(accounts: Sequence[Account]) -> Left:
    """Return what the processes of a program did not free, by kind."""
    counts: dict[str, int] = {}
    for account in accounts:
        kinds = [piece.what for piece in account.left]
        kinds += [f"{handle.kind} handles" for handle in account.handles]
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
    return Left(counts)


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while data := file.read(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return file.read().decode(errors="replace")
