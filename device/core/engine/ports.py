"""Where something may come in between scheduler, turns and commands (see `device.core.inside`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job, Outcome, Quantum
    from firmware.abi.work import WorkCommand


class TakesTurns(Protocol):
    """What runs queues, one turn at a time (see `turns.Turns`)."""

    @property
    def batched(self) -> int:
        """Commands that were moved by batches."""
        ...

    def run(self, queue: WorkQueue, now: int, quantum: Quantum) -> Outcome:
        """Go on with a queue for one turn and publish what was done."""
        ...


class Commands(Protocol):
    """What runs decoded commands: the `Executor`, or what came in between."""

    def cost(self, command: WorkCommand) -> int:
        """Return the model time of a command in ticks."""
        ...

    def execute(self, queue: WorkQueue, command: WorkCommand) -> Job | None:
        """Run a command; return what is left of it when it has to give way, else None.

        Raises:
            EngineFault: it cannot go on.
        """
        ...
