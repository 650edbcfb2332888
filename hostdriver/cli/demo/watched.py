"""An example's process: `python -m hostdriver.cli.demo.watched FILE`.

It runs the file as Python would, and tells the parent of every call of the public API with what it
put on the rings, and of every line that the file prints, in their order. Children that the example
forks are watched like itself.
"""

from __future__ import annotations

import functools
import inspect
import io
import multiprocessing
import os
import runpy
import sys
import threading
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, final

from hostdriver import levelzero
from hostdriver.api.driver import Driver
from hostdriver.cli.demo.events import Call, Said, Told, encode
from hostdriver.cli.demo.shown import shown
from hostdriver.cli.demo.trace import Trace
from hostdriver.runtime.attach import attach
from hostdriver.runtime.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.cli.demo.events import Event
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.runtime.runner import Runner

MAIN: Final = "program"
"""What the process is called that Python started."""
WATCHED: Final = (
    (
        levelzero.Context,
        ("mem_", "virtual_mem_", "physical_mem_", "memory_", "host_view", "destroy"),
    ),
    (levelzero.Device, ("get_", "pci_get_", "can_access_peer")),
    (levelzero.Driver, ("get_", "create_context")),
)
"""Classes, and what the names of their functions of the specification begin with."""
_OTHER_NAMES: Final = {
    "create_context": "zeContextCreate",
    "create_context_ex": "zeContextCreateEx",
    "destroy": "zeContextDestroy",
}
_OURS: Final = ("memory_", "host_view")
"""Begin names of functions that the specification does not have."""
_PREFIXES: Final = {levelzero.Device: "Device", levelzero.Driver: "Driver"}
P = ParamSpec("P")
R = TypeVar("R")


@final
class Calls(threading.local):
    """What one thread is about to do."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self.trace = Trace(tell)
        self.inside = False
        """Whether it is in a call, whose own calls are not told."""


@final
class Watch:
    """Tells of the calls of this process, and of its lines.

    Owner: the process. Any thread may call: each call is told when it returns.
    """

    def __init__(self, descriptor: int) -> None:
        """Tell through a descriptor."""
        self._descriptor = descriptor
        self._telling = threading.Lock()
        self._calls = Calls(self._tell)

    def said(self, line: str) -> None:
        """Tell of a line that was printed."""
        self._tell(Said(line))

    def watched(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function of the API that also tells of its calls."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            calls = self._calls
            if calls.inside:
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs).arguments
            arguments = {key: shown(value) for key, value in bound.items() if key != "self"}
            calls.inside = True
            try:
                with calls.trace.call(name, **arguments) as outcome:
                    result = function(*args, **kwargs)
                    if result is not None:
                        outcome.result = shown(result)
                return result
            finally:
                calls.inside = False

        return call

    def connect(
        self,
        socket: str | os.PathLike[str] | None = None,
        *,
        name: str = "",
        start: object = None,  # noqa: ARG002 - the emulator of the demo runs
    ) -> Driver:
        """Do what `levelzero.connect` does, and watch what crosses the rings."""

        def attached() -> Runner:
            runner = attach(socket, name=name)
            runner.observer = self._observe
            return runner

        with self._calls.trace.call("zeInit"):
            return Driver(Process(attached))

    def _observe(self, question: AnyQuestion, answer: object) -> None:
        self._calls.trace.observe(question, answer)

    def _tell(self, event: Event | Said) -> None:
        if not isinstance(event, Call | Said):
            raise TypeError(f"an example tells {event!r}")
        who = multiprocessing.current_process().name
        line = encode(Told(MAIN if who == "MainProcess" else who, event))
        with self._telling:
            while line:
                line = line[os.write(self._descriptor, line) :]


@final
class Lines(io.TextIOBase):
    """Standard output of an example: each line is told."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._begun = ""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Tell of the lines that are complete now."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._watch.said(line)
        return len(text)


def function_name(owner: type, name: str) -> str:
    """Return what the specification calls a method."""
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    if name.startswith(_OURS):
        return name
    words = "".join(word.capitalize() for word in name.split("_"))
    return f"ze{_PREFIXES.get(owner, '')}{words}"


def install(watch: Watch) -> None:
    """Have the public API of this process watched."""
    for owner, beginnings in WATCHED:
        for name in dir(owner):
            function = getattr(owner, name)
            if name.startswith(beginnings) and inspect.isfunction(function):
                setattr(owner, name, watch.watched(function_name(owner, name), function))
    levelzero.connect = watch.connect


def main() -> None:
    """Run the file under watch."""
    _, file = sys.argv
    # What the example starts may write to standard output, too; that is for people.
    telling = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    watch = Watch(telling)
    install(watch)
    sys.stdout = Lines(watch)
    sys.argv = [file]
    runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    main()
