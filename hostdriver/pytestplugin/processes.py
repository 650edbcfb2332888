"""`emuzero_processes`: child processes on the test's emulator, step by step.

Processes come to steps and wait there for each other; values have names. The test is the one who
lets them on: they run in its calls, and stand at their steps between them.
"""

from __future__ import annotations

import select
import signal
import time
from typing import TYPE_CHECKING, Final, final

from hostdriver.pytestplugin.errors import ProcessFailed
from hostdriver.pytestplugin.evidence import Section
from hostdriver.pytestplugin.process import TestProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hostdriver.pytestplugin.emulator import PrivateEmulator
    from hostdriver.pytestplugin.values import Message, Value

TIMEOUT_SECONDS: Final = 60.0
RELEASE_SECONDS: Final = 5.0
"""How long a process may take to end once it was told that nobody comes any more."""
PARTIES: Final = 2
"""Who comes to a step, at least: a test that waited for it counts, and whom it has killed."""


@final
class Processes:
    """The child processes of one test.

    Owner: the test. Invariant: between calls every process that runs is at work or stands where
    `waits_for` says; none is left when the fixture ends.
    """

    def __init__(self, emulator: PrivateEmulator, timeout: float = TIMEOUT_SECONDS) -> None:
        self._emulator = emulator
        self.timeout = timeout
        """Seconds that each call may take."""
        self.all: dict[str, TestProcess] = {}
        """The processes, by name."""
        self._values: dict[str, Value] = {}
        self._awaited: set[str] = set()

    def start(self, name: str, target: object, *arguments: Value) -> TestProcess:
        """Start a process of this name on the test's emulator.

        Args:
            name: how steps, failures and the test call it.
            target: a function of a module, which gets `Steps` and the arguments; the path of a
                Python script; or the command line of any program, as a list.
            *arguments: what JSON has, and bytes; for scripts and programs words.

        Raises:
            ProcessFailed: it cannot be started; there is one of that name.
            EmulatorFailed: nothing can be started any more.
        """
        if name in self.all:
            raise ProcessFailed(f"there is a process called {name!r} already")
        process = TestProcess(name, target, arguments, self._emulator)
        self.all[name] = process
        return process

    def exporter(self, target: object, *arguments: Value) -> TestProcess:
        """Start the process `exporter`; see `start`."""
        return self.start("exporter", target, *arguments)

    def importer(self, target: object, *arguments: Value) -> TestProcess:
        """Start the process `importer`; see `start`."""
        return self.start("importer", target, *arguments)

    def send(self, name: str, value: Value) -> None:
        """Give a value a name, for the processes that ask for it.

        Raises:
            ProcessFailed: there is one of that name.
        """
        self._keep(name, value, "the test")

    def receive(self, name: str) -> Value:
        """Return the value of a name, once a process has sent it.

        Raises:
            ProcessFailed: see `join`; nobody will send it.
        """
        __tracebackhide__ = True
        self._run(lambda: name in self._values, f"value {name!r}")
        return self._values[name]

    def wait_for(self, step: str, *names: str) -> None:
        """Let processes run until these, or all, stand at a step, where they stay for now.

        Raises:
            ProcessFailed: see `join`; one has passed the step already.
        """
        __tracebackhide__ = True
        for name in names or self.all:
            if step in self.all[name].passed:
                raise ProcessFailed(f"{name} has passed step {step!r} already")
        wanted = [self.all[name] for name in names or self.all]
        self._run(
            lambda: all(process.waits_for == ("meet", step) for process in wanted),
            f"{', '.join(process.name for process in wanted)} at step {step!r}",
        )
        self._awaited.add(step)

    def kill(self, name: str, *, at: str | None = None) -> None:
        """Kill a process by SIGKILL, at a step or where it is; return when it has ended.

        Others do not wait for it any more.

        Raises:
            ProcessFailed: see `wait_for`.
        """
        if at is not None:
            self.wait_for(at, name)
        process = self.all[name]
        process.was_killed = True
        process.end()

    def stop(self, name: str, *, at: str | None = None) -> None:
        """Stop a process by SIGSTOP, at a step or where it is, until `resume`.

        Raises:
            ProcessFailed: see `wait_for`.
        """
        if at is not None:
            self.wait_for(at, name)
        self.all[name].send(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a process go on that was stopped."""
        self.all[name].send(signal.SIGCONT)

    def join(self) -> dict[str, Value]:
        """Let all processes run to their ends; return what their functions returned, by name.

        Raises:
            ProcessFailed: one failed, died or did not end in time, or they wait for what nobody
                will do. The text has its traceback and output; the others were released.
        """
        __tracebackhide__ = True
        self._run(lambda: not any(self._running()), "the end of all")
        return {name: process.value for name, process in self.all.items()}

    def check_ended(self) -> None:
        """Do nothing when all processes have ended.

        Raises:
            ProcessFailed: the test did not wait for one.
        """
        __tracebackhide__ = True
        left = [f"{process.name} runs{process.place}" for process in self._running()]
        if left:
            raise ProcessFailed(f"the test ended without `join`: {'; '.join(left)}")

    def close(self) -> None:
        """Kill what still runs."""
        for process in self.all.values():
            process.end()

    def sections(self) -> Iterator[Section]:
        """Yield what each process wrote, for the report of a test that fails."""
        for process in self.all.values():
            state = "runs" if process.runs else f"ended with {process.status}"
            yield Section(process.name, f"{state}{process.place}\n{process.output.rstrip()}")

    def _run(self, is_reached: Callable[[], bool], what: str) -> None:
        """Let processes run until something is so."""
        __tracebackhide__ = True
        deadline = time.monotonic() + self.timeout
        while not is_reached():
            self._raise_failures()
            if self._let_on():
                continue
            self._raise_stuck(what)
            if not self._listen(deadline - time.monotonic()):
                raise self._late(what)
        self._raise_failures()

    def _let_on(self) -> bool:
        """Let those on who have what they wait for; return whether there was any."""
        found = False
        for process in self._running():
            if process.waits_for is None:
                continue
            verb, step = process.waits_for
            if verb == "receive" and step in self._values:
                self._answer(process, {"value": self._values[step]})
                found = True
            elif verb == "meet" and self._is_open(step):
                for other in self._standing_at(step):
                    other.passed.append(step)
                    self._answer(other, {})
                found = True
        return found

    def _answer(self, process: TestProcess, message: Message) -> None:
        process.waits_for = None
        process.say(message)

    def _is_open(self, step: str) -> bool:
        there = self._standing_at(step)
        killed = sum(process.was_killed for process in self.all.values())
        parties = len(there) + killed + (step in self._awaited)
        return parties >= PARTIES and len(there) == len(self._running())

    def _standing_at(self, step: str) -> list[TestProcess]:
        return [process for process in self._running() if process.waits_for == ("meet", step)]

    def _listen(self, seconds: float) -> bool:
        """Hear what processes say, or how they end; return whether there was anything in time."""
        poll = select.poll()
        talking = {process.fileno(): process for process in self._running()}
        for number in talking:
            poll.register(number, select.POLLIN)
        ready = poll.poll(max(0.0, seconds) * 1000)
        for number, _ in ready:
            for message in talking[number].hear():
                self._take(talking[number], message)
        return bool(ready)

    def _take(self, process: TestProcess, message: Message) -> None:
        verb, step = str(message.get("do")), str(message.get("step"))
        match verb:
            case "meet" | "receive":
                process.waits_for = verb, step
            case "send":
                self._keep(step, message.get("value"), process.name)
            case "done":
                process.is_done, process.value = True, message.get("value")
            case "failed":
                process.traceback = str(message.get("text"))
            case _:
                raise ProcessFailed(f"{process.name} says {message!r}, which nobody understands")

    def _keep(self, name: str, value: Value, who: str) -> None:
        if name in self._values:
            raise ProcessFailed(f"{who} sends {name!r}, which was sent already")
        self._values[name] = value

    def _running(self) -> list[TestProcess]:
        return [process for process in self.all.values() if process.runs]

    def _raise_failures(self) -> None:
        __tracebackhide__ = True
        failed = [process for process in self.all.values() if process.failure]
        if failed:
            lines = [process.failure for process in failed]
            outputs = [process.told() for process in failed]
            released = self._release(", ".join(process.name for process in failed))
            raise ProcessFailed("\n".join(filter(None, [*lines, *outputs, *released])))

    def _raise_stuck(self, what: str) -> None:
        __tracebackhide__ = True
        running = self._running()
        if running and any(process.waits_for is None for process in running):
            return
        places = [f"{process.name} stands{process.place}" for process in running]
        ended = [
            f"{each.name} has ended{each.place}" for each in self.all.values() if not each.runs
        ]
        self._release("nobody")
        found = "; ".join([*places, *ended]) or "no process runs"
        raise ProcessFailed(f"waiting for {what}, which cannot come: {found}")

    def _late(self, what: str) -> ProcessFailed:
        """Let processes that are at work say where, and end."""
        running = self._running()
        at_work = [process for process in running if process.waits_for is None]
        doing = {True: "is at work", False: "stands"}
        places = [f"{each.name} {doing[each in at_work]}{each.place}" for each in running]
        for process in at_work:
            process.show_stack()
        self._release(", ".join(process.name for process in at_work))
        outputs = [process.told() for process in at_work]
        text = f"waiting for {what}, not within {self.timeout:g} s: {'; '.join(places)}"
        return ProcessFailed("\n".join(filter(None, [text, *outputs])))

    def _release(self, whom: str) -> list[str]:
        """Tell all others that nobody comes any more; return what became of them."""
        told: list[str] = []
        for process in self._running():
            place = process.place
            process.was_released = True
            self._answer(process, {"released": f"{whom} will not come"})
            if not process.traceback:
                told.append(f"{process.name} was released{place}")
        deadline = time.monotonic() + RELEASE_SECONDS
        while self._running() and self._listen(deadline - time.monotonic()):
            for process in self._running():
                if process.waits_for is not None:
                    self._answer(process, {"released": f"{whom} will not come"})
        for process in self._running():
            told.append(f"{process.name} did not end, and was killed")
            process.end()
        return told
