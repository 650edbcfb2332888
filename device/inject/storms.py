"""Interrupts that come by themselves, while the device does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.effects import Notify
from device.inject.rounds import AroundRounds, ticks
from firmware.abi.rings import CONSUMER_SLEEPERS, TAIL
from firmware.inject.actions import Spurious

if TYPE_CHECKING:
    from device.core.effects import Effect
    from device.inject.rounds import InjectedRounds
    from firmware.inject import Standing


@final
class StormsTap(AroundRounds):
    """Reaches `link.interrupt` for each client when a rule wants interrupts every so often.

    What comes by itself tells of the client's control ring, where nothing has changed. It is a site
    as every other: rules that select it count it, and the first that fires decides.
    """

    points = frozenset({"link.interrupt"})
    makes_rounds = False

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._due: dict[str, int] = {}
        """Device time of the next interrupts, by rule."""
        self._storms: dict[str, Standing] = {}
        self._changes = -1

    @property
    def wake_at(self) -> int | None:
        """Device time at which the next interrupts come."""
        self._see()
        return min(self._due.values(), default=None)

    def remove(self) -> None:
        """Go out."""
        self._due.clear()
        self._changes = -1
        super().remove()

    def after(self, now: int, effects: list[Effect]) -> list[Effect]:
        """Return what a round asked for, and the interrupts that are due."""
        self._see()
        for name, storm in self._storms.items():
            if self._due[name] <= now:
                # What was missed meanwhile is not made up for.
                self._due[name] = now + ticks(_every(storm))
                effects = [*effects, *self._interrupt_all(storm)]
        return effects

    def _see(self) -> None:
        """Learn which rules there are now, and when their first interrupts come."""
        injector = self.rounds.injector
        if self._changes == injector.changes:
            return
        self._changes = injector.changes
        self._storms = {
            rule.name: rule for rule in injector.standing("link.interrupt") if _every(rule)
        }
        self._due = {
            name: self._due.get(name, ticks(rule.begins + _every(rule)))
            for name, rule in self._storms.items()
        }

    def _interrupt_all(self, storm: Standing) -> list[Effect]:
        told: list[Effect] = []
        for number, client in self.rounds.state.clients.items():
            site = self.rounds.site(client, ring="control")
            if client.lost is not None or not storm.rule.selects(site):
                continue
            hit = self.rounds.ask("link.interrupt", site)
            if hit is None or not isinstance(hit.action, Spurious):
                continue
            header = client.plan.reply_ring_offset
            told += [
                Notify(number, header + TAIL, header + CONSUMER_SLEEPERS, force=True)
            ] * hit.action.count
        return told


def _every(storm: Standing) -> float:
    action = storm.rule.action
    return action.every if isinstance(action, Spurious) else 0.0
