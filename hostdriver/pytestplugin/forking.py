"""The starter seen from pytest: asks for children, and hears how they end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Final, final

import msgspec

from hostdriver.pytestplugin.errors import EmulatorFailed
from hostdriver.pytestplugin.wire import MOST_BYTES, Answer
from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hostdriver.pytestplugin.wire import EmulatorRequest, ProcessRequest

PATIENCE_SECONDS: Final = 180.0
"""How long the starter may take to load, on a machine that does much else."""
END_SECONDS: Final = 10.0
"""How long a child may take to end before it is killed."""
SIGNALLED: Final = 128
"""What a shell adds to the number of a signal."""


@final
class Child:
    """A process of the starter, and leader of a session of its own.

    Owner: whoever asked for it, who ends it.
    """

    def __init__(self, pid: int, starter: StarterProcess) -> None:
        self.pid = pid
        """Its number."""
        self.pidfd = os.pidfd_open(pid)
        """Can be read when it has ended; -1 when it was closed."""
        self._starter = starter

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Return whether it has ended, or does so in time."""
        return self.pidfd < 0 or is_readable(self.pidfd, seconds)

    def status(self) -> int:
        """Return its exit status, as a shell says it; it has ended, or is about to.

        Raises:
            EmulatorFailed: the starter has ended.
        """
        code = os.waitstatus_to_exitcode(self._starter.status_of(self.pid))
        return code if code >= 0 else SIGNALLED - code

    def send(self, number: int) -> None:
        """Send a signal to it and to what it started."""
        if not self.has_ended():
            os.killpg(self.pid, number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal, and by SIGKILL if that does not; a second call does nothing."""
        if self.pidfd < 0:
            return
        self.send(number)
        if not self.has_ended(END_SECONDS):
            self.send(signal.SIGKILL)
            self.has_ended(END_SECONDS)
        os.close(self.pidfd)
        self.pidfd = -1


@final
class StarterProcess:
    """The starter of this session, started at the first need.

    Owner: the pool of emulators. Not for several threads.
    """

    def __init__(self, folder: Path) -> None:
        """Keep what the starter says in `folder`."""
        self.folder = folder
        """Where the session keeps its files."""
        self._log = folder / "starter.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._ended: dict[int, int] = {}

    def start(self, request: EmulatorRequest | ProcessRequest, descriptors: Sequence[int]) -> Child:
        """Have a child begin; the descriptors stay the caller's.

        Raises:
            EmulatorFailed: the starter has ended, or does not begin.
        """
        connection = self._connected()
        try:
            socket.send_fds(connection, [msgspec.json.encode(request)], descriptors)
        except OSError as error:
            raise self._failed(str(error)) from error
        while (begun := self._hear(PATIENCE_SECONDS)) is None:
            pass
        return Child(begun, self)

    def status_of(self, pid: int) -> int:
        """Return how a child ended, as `waitpid` tells it; it has ended, or is about to.

        Raises:
            EmulatorFailed: the starter has ended, or knows nothing of an end.
        """
        while pid not in self._ended:
            self._hear(END_SECONDS)
        return self._ended[pid]

    def close(self) -> None:
        """End the starter and with it all children; a second call does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _connected(self) -> socket.socket:
        if self._connection is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs, self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-P", "-m", "hostdriver.pytestplugin.starter"),
                        *(str(theirs.fileno()), str(os.getpid()), str(self.folder)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    # Libraries with threads of their own would not outlive a fork.
                    env=child_environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"),
                    # Ctrl-C is for pytest, which ends what it started.
                    start_new_session=True,
                )
            self._connection = ours
            self._receive(PATIENCE_SECONDS)
        return self._connection

    def _hear(self, seconds: float) -> int | None:
        """Take one answer: return the process that has begun, or note one that has ended."""
        answer = msgspec.json.decode(self._receive(seconds), type=Answer)
        if answer.status is None:
            self._ended.pop(answer.pid, None)
            return answer.pid
        self._ended[answer.pid] = answer.status
        return None

    def _receive(self, seconds: float) -> bytes:
        connection = self._connected() if self._connection is None else self._connection
        if not is_readable(connection.fileno(), seconds):
            raise self._failed(f"it says nothing for {seconds:g} s")
        try:
            data = connection.recv(MOST_BYTES)
        except OSError as error:
            raise self._failed(str(error)) from error
        if not data:
            raise self._failed("it has ended")
        return data

    def _failed(self, why: str) -> EmulatorFailed:
        said = self._log.read_text(errors="replace").strip()
        self.close()
        return EmulatorFailed(f"the process that starts others: {why}; it said: {said or '-'}")


def is_readable(descriptor: int, seconds: float) -> bool:
    """Return whether a descriptor can be read, or can be in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def describe_exit(status: int) -> str:
    """Return an exit status in words."""
    if status > SIGNALLED:
        with contextlib.suppress(ValueError):
            return f"{signal.Signals(status - SIGNALLED).name} ended it"
    return f"it ended with exit status {status}"
