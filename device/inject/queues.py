"""Queues: they hang, their engine is reset, or they wait for their turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.engine.steps import IDLE, Activity, Later, Next
from device.core.errors import EngineFault
from device.inject.rounds import AroundRounds, ticks
from firmware.abi.faults import FaultReason
from firmware.abi.ids import Access
from firmware.inject.actions import Delay, Hang, Reset

if TYPE_CHECKING:
    from device.core.engine import WorkQueue
    from device.core.engine.ports import TakesTurns
    from device.core.engine.steps import Outcome, Quantum
    from device.inject.rounds import InjectedRounds


@final
class QueuesTap(AroundRounds):
    """Reaches `device.queue` before each turn of a queue that has something to do."""

    points = frozenset({"device.queue"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._scheduler = rounds.inside.blocks.scheduler
        self._inner: TakesTurns = self._scheduler.turns
        self._hung: dict[WorkQueue, str] = {}
        """Queues that hang, and the rules that say so."""
        self._delayed: dict[WorkQueue, str] = {}
        """Queues that are delayed until their turn, and the rules that say so."""

    @property
    def batched(self) -> int:
        """Commands that were moved by batches."""
        return self._inner.batched

    def install(self) -> None:
        """Come in."""
        super().install()
        self._inner, self._scheduler.turns = self._scheduler.turns, self

    def remove(self) -> None:
        """Go out; queues that hang go on."""
        if self._scheduler.turns is self:
            self._scheduler.turns = self._inner
        self._let_go(everything=True)
        self._delayed.clear()
        super().remove()

    def before(self, now: int) -> None:
        """Let queues go on whose rule is gone."""
        del now
        self._let_go(everything=False)

    def run(self, queue: WorkQueue, now: int, quantum: Quantum) -> Outcome:
        """Give a queue its turn (see `TakesTurns`), or do what a rule says."""
        if self._delayed.pop(queue, "") or (queue.command is None and not queue.is_rung):
            return self._inner.run(queue, now, quantum)
        client = self.rounds.state.clients[queue.client.client_id]
        number = queue.queue_id
        site = self.rounds.site(client, ring=f"work{number}", number=number)
        hit = self.rounds.ask("device.queue", site)
        match None if hit is None else hit.action:
            case Hang() if hit is not None:
                self._hung[queue] = hit.rule
                return Next.NEVER
            case Reset():
                fault = EngineFault(FaultReason.ENGINE_RESET, 0, Access.FETCH)
                return self._scheduler.runner.stop(queue, now, fault)
            case Delay(seconds=seconds) if hit is not None:
                self._delayed[queue] = hit.rule
                queue.clock = max(queue.clock, now)
                return Later(ticks(seconds))
            case _:
                return self._inner.run(queue, now, quantum)

    def _let_go(self, *, everything: bool) -> None:
        has = self.rounds.injector.has
        for queue, rule in tuple(self._hung.items()):
            if queue.activity is not Activity.HUNG:
                # It was reset, or is gone.
                del self._hung[queue]
            elif everything or not has(rule):
                del self._hung[queue]
                queue.activity = IDLE
                self._scheduler.kick(queue)
        now = self.rounds.state.now
        for queue, rule in self._delayed.items():
            if queue.activity is Activity.DELAYED and (everything or not has(rule)):
                queue.clock = min(queue.clock, now)
