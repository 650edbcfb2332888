"""Rings as a reader sees them that reads wrong: tails, entries, and what is made of commands."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, final

from device.inject.records import CONTROL, WORK, altered, facts_of
from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.rings import U32_MASK, RingHeader
from firmware.abi.work import FenceWrite, Nop, WorkFlags
from firmware.inject.actions import Drop, Repeat, Stale, Torn, Value

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.engine import WorkQueue
    from device.inject.rounds import InjectedRounds
    from firmware.inject import Action
    from firmware.link.rings import Consumer
    from firmware.link.ringshape import RingShape

_LOW: int = 0xFFFF
_NOTHING: bytes = Nop(flags=WorkFlags.NONE, tag=0).pack()


class Withheld(NamedTuple):
    """A command that a rule keeps from being carried out."""

    rule: str
    entry: bytes


class RingReader:
    """The device's end of one ring of a client (see `device.core.inside.RingSource`).

    Owner: the tap of rings. A tail is asked for when it has changed, entries once, when a tail
    announces them.
    """

    def __init__(self, inner: Consumer, rounds: InjectedRounds, client: Client, ring: str) -> None:
        self.inner = inner
        self.rounds = rounds
        # Weakly: they would keep each other, and with them the mapping of the segment.
        self.client: Client = weakref.proxy(client)
        self.ring = ring
        self._tail = inner.head
        self._announced = inner.head
        words = client.words.u8
        start = inner.header + RingHeader.SIZE
        count, size = inner.shape
        self._before = bytearray(words[start : start + count * size])
        """What each place held before its present entry was announced."""

    @property
    def header(self) -> int:
        """Where the ring's header stands."""
        return self.inner.header

    @property
    def shape(self) -> RingShape:
        """Entries and their size."""
        return self.inner.shape

    @property
    def head(self) -> int:
        """Entries taken so far."""
        return self.inner.head

    def unread(self) -> bytes:
        """Return what waits, as it really is."""
        return self.inner.unread()

    def publish_head(self) -> tuple[int, int]:
        """Give the room of what was taken back."""
        return self.inner.publish_head()

    def arm(self) -> None:
        """Ask to be told of the next entry."""
        self.inner.arm()

    def restart(self) -> None:
        """Begin again at index zero."""
        self.inner.restart()
        self._tail = self._announced = 0

    def look(self) -> tuple[int, bytes]:
        """Return how many entries wait, and those of them that were not announced before.

        Raises:
            BadTail: the tail that was read is too far ahead.
        """
        inner = self.inner
        tail = inner.tail
        if tail != self._tail:
            hit = self.rounds.ask("link.tail", self.rounds.site(self.client, ring=self.ring))
            if hit is not None:
                tail = _misread(hit.action, self._tail, tail)
            self._tail = tail
        waiting = inner.bound(tail)
        new = waiting - ((self._announced - inner.head) & U32_MASK)
        if new <= 0:
            return waiting, b""
        entries = inner.peek(waiting)[(waiting - new) * WORK_COMMAND_SIZE :]
        return waiting, self._announce(new, entries)

    def _announce(self, new: int, entries: bytes) -> bytes:
        """Note entries that a tail announced; return what the device sees of them."""
        hit = self.rounds.ask("link.payload", self.rounds.site(self.client, ring=self.ring))
        mask = self.inner.shape.entry_count - 1
        old = bytearray()
        for number in range(new):
            at = ((self._announced + number) & mask) * WORK_COMMAND_SIZE
            part = slice(at, at + WORK_COMMAND_SIZE)
            old += self._before[part]
            start = number * WORK_COMMAND_SIZE
            self._before[part] = entries[start : start + WORK_COMMAND_SIZE]
        self._announced = (self._announced + new) & U32_MASK
        return entries if hit is None else bytes(old)


