"""The processes of the demo, as their parent holds them: every wait ends, and so does every child.

A child has a session of its own, so that Ctrl-C reaches the parent alone, which then ends the
children in order. If the parent itself is killed, exporter and importer see the end of their
standard input and leave, and the device leaves with them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final, final

from hostdriver.cli.exits import CommandError
from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SLICE_SECONDS: Final = 0.1
"""How long to wait for one child before the others are looked at."""
LEAVE_SECONDS: Final = 2.0
"""How long a child may take to leave when it is told to, before it is killed."""
NO_CHANGES: Final[Mapping[str, str]] = MappingProxyType({})
_READ_BYTES: Final = 1 << 16


class ChildFailed(CommandError):
    """A process of the demo ended when it should not have, or does not answer.

    `code` is the exit code of one that ended, and `words` its last line.
    """

    def __init__(self, message: str, *, code: int | None = None, words: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.words = words


@final
class Child:
    """One process.

    Owner: the stage (`run.py`), which calls `end` on every path. Nothing of it is left then: no
    process, descriptor or file.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] = NO_CHANGES
    ) -> None:
        """Start Python with these arguments, and changes to the environment.

        Raises:
            ChildFailed: the system starts no process.
        """
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        self._lines = b""
        try:
            self._process = subprocess.Popen(
                # -P: no module of the current folder takes the place of ours.
                [sys.executable, "-P", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
                env=child_environment(**environment),
            )
        except OSError as error:
            self._errors.close()
            raise ChildFailed(f"the {name} cannot be started: {error}") from error
        self._input = _pipe(self._process.stdin)
        self._output = _pipe(self._process.stdout)
        os.set_blocking(self._input.fileno(), False)

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    def tell(self, data: bytes, patience_seconds: float, others: Sequence[Child] = ()) -> None:
        """Write to its standard input.

        Raises:
            ChildFailed: it ended, does not read, or one of the others ended.
        """
        deadline = time.monotonic() + patience_seconds
        view = memoryview(data)
        while view:
            self._await(self._input, select.POLLOUT, deadline, others)
            try:
                view = view[os.write(self._input.fileno(), view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                # A process that dies closes its pipes a moment before it can be waited for.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(LEAVE_SECONDS)
                ended = self._process.returncode is not None
                raise self._failure("ended early" if ended else "reads no more", others) from None

    def end_input(self) -> None:
        """Close its standard input; a second call does nothing."""
        self._input.close()

    def hear(self, patience_seconds: float, others: Sequence[Child] = ()) -> bytes:
        """Return the next line that it writes.

        Raises:
            ChildFailed: it ended or says nothing in time, or one of the others ended.
        """
        deadline = time.monotonic() + patience_seconds
        while b"\n" not in self._lines:
            self._await(self._output, select.POLLIN, deadline, others)
            data = os.read(self._output.fileno(), _READ_BYTES)
            if not data:
                raise self._failure("ended early", others)
            self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        return line

    def lines(self, patience_seconds: float, others: Sequence[Child] = ()) -> Iterator[bytes]:
        """Yield every line that it writes, until it closes its standard output.

        Raises:
            ChildFailed: it says nothing in time, or one of the others ended.
        """
        while True:
            deadline = time.monotonic() + patience_seconds
            while b"\n" not in self._lines:
                self._await(self._output, select.POLLIN, deadline, others)
                data = os.read(self._output.fileno(), _READ_BYTES)
                if not data:
                    return
                self._lines += data
            line, _, self._lines = self._lines.partition(b"\n")
            yield line

    def check(self) -> None:
        """Do nothing while it runs.

        Raises:
            ChildFailed: it has ended.
        """
        if self._process.poll() is not None:
            raise self._failure("ended early")

    def finish(self, patience_seconds: float) -> None:
        """Wait until it has ended by itself, with success.

        Raises:
            ChildFailed: it failed, or goes on.
        """
        try:
            code = self._process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            raise self._failure("does not end") from None
        if code:
            raise self._failure("failed")

    def ask_to_end(self) -> None:
        """Send SIGTERM to it and to what it started, if it still runs."""
        # Not reaped before `poll` says so: until then its number is nobody else's.
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)

    def end(self) -> None:
        """Have it gone within `LEAVE_SECONDS`, and close what is held of it."""
        self.end_input()
        self.ask_to_end()
        try:
            self._process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
        self._errors.close()

    def _await(self, pipe: IO[bytes], event: int, deadline: float, others: Sequence[Child]) -> None:
        """Wait until a pipe of this child is ready, looking at the others meanwhile."""
        poll = select.poll()
        poll.register(pipe, event)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._failure("does not answer", others)
            if poll.poll(min(left, SLICE_SECONDS) * 1000):
                return
            for other in others:
                other.check()

    def _failure(self, what: str, others: Sequence[Child] = ()) -> ChildFailed:
        """Return the error that tells how this child failed, by its own last words.

        Raises:
            ChildFailed: one of the others has ended, which is the cause.
        """
        for other in others:
            other.check()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SLICE_SECONDS)
        code = self._process.poll()
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip()
        how = "" if code is None else f" (exit code {code})"
        last = words.splitlines()[-1] if words else "it said nothing"
        if "Traceback" in words:
            # A bug of ours: whoever reports it needs all of it.
            sys.stderr.write(f"{words}\n")
        return ChildFailed(f"the {self.name} {what}{how}: {last}", code=code, words=last)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return an end of a pipe that was asked for."""
    if pipe is None:
        raise TypeError("the child was started without a pipe")
    return pipe
