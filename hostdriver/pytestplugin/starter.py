"""A process that has everything loaded, and forks emulators and children of tests.

To load the code of an emulator or a driver takes far longer than to begin one. So a session of
pytest has one process that does it once, and forks. It ends, and ends its children, when the
session's process does or gives up its end of the socket, whatever ended it; a session that was
killed leaves its folder to it.

`python -m hostdriver.pytestplugin.starter DESCRIPTOR PID FOLDER`: a packet asks for a child,
packets answer with its process and later with how that ended (see `forking`, the other side).
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import socket
import sys
import traceback
from typing import TYPE_CHECKING, Final, TypeAlias, final

import msgspec
import pytest

from hostdriver import levelzero
from hostdriver.cli import serve
from hostdriver.cli.main import run
from hostdriver.pytestplugin import child
from hostdriver.pytestplugin.steps import DESCRIPTOR_VARIABLE, NAME_VARIABLE
from hostdriver.pytestplugin.wire import (
    MOST_BYTES,
    MOST_DESCRIPTORS,
    READY,
    Answer,
    EmulatorRequest,
    ProcessRequest,
)

if TYPE_CHECKING:
    from typing import Never
Requested: TypeAlias = EmulatorRequest | ProcessRequest
"""What can be asked for."""


@final
class Starter:
    """Forks, and tells how its children end.

    Owner: this process. Invariant: `children` are the pidfds of those that were not waited for.
    """

    def __init__(self, connection: socket.socket, session: int) -> None:
        """Serve a socket for the process behind the pidfd `session`, which stays the caller's."""
        self._connection = connection
        self._session = session
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        # A process that a test forked may hold the other end for as long as it likes.
        self._poll.register(session, select.POLLIN)
        self._children: dict[int, int] = {}

    def serve(self) -> None:
        """Do what is asked for until nobody can ask any more; return when all children ended."""
        self._connection.send(READY)
        try:
            while self._step():
                pass
        finally:
            for pid in self._children.values():
                os.kill(pid, signal.SIGTERM)
            for pid in self._children.values():
                os.waitpid(pid, 0)

    def _step(self) -> bool:
        for descriptor, _ in self._poll.poll():
            if descriptor == self._session:
                return False
            if descriptor in self._children:
                self._reap(descriptor)
                continue
            data, descriptors, _, _ = socket.recv_fds(
                self._connection, MOST_BYTES, MOST_DESCRIPTORS
            )
            if not data:
                return False
            self._begin(msgspec.json.decode(data, type=Requested), descriptors)
        return True

    def _begin(self, request: Requested, descriptors: list[int]) -> None:
        pid = os.fork()
        if not pid:
            self._forget()
            be(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = pid
        self._poll.register(pidfd, select.POLLIN)
        self._tell(Answer(pid))

    def _reap(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.close(pidfd)
        pid, status = os.waitpid(self._children.pop(pidfd), 0)
        self._tell(Answer(pid, status))

    def _tell(self, answer: Answer) -> None:
        self._connection.send(msgspec.json.encode(answer), socket.MSG_NOSIGNAL)

    def _forget(self) -> None:
        """Close, in a child, what is the starter's."""
        self._connection.close()
        os.close(self._session)
        for pidfd in self._children:
            os.close(pidfd)


def be(request: Requested, descriptors: list[int]) -> Never:
    """Be what was asked for, to its end."""
    code = 1
    try:
        os.setsid()
        output, *others = descriptors
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(output)
        os.environ.clear()
        os.environ.update(request.variables)
        match request:
            case EmulatorRequest():
                code = run_emulator(request, others)
            case ProcessRequest():
                code = run_process(request, *others)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - a child of fork must end here, whatever happens
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_emulator(request: EmulatorRequest, descriptors: list[int]) -> int:
    """Run an emulator; return its exit status."""
    given = [
        word
        for name, number in zip(request.options, descriptors, strict=True)
        for word in (name, str(number))
    ]
    return run(["serve", *request.arguments, *given])


def run_process(request: ProcessRequest, steps: int) -> int:
    """Run the command of a test's process, or the function that it is told; return its exit status.

    Raises:
        OSError: there is no such command.
    """
    os.chdir(request.folder)
    os.environ[NAME_VARIABLE] = request.name
    os.environ[DESCRIPTOR_VARIABLE] = str(steps)
    if request.command:
        os.set_inheritable(steps, True)  # noqa: FBT003 - positional only
        os.execvp(request.command[0], request.command)  # noqa: S606 - a shell is not wanted
    sys.argv = [request.name]
    return child.main()


def main() -> None:
    """Serve the socket that the command line names, for a session that keeps files in a folder."""
    _, number, pid, folder = sys.argv
    # Forked children touch fewer pages when the collector leaves what is loaded alone.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(number)) as connection:
        try:
            session = os.pidfd_open(int(pid))
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
            return
        Starter(connection, session).serve()
    # The session may have been killed.
    shutil.rmtree(folder, ignore_errors=True)


LOADED: Final = (levelzero, serve, pytest)
"""What children need; it is loaded here, once."""

if __name__ == "__main__":
    main()
