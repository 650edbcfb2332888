"""Replies: repeated, in another order, late or never."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from device.inject.records import CONTROL, facts_of
from device.inject.rounds import AroundRounds, ticks
from firmware.inject.actions import Delay, Drop, Reorder, Repeat
from firmware.link.errors import BadHead, RingFull
from firmware.link.rings import Producer

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.inject.rounds import InjectedRounds
    from firmware.link.ringshape import RingShape

PATIENCE_TICKS: Final = 10_000_000
"""How long a reply waits for the next one to change places with, in nanoseconds."""


@dataclass(slots=True)
class _Held:
    """A reply that is held back."""

    rule: str
    reply: bytes
    due: int | None
    """Device time at which it is put; None: when its rule goes."""
    swaps: bool = False
    """Whether it is put behind the next one."""


@final
class ReplySink:
    """The reply ring of one client, with what rules do (see `device.core.inside.RingSink`).

    Owner: the tap of replies. Invariant: each reply that is held back has a place in the ring.
    """

    def __init__(self, inner: Producer, rounds: InjectedRounds, client: Client) -> None:
        self.inner = inner
        self._rounds = rounds
        # Weakly: they would keep each other, and with them the mapping of the segment.
        self._client: Client = weakref.proxy(client)
        self._held: list[_Held] = []

    @property
    def header(self) -> int:
        """Where the ring's header stands."""
        return self.inner.header

    @property
    def shape(self) -> RingShape:
        """Entries and their size."""
        return self.inner.shape

    @property
    def tail(self) -> int:
        """Entries put so far."""
        return self.inner.tail

    @property
    def free(self) -> int:
        """Entries that fit beside those that are held back."""
        return self.inner.free - len(self._held)

    @property
    def wake_at(self) -> int | None:
        """Device time at which a reply is to be put."""
        return min((one.due for one in self._held if one.due is not None), default=None)

    def publish(self) -> tuple[int, int]:
        """Make every entry visible."""
        return self.inner.publish()

    def arm(self, room: int = 1) -> None:
        """Ask to be told of room."""
        self.inner.arm(room + len(self._held))

    def put(self, entry: bytes) -> None:
        """Put a reply, or do what a rule says."""
        opcode = facts_of(entry, CONTROL).opcode
        site = self._rounds.site(self._client, ring="control", opcode=opcode)
        hit = self._rounds.ask("link.reply", site)
        swapped = [one for one in self._held if one.swaps]
        now = self._rounds.state.now
        match None if hit is None else hit.action:
            case Drop() if hit is not None:
                self._held.append(_Held(hit.rule, entry, None))
            case Delay(seconds=seconds) if hit is not None:
                self._held.append(_Held(hit.rule, entry, now + ticks(seconds)))
            case Reorder() if hit is not None and not swapped:
                self._held.append(_Held(hit.rule, entry, now + PATIENCE_TICKS, swaps=True))
            case Repeat(count=count):
                self.inner.put(entry)
                for _ in range(count):
                    if self.free > self._client.control.kept:
                        self.inner.put(entry)
            case _:
                self.inner.put(entry)
        for one in swapped:
            self._held.remove(one)
            self.inner.put(one.reply)

    def let_go(self, now: int, *, everything: bool) -> None:
        """Put what is due, or whose rule is gone."""
        has = self._rounds.injector.has
        for one in tuple(self._held):
            is_due = one.due is not None and one.due <= now
            if everything or is_due or not has(one.rule):
                self._held.remove(one)
                self._put_late(one.reply)

    def _put_late(self, reply: bytes) -> None:
        try:
            self.inner.put(reply)
        except (BadHead, RingFull):
            # The client stored nonsense into its head; the device stops the ring when it looks.
            return
        # The next service of the control ring publishes it.
        self._client.control.active = True


@final
class RepliesTap(AroundRounds):
    """Reaches `link.reply` for each reply, in front of the reply rings of all clients."""

    points = frozenset({"link.reply"})

    @property
    def wake_at(self) -> int | None:
        """Device time at which a reply is to be put."""
        due = [sink.wake_at for sink in self._sinks()]
        return min((at for at in due if at is not None), default=None)

    def install(self) -> None:
        """Come in."""
        super().install()
        self._wrap()

    def remove(self) -> None:
        """Go out; replies that were held back are put."""
        for client in self.rounds.state.clients.values():
            sink = client.control.producer
            if isinstance(sink, ReplySink):
                sink.let_go(self.rounds.state.now, everything=True)
                client.control.producer = sink.inner
        super().remove()

    def before(self, now: int) -> None:
        """Come in front of new rings, and put what is due."""
        self._wrap()
        for sink in self._sinks():
            sink.let_go(now, everything=False)

    def _sinks(self) -> list[ReplySink]:
        clients = self.rounds.state.clients.values()
        sinks = [client.control.producer for client in clients]
        return [sink for sink in sinks if isinstance(sink, ReplySink)]

    def _wrap(self) -> None:
        for client in self.rounds.state.clients.values():
            sink = client.control.producer
            if isinstance(sink, Producer):
                client.control.producer = ReplySink(sink, self.rounds, client)
