"""Interrupts and wake-ups: lost, late, or without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from device.core.effects import Notify, WakeSlot
from device.inject.rounds import AroundRounds, ticks
from firmware.abi.rings import RingHeader
from firmware.inject.actions import Delay, Drop, Spurious

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.effects import Effect
    from device.inject.rounds import InjectedRounds
    from firmware.inject import Hit


class _Held(NamedTuple):
    """A notice that was not given to the shell."""

    rule: str
    due: int | None
    """Device time at which it is; None: when its rule goes."""
    notice: Notify | WakeSlot


@final
class SignalsTap(AroundRounds):
    """Reaches `link.interrupt` for each notice that a round gives to the shell.

    A notice is one word that was stored: whoever sleeps on it is woken, and the client's interrupt
    is raised if it asked for it. A word of a fence pool in a file of its own is nobody's.
    """

    points = frozenset({"link.interrupt"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._held: list[_Held] = []

    @property
    def wake_at(self) -> int | None:
        """Device time at which a notice is due."""
        return min((one.due for one in self._held if one.due is not None), default=None)

    def remove(self) -> None:
        """Go out; notices that were held back are given in the next round."""
        self.rounds.inside.supervisor.effects.extend(one.notice for one in self._held)
        self._held.clear()
        super().remove()

    def after(self, now: int, effects: list[Effect]) -> list[Effect]:
        """Return what a round asked for, with what rules do to its notices."""
        has = self.rounds.injector.has
        due = [
            one
            for one in self._held
            if not has(one.rule) or (one.due is not None and one.due <= now)
        ]
        self._held = [one for one in self._held if one not in due]
        told: list[Effect] = [one.notice for one in due]
        for effect in effects:
            if isinstance(effect, Notify | WakeSlot):
                told += self._tell(effect, now)
            else:
                told.append(effect)
        return told

    def _tell(self, notice: Notify | WakeSlot, now: int) -> list[Notify | WakeSlot]:
        hit = self._ask(notice)
        match None if hit is None else hit.action:
            case Drop() if hit is not None:
                self._held.append(_Held(hit.rule, None, notice))
                return []
            case Delay(seconds=seconds) if hit is not None:
                self._held.append(_Held(hit.rule, now + ticks(seconds), notice))
                return []
            case Spurious(count=count):
                return [notice, *[_without_reason(notice)] * max(0, count)]
            case _:
                return [notice]

    def _ask(self, notice: Notify | WakeSlot) -> Hit | None:
        if isinstance(notice, WakeSlot):
            return self.rounds.ask("link.interrupt", self.rounds.site())
        client = self.rounds.state.clients.get(notice.client_id)
        ring = "" if client is None else _ring_of(client, notice.word)
        return self.rounds.ask("link.interrupt", self.rounds.site(client, ring=ring))


def _ring_of(client: Client, word: int) -> str:
    """Return the ring whose header holds a word of a client's segment; empty for no ring's."""
    plan = client.plan
    if any(
        start <= word < start + RingHeader.SIZE
        for start in (plan.control_ring_offset, plan.reply_ring_offset)
    ):
        return "control"
    for queue in client.queues.values():
        if queue.header <= word < queue.header + RingHeader.SIZE:
            return f"work{queue.queue_id}"
    return ""


def _without_reason(notice: Notify | WakeSlot) -> Notify | WakeSlot:
    """Return a notice of the same word that is given whatever the client asked for."""
    if isinstance(notice, WakeSlot):
        return notice
    return Notify(notice.client_id, notice.word, notice.sleepers, force=True)
