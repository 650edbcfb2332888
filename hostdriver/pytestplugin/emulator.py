"""An emulator of a test's own: a process, a folder, and what is known of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from hostdriver.cli.environment import environment_for
from hostdriver.cli.exits import CommandError
from hostdriver.cli.observer import Observer
from hostdriver.inject.joining import FOLLOW_VARIABLE
from hostdriver.pytestplugin.errors import EmulatorFailed
from hostdriver.pytestplugin.forking import describe_exit
from hostdriver.pytestplugin.records import Records
from hostdriver.pytestplugin.settings import is_text
from hostdriver.pytestplugin.wire import EmulatorRequest
from hostdriver.runtime.discovery import SOCKET_VARIABLE
from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.observer import Report
    from hostdriver.pytestplugin.forking import Child, StarterProcess
    from hostdriver.pytestplugin.settings import Wanted

START_SECONDS: Final = 60.0
MOMENT_SECONDS: Final = 1.0
"""How long an emulator may take to end when it has let go of a client."""
LOG_LINES: Final = 40
"""Lines of the log that a failure shows."""


@final
class PrivateEmulator:
    """A running emulator: `emuzero_device` of a test.

    Owner: a fixture, which ends it. Its folder has a name that nobody else has, and goes with it.
    """

    def __init__(self, starter: StarterProcess, wanted: Wanted) -> None:
        """Start an emulator and return when it listens.

        Raises:
            EmulatorFailed: it did not start; the text holds its log.
        """
        self.wanted = wanted
        """What it is."""
        self.starter = starter
        """What starts processes on this emulator."""
        self._folder = Path(tempfile.mkdtemp(prefix="", dir=starter.folder))
        self.socket = self._folder / "emulator.sock"
        """Where it listens; programs find it in EMUZERO_SOCKET."""
        self.records: Records | None = None
        """What it tells of C programs; None: their drivers are in processes of their own."""
        self.was_injected = False
        """Whether rules were there; nobody else should meet it then."""
        self.calm: Callable[[], None] = _nothing
        """Removes the rules of the test, before anything is given back."""
        self._last_words: str | None = None
        self.expects_death = False
        """Whether its death is what the test wants."""
        try:
            self._child = self._start()
        except BaseException:
            shutil.rmtree(self._folder)
            raise

    @property
    def pid(self) -> int:
        """Its process."""
        return self._child.pid

    @property
    def folder(self) -> Path:
        """A folder of its own, for files that belong to it."""
        return self._folder

    @property
    def log(self) -> str:
        """What it has said so far."""
        if self._last_words is not None:
            return self._last_words
        return (self._folder / "emulator.log").read_text(errors="replace")

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self._child.has_ended()

    def report(self) -> Report:
        """Ask every device for its statistics, without being one of its clients.

        Raises:
            EmulatorFailed: it is gone, or a device does not answer.
        """
        try:
            with Observer(self.socket, "emuzero pytest") as observer:
                return observer.read()
        except CommandError as error:
            if self._child.has_ended(MOMENT_SECONDS):
                raise EmulatorFailed(f"the emulator died{self.obituary()}") from None
            raise EmulatorFailed(str(error)) from None

    def statistics(self, index: int = 0) -> DeviceStatistics:
        """Return the counters of one device.

        Raises:
            EmulatorFailed: see `report`; the device does not run.
        """
        found = self.report().devices[index]
        if found.device is None:
            raise EmulatorFailed(f"device {index} does not run: it is {found.status.phase.name}")
        return found.device

    def variables(self) -> dict[str, str]:
        """Return the environment in which Python programs find this emulator."""
        return child_environment(**{SOCKET_VARIABLE: str(self.socket)})

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the environment in which programs find this emulator and the C library.

        Raises:
            EmulatorFailed: the library cannot be built.
        """
        try:
            variables = environment_for(self.socket)
        except CommandError as error:
            raise EmulatorFailed(str(error)) from None
        return {**self.variables(), **variables, **changes}

    def kill(self) -> None:
        """End it by SIGKILL, as a test wants it; return when it has ended."""
        self.expects_death = True
        self._child.send(signal.SIGKILL)
        self._child.has_ended(START_SECONDS)

    def check_alive(self) -> None:
        """Do nothing while it runs, or when the test wanted its death.

        Raises:
            EmulatorFailed: it has ended; the text says how, and what it said.
        """
        __tracebackhide__ = True
        if not self.expects_death and not self.is_alive:
            raise EmulatorFailed(f"the emulator died during the test{self.obituary()}")

    def obituary(self) -> str:
        """Return how it ended and the end of its log; nothing while it runs."""
        if self.is_alive or self._child.pidfd < 0:
            return ""
        return f": {describe_exit(self._child.status())}; its log:\n{self.end_of_log()}"

    def end_of_log(self) -> str:
        """Return the last lines of its log."""
        return "\n".join(self.log.splitlines()[-LOG_LINES:]) or "(empty)"

    def close(self) -> None:
        """End it, and remove its folder; a second call does nothing."""
        if self._child.pidfd < 0:
            return
        self._child.end()
        self._last_words = self.log
        shutil.rmtree(self._folder)

    def _start(self) -> Child:
        with contextlib.ExitStack() as closing:
            log = self._opened("emulator.log", closing)
            ready, told = os.pipe()
            closing.callback(os.close, ready)
            with contextlib.ExitStack() as theirs:
                theirs.callback(os.close, told)
                options = {"--ready-fd": told}
                arguments = self._arguments()
                if self.wanted.driver != "process":
                    arguments += ["--record", "trace" if self.wanted.trace else "count"]
                    options["--record-fd"] = self._opened("programs.trace", closing)
                    self.records = Records(self._folder / "programs.trace")
                request = EmulatorRequest(arguments, [*options], self._variables())
                child = self.starter.start(request, [log, *options.values()])
            if os.read(ready, 1):
                return child
        child.has_ended(START_SECONDS)
        how = describe_exit(child.status())
        child.end()
        raise EmulatorFailed(f"the emulator did not start: {how}; its log:\n{self.end_of_log()}")

    def _variables(self) -> dict[str, str]:
        """Return the emulator's own environment."""
        variables = child_environment()
        if self.wanted.driver == "process":
            # Such a driver follows from its start or never, and a test may share the emulator.
            variables.setdefault(FOLLOW_VARIABLE, "1")
        return variables

    def _opened(self, name: str, closing: contextlib.ExitStack) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self._folder / name, flags, 0o600)
        closing.callback(os.close, descriptor)
        return descriptor

    def _arguments(self) -> list[str]:
        wanted = self.wanted
        spec = wanted.spec
        if spec is not None and is_text(spec):
            file = self._folder / "device.toml"
            file.write_text(spec, encoding="utf-8")
            spec = str(file)
        values = {
            "--devices": wanted.devices,
            "--vram": wanted.vram,
            "--spec": spec,
            "--profile": wanted.profile,
            "--driver": wanted.driver,
        }
        given = [
            word for name, value in values.items() if value is not None for word in (name, value)
        ]
        return ["--socket", str(self.socket), "--log", "info", *map(str, given)]


def _nothing() -> None:
    """Remove no rules, as there are none."""
