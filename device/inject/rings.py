"""Rings: what the device reads of tails, entries and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.inject.readers import ControlReader, WorkReader
from device.inject.rounds import AroundRounds
from firmware.link.rings import Consumer

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import WorkQueue
    from device.core.engine.steps import Job
    from device.inject.commands import InjectedCommands
    from device.inject.rounds import InjectedRounds
    from firmware.abi.work import WorkCommand


@final
class RingsTap(AroundRounds):
    """Reaches `link.tail`, `link.payload`, `command.control` and `command.work`.

    It comes in front of the device's end of every ring, of clients and queues that come later too:
    those that are made in one round are read in the next one at the earliest.
    """

    points = frozenset({"link.tail", "link.payload", "command.control", "command.work"})

    def __init__(self, rounds: InjectedRounds, commands: InjectedCommands) -> None:
        super().__init__(rounds)
        self._commands = commands

    def install(self) -> None:
        """Come in."""
        super().install()
        self._commands.enter(self)
        self._wrap()

    def remove(self) -> None:
        """Go out; what was withheld is carried out, and every ring is looked at once more."""
        self._commands.leave(self)
        for client in self.rounds.state.clients.values():
            reader = client.control.consumer
            if isinstance(reader, ControlReader):
                reader.let_go(everything=True)
                reader.passive = True
            for queue in client.queues.values():
                if isinstance(queue.consumer, WorkReader):
                    queue.consumer.let_go(everything=True)
                    queue.consumer = queue.consumer.inner
            client.rung = True
        super().remove()

    def before(self, now: int) -> None:
        """Come in front of new rings, and let go what is over."""
        del now
        self._wrap()
        for client in self.rounds.state.clients.values():
            if isinstance(client.control.consumer, ControlReader):
                client.control.consumer.let_go(everything=False)
            for queue in client.queues.values():
                if isinstance(queue.consumer, WorkReader):
                    queue.consumer.let_go(everything=False)

    def execute(
        self, queue: WorkQueue, command: WorkCommand, run: Callable[[WorkCommand], Job | None]
    ) -> Job | None:
        """Run a command as often as its ring seems to say (see `Makes`)."""
        reader = queue.consumer
        count = reader.repeats.pop(queue.taken, 0) if isinstance(reader, WorkReader) else 0
        return _again(command, run, count) if count else run(command)

    def _wrap(self) -> None:
        rounds = self.rounds
        for client in rounds.state.clients.values():
            control = client.control.consumer
            if isinstance(control, ControlReader):
                control.passive = False
            elif isinstance(control, Consumer):
                client.control.consumer = ControlReader(control, rounds, client)
            for queue in client.queues.values():
                if isinstance(queue.consumer, Consumer):
                    queue.consumer = WorkReader(queue.consumer, rounds, client, queue)


def _again(command: WorkCommand, run: Callable[[WorkCommand], Job | None], count: int) -> Job:
    """Run a command and then so many times more."""
    for _ in range(1 + count):
        job = run(command)
        if job is not None:
            yield from job
