"""Doorbells: lost, late, or heard more than once."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

from device.inject.rounds import AroundRounds, ticks
from firmware.inject.actions import Delay, Drop, Repeat

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.clients import Client
    from device.core.engine import WorkQueue
    from device.core.inside import DoorbellPage
    from device.inject.rounds import InjectedRounds

Rung: TypeAlias = "WorkQueue | None"
"""Whose doorbell it was; None: the control ring's."""


class _Held(NamedTuple):
    """A doorbell that the device has not heard yet."""

    rule: str
    due: int | None
    """Device time at which it hears it; None: when its rule goes."""


@final
class DoorbellEar:
    """The doorbells of one client as a device hears them that does not hear all.

    See `device.core.inside.DoorbellPage`. Owner: the tap of doorbells. A doorbell that was not
    heard stays so until the same one is rung again.
    """

    def __init__(self, inner: DoorbellPage, rounds: InjectedRounds, client: Client) -> None:
        self.inner = inner
        self._rounds = rounds
        # Weakly: they would keep each other, and with them the mapping of the segment.
        self._client: Client = weakref.proxy(client)
        self._held: dict[Rung, _Held] = {}
        self._again: dict[Rung, int] = {}
        """How often doorbells are heard again, once in each round."""

    @property
    def view(self) -> memoryview:
        """The words that are looked at."""
        return self.inner.view

    @property
    def seen(self) -> bytes:
        """What the words held when `take` looked; no such bytes when it has to be called."""
        return b"" if self._again or self._is_due() else self.inner.seen

    @property
    def changes(self) -> int:
        """Doorbell words seen to change."""
        return self.inner.changes

    @property
    def wake_at(self) -> int | None:
        """Device time at which a doorbell is heard."""
        return min((one.due for one in self._held.values() if one.due is not None), default=None)

    def free_index(self) -> int | None:
        """Return the lowest word that no queue has, or None."""
        return self.inner.free_index()

    def join(self, index: int, queue: WorkQueue) -> None:
        """Give a word to a queue."""
        self.inner.join(index, queue)

    def leave(self, queue: WorkQueue) -> None:
        """Take a queue's word from it."""
        self._held.pop(queue, None)
        self._again.pop(queue, None)
        self.inner.leave(queue)

    def clear(self, queue: WorkQueue) -> None:
        """Begin again at zero with the queue's ring."""
        self._held.pop(queue, None)
        self.inner.clear(queue)

    def check(self, queues: list[WorkQueue]) -> None:
        """Raise InvariantError unless exactly these queues have words."""
        self.inner.check(queues)

    def take(self, now: bytes, kick: Callable[[WorkQueue], None]) -> bool:
        """Hear the doorbells whose words changed, as rules let it."""
        rung: list[Rung] = self._over()
        changed: list[WorkQueue] = []
        control = self.inner.take(now, changed.append)
        rung += [queue for queue in changed if self._hears(queue)]
        if control and self._hears(None):
            rung.append(None)
        return _hear(rung, kick)

    def kick_all(self, kick: Callable[[WorkQueue], None]) -> bool:
        """Hear every doorbell that matters, but for those that are not to be heard.

        What was lost before is heard now: the client has asked to be looked after.
        """
        for queue in [queue for queue, one in self._held.items() if one.due is None]:
            self._held[queue] = self._held[queue]._replace(due=0)
        control = self.take(self.view.tobytes(), kick)
        found: list[WorkQueue] = []
        self.inner.kick_all(found.append)
        _hear([queue for queue in found if queue not in self._held], kick)
        return control or None not in self._held

    def _hears(self, queue: Rung) -> bool:
        """Return whether a doorbell that was rung is heard now."""
        ring = "control" if queue is None else f"work{queue.queue_id}"
        hit = self._rounds.ask("link.doorbell", self._rounds.site(self._client, ring=ring))
        self._held.pop(queue, None)
        match None if hit is None else hit.action:
            case Drop() if hit is not None:
                self._held[queue] = _Held(hit.rule, None)
                return False
            case Delay(seconds=seconds) if hit is not None:
                due = self._rounds.state.now + ticks(seconds)
                self._held[queue] = _Held(hit.rule, due)
                return False
            case Repeat(count=count) if count > 0:
                self._again[queue] = count
                return True
            case _:
                return True

    def _is_due(self) -> bool:
        now = self._rounds.state.now
        has = self._rounds.injector.has
        return any(
            not has(one.rule) or (one.due is not None and one.due <= now)
            for one in self._held.values()
        )

    def _over(self) -> list[Rung]:
        """Return the doorbells that are heard now: late, or once more."""
        now = self._rounds.state.now
        has = self._rounds.injector.has
        late = [
            queue
            for queue, one in self._held.items()
            if not has(one.rule) or (one.due is not None and one.due <= now)
        ]
        for queue in late:
            del self._held[queue]
        again = list(self._again)
        self._again = {queue: count - 1 for queue, count in self._again.items() if count > 1}
        return late + again


@final
class DoorbellsTap(AroundRounds):
    """Reaches `link.doorbell` when a doorbell word has changed, of every client."""

    points = frozenset({"link.doorbell"})

    @property
    def wake_at(self) -> int | None:
        """Device time at which a doorbell is heard."""
        ears = [client.doorbells for client in self.rounds.state.clients.values()]
        due = [ear.wake_at for ear in ears if isinstance(ear, DoorbellEar)]
        return min((at for at in due if at is not None), default=None)

    def install(self) -> None:
        """Come in."""
        super().install()
        self._wrap()

    def remove(self) -> None:
        """Go out; every ring is looked at once more."""
        for client in self.rounds.state.clients.values():
            if isinstance(client.doorbells, DoorbellEar):
                client.doorbells = client.doorbells.inner
                client.rung = True
        super().remove()

    def before(self, now: int) -> None:
        """Come in front of the doorbells of new clients."""
        del now
        self._wrap()

    def _wrap(self) -> None:
        for client in self.rounds.state.clients.values():
            if not isinstance(client.doorbells, DoorbellEar):
                client.doorbells = DoorbellEar(client.doorbells, self.rounds, client)


def _hear(rung: list[Rung], kick: Callable[[WorkQueue], None]) -> bool:
    """Kick queues; return whether the control ring's doorbell is among those rung."""
    for queue in rung:
        if queue is not None:
            kick(queue)
    return None in rung
