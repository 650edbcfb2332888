"""In front of what runs work commands: what several taps make of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import WorkQueue
    from device.core.engine.ports import Commands
    from device.core.engine.steps import Job
    from device.inject.rounds import InjectedRounds
    from firmware.abi.work import WorkCommand


Run: TypeAlias = "Callable[[WorkCommand], Job | None]"
"""Runs one command of a queue, as a `Makes` is given it."""


class Makes(Protocol):
    """What makes something else of commands."""

    def execute(self, queue: WorkQueue, command: WorkCommand, run: Run) -> Job | None:
        """Run a command by `run`, or not, or another one, or more than once.

        Raises:
            EngineFault: it cannot go on.
        """
        ...


@final
class InjectedCommands:
    """Runs the commands of one device's queues (see `device.core.engine.ports.Commands`).

    Owner: the taps of one device. Invariant: it is in front of the executor, and every command goes
    through it by itself, while a tap has entered; if something else came in front of it meanwhile
    it stays, and passes everything on.
    """

    def __init__(self, rounds: InjectedRounds) -> None:
        self._turns = rounds.inside.blocks.scheduler.runner
        self._inner: Commands = self._turns.executor
        self._is_in = False
        self._makers: list[Makes] = []

    def enter(self, maker: Makes) -> None:
        """Take what makes something of commands; the last one is asked first."""
        self._makers.append(maker)
        self._turns.singly(wanted=True)
        if not self._is_in:
            self._inner, self._turns.executor = self._turns.executor, self
            self._is_in = True

    def leave(self, maker: Makes) -> None:
        """Forget one; the last that goes takes this away."""
        self._makers.remove(maker)
        self._turns.singly(wanted=False)
        if not self._makers and self._turns.executor is self:
            self._turns.executor = self._inner
            self._is_in = False

    def cost(self, command: WorkCommand) -> int:
        """Return the model time of a command in ticks."""
        return self._inner.cost(command)

    def execute(self, queue: WorkQueue, command: WorkCommand) -> Job | None:
        """Run a command (see `Commands`), or what the taps make of it."""
        return self._run(queue, command, tuple(self._makers))

    def _run(self, queue: WorkQueue, command: WorkCommand, makers: tuple[Makes, ...]) -> Job | None:
        if not makers:
            return self._inner.execute(queue, command)

        def run(command: WorkCommand) -> Job | None:
            return self._run(queue, command, makers[:-1])

        return makers[-1].execute(queue, command, run)
