"""Child processes of tests, and barriers with them by pipes.

A child is a function of a module, run as `python -m MODULE FUNCTION ARGUMENT ...` from the root of
the repository. It calls `say` and `hear`; the test calls `hear` and `say`. Nobody sleeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

ROOT = Path(__file__).parents[2]


class Child:
    """One child process, seen from the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self) -> str:
        """Return the next line that the child says; an empty text when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def say(self, text: str = "") -> None:
        """Let the child hear one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End the child by SIGKILL; return when it has ended."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Return the exit status of a child that ends by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()


@contextmanager
def child(
    module: str, function: str, *arguments: object, pass_fds: Sequence[int] = ()
) -> Generator[Child]:
    """Run a function of a module in a child, which is killed at the end if it still runs."""
    command = [sys.executable, "-m", module, function, *map(str, arguments)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


def in_child(action: Callable[[], bool]) -> bool:
    """Return what an action says in a child after fork."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if action() else 2
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def say(text: object = "") -> None:
    """Let the test hear one line (to be called by the child)."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def hear() -> str:
    """Return the next line that the test says; an empty text when it has ended."""
    return sys.stdin.readline().rstrip("\n")


def obey(actions: object) -> None:
    """Do what the test says, in lines of JSON, and answer with results or names of errors."""
    say("ready")
    while line := hear():
        function, *arguments = json.loads(line)
        try:
            result = getattr(actions, function)(*arguments)
        except ZeError as error:
            result = error.result.name.removeprefix("ZE_RESULT_ERROR_")
        say(json.dumps(result))


def run_function(functions: Mapping[str, Callable[..., None]]) -> None:
    """Run the function that the command line names with its other arguments."""
    name, *arguments = sys.argv[1:]
    functions[name](*arguments)