@final
class ControlReader(RingReader):
    """The control ring of one client.

    Commands are taken out of the ring when they are announced, so that one can be left out or
    carried out again. When it is `passive` it passes everything on and goes once nothing is left.
    """

    def __init__(self, inner: Consumer, rounds: InjectedRounds, client: Client) -> None:
        super().__init__(inner, rounds, client, "control")
        self._ready: deque[bytes] = deque()
        self._withheld: list[Withheld] = []
        self.passive = False

    def available(self) -> int:
        """Return how many commands wait (see `RingSource`)."""
        if self.passive:
            self._ready.extend(self.inner.fetch() for _ in range(self.inner.available()))
            if not self._ready:
                self.client.control.consumer = self.inner
            return len(self._ready)
        waiting, entries = self.look()
        self.inner.retire(waiting)
        for start in range(0, len(entries), WORK_COMMAND_SIZE):
            self._admit(entries[start : start + WORK_COMMAND_SIZE])
        return len(self._ready)

    def peek(self, count: int = 1) -> bytes:
        """Return the next commands without taking them."""
        return b"".join(list(self._ready)[:count])

    def fetch(self) -> bytes:
        """Take one command."""
        return self._ready.popleft()

    def retire(self, count: int) -> None:
        """Take commands that were peeked at."""
        for _ in range(count):
            self._ready.popleft()

    def let_go(self, *, everything: bool) -> None:
        """Have the commands carried out now that were withheld by rules which are gone."""
        has = self.rounds.injector.has
        free = [one for one in self._withheld if everything or not has(one.rule)]
        if free:
            self._withheld = [one for one in self._withheld if one not in free]
            self._ready.extend(one.entry for one in free)
            self.client.control.look()

    def _admit(self, entry: bytes) -> None:
        facts = facts_of(entry, CONTROL)
        site = self.rounds.site(
            self.client,
            ring=self.ring,
            opcode=facts.opcode,
            address=facts.address,
            size=facts.size,
            number=facts.number,
        )
        hit = self.rounds.ask("command.control", site)
        match None if hit is None else hit.action:
            case Drop() if hit is not None:
                self._withheld.append(Withheld(hit.rule, entry))
            case Repeat(count=count):
                self._ready.extend([entry] * (1 + max(0, count)))
            case _:
                self._ready.append(entry if hit is None else altered(entry, hit, CONTROL))


@final
class WorkReader(RingReader):
    """The ring of one work queue.

    Commands keep their numbers: one that is left out becomes a NOP, one that is repeated is run
    more than once and counts once.
    """

    def __init__(
        self, inner: Consumer, rounds: InjectedRounds, client: Client, queue: WorkQueue
    ) -> None:
        super().__init__(inner, rounds, client, f"work{queue.queue_id}")
        self._queue: WorkQueue = weakref.proxy(queue)
        self._instead: dict[int, bytes] = {}
        """By index, what the device sees in place of an entry."""
        self._withheld: list[Withheld] = []
        self.repeats: dict[int, int] = {}
        """By seqno, how many times more a command is run."""

    def available(self) -> int:
        """Return how many commands wait (see `RingSource`)."""
        waiting, entries = self.look()
        first = waiting - len(entries) // WORK_COMMAND_SIZE
        for start in range(0, len(entries), WORK_COMMAND_SIZE):
            self._admit(
                first + start // WORK_COMMAND_SIZE, entries[start : start + WORK_COMMAND_SIZE]
            )
        return waiting

    def peek(self, count: int = 1) -> bytes:
        """Return the next commands without taking them."""
        entries = self.inner.peek(count)
        if not self._instead:
            return entries
        return b"".join(
            self._instead.get(
                (self.head + number) & U32_MASK,
                entries[number * WORK_COMMAND_SIZE : (number + 1) * WORK_COMMAND_SIZE],
            )
            for number in range(count)
        )

    def fetch(self) -> bytes:
        """Take one command."""
        index = self.head
        entry = self.inner.fetch()
        return self._instead.pop(index, entry)

    def retire(self, count: int) -> None:
        """Take commands that were peeked at."""
        for number in range(count if self._instead else 0):
            self._instead.pop((self.head + number) & U32_MASK, None)
        self.inner.retire(count)

    def restart(self) -> None:
        """Begin again at index zero; nothing is withheld any more."""
        super().restart()
        self._instead.clear()
        self._withheld.clear()
        self.repeats.clear()

    def let_go(self, *, everything: bool) -> None:
        """Signal the fences now whose commands were left out by rules which are gone."""
        has = self.rounds.injector.has
        free = [one for one in self._withheld if everything or not has(one.rule)]
        self._withheld = [one for one in self._withheld if one not in free]
        for one in free:
            command = FenceWrite.unpack(one.entry)
            if isinstance(command, FenceWrite):
                self.rounds.signal(self._queue, command)

    def _admit(self, number: int, entry: bytes) -> None:
        """Decide on the command that is the so-many-th behind those taken, counted from 0."""
        facts = facts_of(entry, WORK)
        site = self.rounds.site(
            self.client,
            ring=self.ring,
            opcode=facts.opcode,
            address=facts.address,
            size=facts.size,
            number=self._queue.queue_id,
        )
        hit = self.rounds.ask("command.work", site)
        seen = entry
        match None if hit is None else hit.action:
            case Drop() if hit is not None:
                self._withheld.append(Withheld(hit.rule, entry))
                seen = _NOTHING
            case Repeat(count=count):
                self.repeats[self._queue.taken + 1 + number] = max(0, count)
            case _ if hit is not None:
                seen = altered(entry, hit, WORK)
            case _:
                pass
        index = (self.head + number) & U32_MASK
        self._instead[index] = seen


def _misread(action: Action, old: int, new: int) -> int:
    """Return what is read of a tail that went from `old` to `new`."""
    match action:
        case Stale():
            return old
        case Torn():
            return old & ~_LOW & U32_MASK | new & _LOW
        case Value(value=value):
            return value & U32_MASK
        case _:
            return new
