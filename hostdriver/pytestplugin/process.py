"""One child process of a test, seen from the test."""

from __future__ import annotations

import inspect
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, final

from hostdriver.pytestplugin.child import SHOW_STACK
from hostdriver.pytestplugin.errors import ProcessFailed
from hostdriver.pytestplugin.forking import END_SECONDS, describe_exit
from hostdriver.pytestplugin.program import MOST_SHOWN
from hostdriver.pytestplugin.values import decode, encode
from hostdriver.pytestplugin.wire import ProcessRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.pytestplugin.emulator import PrivateEmulator
    from hostdriver.pytestplugin.values import Message, Value

CHUNK: Final = 1 << 16
STACK_SECONDS: Final = 5.0


@final
class TestProcess:
    """A child process: where it stands, and how it ended.

    Owner: the test's `Processes`. Invariants: `waits_for` is what it asked for and was not
    answered; nothing is read behind its end.
    """

    __test__ = False

    def __init__(
        self,
        name: str,
        target: object,
        arguments: Sequence[Value],
        emulator: PrivateEmulator,
    ) -> None:
        """Start it.

        Raises:
            ProcessFailed: it is nothing that can be started.
            EmulatorFailed: nothing can be started any more.
        """
        self.name = name
        self.waits_for: tuple[str, str] | None = None
        """`meet` or `receive`, and the step or name."""
        self.passed: list[str] = []
        """Steps at which it has met others."""
        self.value: Value = None
        """What its function returned."""
        self.is_done = False
        """Whether its function has returned."""
        self.traceback = ""
        """How its function failed."""
        self.was_killed = False
        """Whether the test has killed it."""
        self.was_released = False
        self.status: int | None = None
        """Exit status, as a shell says it; None: it runs."""
        self._output = emulator.folder / f"{name}.out"
        task = _task_of(target, arguments)
        command = _command_of(target, arguments) if task is None else []
        variables = emulator.environment() if command else emulator.variables()
        request = ProcessRequest(name, command, str(Path.cwd()), variables)
        self._socket, theirs = socket.socketpair()
        with theirs, self._output.open("wb") as output:
            descriptors = [output.fileno(), theirs.fileno()]
            try:
                self._child = emulator.starter.start(request, descriptors)
            except BaseException:
                self._socket.close()
                raise
        self._held = b""
        self._talks = True
        if task is not None:
            self.say(task)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._child.pid

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.status is None

    @property
    def output(self) -> str:
        """What it has written to standard output and standard error."""
        return self._output.read_text(errors="replace")

    @property
    def failure(self) -> str:
        """Why it did not end well; empty while it runs, and when nothing is wrong."""
        if self.traceback:
            return f"{self.name} failed{self.place}:\n{self.traceback.rstrip()}"
        wanted = self.was_killed or self.was_released or self.is_done
        if self.status and not wanted:
            return f"{self.name} died{self.place}: {describe_exit(self.status)}"
        return ""

    @property
    def place(self) -> str:
        """Where it stands, or stood when it ended, in words."""
        parts: list[str] = []
        if self.waits_for is not None:
            verb, step = self.waits_for
            parts.append(f" {'at step' if verb == 'meet' else 'waiting for'} {step!r}")
        if self.passed:
            parts.append(f" after step {self.passed[-1]!r}")
        return ",".join(parts)

    def say(self, message: Message) -> None:
        """Say something to it; one that has ended does not hear it."""
        try:
            self._socket.sendall(encode(message), socket.MSG_NOSIGNAL)
        except OSError:
            return

    def fileno(self) -> int:
        """Return the descriptor that can be read when it has said something, or ended."""
        return self._socket.fileno() if self._talks else self._child.pidfd

    def hear(self) -> list[Message]:
        """Return what it has said; `fileno` can be read. Notes when it has ended."""
        if not self._talks:
            self.wait()
            return []
        try:
            data = self._socket.recv(CHUNK)
        except ConnectionError:
            data = b""
        # Whoever says no more ends soon.
        self._talks = bool(data)
        *lines, self._held = (self._held + data).split(b"\n")
        return [decode(line) for line in lines]

    def wait(self) -> None:
        """Wait until it has ended, which it is about to."""
        self._child.has_ended(END_SECONDS)
        self.status = self._child.status()

    def send(self, number: int) -> None:
        """Send a signal to it and to what it started."""
        self._child.send(number)

    def show_stack(self) -> None:
        """Let it write where it stands, if it is Python, and end it."""
        self.send(SHOW_STACK)
        self._child.has_ended(STACK_SECONDS)
        self.end()

    def end(self) -> None:
        """Kill it if it runs, and close what it had; a second call does nothing."""
        self._child.end(signal.SIGKILL)
        self.status = self._child.status()
        self._socket.close()

    def told(self) -> str:
        """Return what it wrote, for a failure."""
        text = self.output.rstrip()[-MOST_SHOWN:]
        return f"--- output of {self.name} ---\n{text}" if text else ""


def _task_of(target: object, arguments: Sequence[Value]) -> Message | None:
    """Return what a child has to know of the function that it runs; None: it runs none.

    Raises:
        ProcessFailed: a child could not find the function.
    """
    if not callable(target):
        return None
    name = getattr(target, "__qualname__", "<lambda>")
    if "<" in name:
        raise ProcessFailed(
            f"{name} is made inside of a function: a child process finds functions of modules only"
        )
    return {
        "module": getattr(target, "__module__", ""),
        "path": inspect.getsourcefile(target) or "",
        "function": name,
        "arguments": list(arguments),
        "search": list(sys.path),
    }


def _command_of(target: object, arguments: Sequence[Value]) -> list[str]:
    """Return the command line of a child.

    Raises:
        ProcessFailed: it is nothing that can be run.
    """
    if isinstance(target, str | os.PathLike):
        words: list[object] = [sys.executable, target]
    elif isinstance(target, list | tuple):
        words = [*cast("Sequence[object]", target)]
    else:
        raise ProcessFailed(f"{target!r} is no function, script or command line")
    return [*map(str, words), *map(str, arguments)]
