"""A C program that does what a test tells it, call by call."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hostdriver.core.results import ZeResult

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


class Ended(NamedTuple):
    """How a call ended."""

    result: ZeResult
    value: str
    """A pointer, number or handle that it gave; -1 as an address: nothing."""
    text: str
    """The error description."""


NOTHING = f"{(1 << 64) - 1:#x}"


class Scripted:
    """The running program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, line: str) -> None:
        """Begin a call, and do not wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> Ended:
        """Return how the call ended that began last."""
        result, value, text = self._line().split("|", 2)
        return Ended(ZeResult(int(result, 0)), value, text)

    def do(self, line: str) -> Ended:
        """Make a call."""
        self.say(line)
        return self.hear()

    def get(self, line: str) -> str:
        """Make a call that succeeds; return what it gave."""
        ended = self.do(line)
        assert ended.result is ZeResult.ZE_RESULT_SUCCESS, ended
        return ended.value

    def held(self) -> tuple[int, ...]:
        """Return how many descriptors and mapped memory files the program has."""
        self.say("held")
        return tuple(map(int, self._line().split()))

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def scripted(program: Path, socket: Path, *, starts: bool = True) -> Generator[Scripted]:
    """Run the program, which has a context by then if it `starts`; it ends at the end."""
    with subprocess.Popen(
        [program],
        env={**os.environ, "EMUZERO_SOCKET": str(socket)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        told = Scripted(process)
        try:
            if starts:
                told.get("start")
            yield told
        finally:
            process.kill()
