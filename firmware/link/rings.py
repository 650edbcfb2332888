"""Both ends of a ring, on the memory that they share.

The shape of a ring is given by whoever made it; only a driver, which trusts its device, reads it
from the header. Each end keeps its own index privately and only publishes it (INV-RING-2); the
peer's index is read once into a local, bounded, then used (INV-RING-3).

The order of stores is kept by the machine: x86-64 makes one core's stores visible in program order.
What it does not order is a store and a later load, which is why whoever looks at the peer's event
index or sleepers after `publish` goes through `firmware.link.notify`.
"""

from __future__ import annotations

from typing import final

from firmware.abi.rings import HEAD_EVENT, TAIL_EVENT, U32_MASK, silent_event
from firmware.link.errors import BadHead, BadTail, InvariantError, RingEmpty, RingFull
from firmware.link.ringend import RingEnd, RingStatistics
from firmware.link.ringshape import RingShape, format_ring, read_shape

__all__ = ["Consumer", "Producer", "RingShape", "RingStatistics", "format_ring", "read_shape"]


@final
class Producer(RingEnd):
    """The end that puts entries into a ring.

    Owner: one thread at a time. Invariant: published tail <= private tail <= known head + entries.
    `restart` is what survives nothing: both indices are zero again.
    """

    __slots__ = ("_known_head", "_room", "tail")

    def _begin(self, start: int) -> None:
        self.tail = start
        """Private tail: entries put so far, published or not (u32)."""
        self._known_head = self._published = start
        self._room = self._count

    @property
    def free(self) -> int:
        """Entries that fit now.

        Raises:
            BadHead: the consumer's head lies outside what waits; the ring cannot be used.
        """
        head = self._u32[self._head_at]
        waiting = (self.tail - self._known_head) & U32_MASK
        if (self.tail - head) & U32_MASK > waiting:
            raise BadHead(head, self.tail, waiting)
        self._known_head = head
        self._room = self._count - ((self.tail - head) & U32_MASK)
        return self._room

    def reserve(self, count: int) -> None:
        """See that `count` entries fit, looking at the consumer's head only when needed.

        Raises:
            RingFull: they do not fit.
            BadHead: see `free`.
        """
        if count > self._room and count > self.free:
            raise RingFull(
                f"ring at {self.header:#x}: {count} entries asked for, {self._room} of"
                f" {self._count} free"
            )

    def put(self, entry: bytes) -> None:
        """Copy one entry in; the peer sees it after `publish`.

        Raises:
            RingFull: no entry is free.
            ValueError: `entry` has another size than the ring's entries.
            BadHead: see `free`.
        """
        if self._room == 0:
            self.reserve(1)
        at = self._entries + (self.tail & self._mask) * self._size
        self._u8[at : at + self._size] = entry
        self.tail = (self.tail + 1) & U32_MASK
        self._room -= 1

    def put_many(self, entries: bytes | memoryview) -> int:
        """Copy any number of entries in, all or none; return how many there were.

        Raises:
            RingFull: not all of them fit.
            ValueError: the size is not a multiple of the entries' size.
            BadHead: see `free`.
        """
        data = entries if isinstance(entries, bytes) else entries.cast("B")
        size = len(data)
        count, rest = divmod(size, self._size)
        if rest:
            raise ValueError(f"{size} bytes are no multiple of {self._size}, one entry")
        if count > self._room:
            self.reserve(count)
        first = self._entries
        slot = self.tail & self._mask
        at = first + slot * self._size
        if slot + count <= self._count:
            self._u8[at : at + size] = data
        else:
            fits = (self._count - slot) * self._size
            self._u8[at : at + fits] = data[:fits]
            self._u8[first : first + size - fits] = data[fits:]
        self.tail = (self.tail + count) & U32_MASK
        self._room -= count
        return count

    def publish(self) -> tuple[int, int]:
        """Make every entry that was put visible; return the tail before and after.

        The caller then stores the doorbell word and lets `firmware.link.notify` look whether the
        peer sleeps, in this order (INV-RING-2).
        """
        old = self._published
        self._published = self.tail
        self._u32[self._tail_at] = self.tail
        return old, self.tail

    def arm(self, room: int = 1) -> None:
        """Ask to be told when `room` entries are free; look at `free` again after a fence."""
        event = self.tail + room - self._count - 1
        self._u32[(self.header + HEAD_EVENT) >> 2] = event & U32_MASK

    def disarm(self) -> None:
        """Ask for no notice when the consumer's head moves."""
        self._u32[(self.header + HEAD_EVENT) >> 2] = silent_event(self._known_head)

    def restart(self) -> None:
        """Begin again at index zero, as after QUEUE_RESET; entries not taken are gone."""
        self._begin(0)
        self._u32[self._tail_at] = 0

    def check(self) -> None:
        """Raise InvariantError unless published tail <= tail <= known head + entries."""
        used = (self.tail - self._known_head) & U32_MASK
        unpublished = (self.tail - self._published) & U32_MASK
        if used + self._room != self._count or unpublished > used:
            raise InvariantError(
                f"ring at {self.header:#x}: tail {self.tail:#x}, published {self._published:#x},"
                f" known head {self._known_head:#x}, room {self._room}"
            )

    def statistics(self) -> RingStatistics:
        """Return where this end stands."""
        return RingStatistics(self._count, self.tail, self._published)


@final
class Consumer(RingEnd):
    """The end that takes entries from a ring.

    Owner: one thread at a time. Invariant: published head <= private head <= tail as it was last
    seen. `restart` is what survives nothing: both indices are zero again.
    """

    __slots__ = ("_known", "head")

    def _begin(self, start: int) -> None:
        self.head = start
        """Private head: entries taken so far, published or not (u32)."""
        self._published = start
        self._known = 0

    def available(self) -> int:
        """Return how many entries wait, reading the producer's tail once.

        Raises:
            BadTail: the tail is more than the ring's size ahead; nothing was taken.
        """
        # As in `bound`, without the call: every turn of every queue comes here.
        tail = self._u32[self._tail_at]
        waiting = (tail - self.head) & U32_MASK
        if waiting > self._count:
            raise BadTail(tail, self.head, self._count)
        self._known = waiting
        return waiting

    @property
    def tail(self) -> int:
        """The producer's tail as it stands in the ring now, whatever it is."""
        return self._u32[self._tail_at]

    def bound(self, tail: int) -> int:
        """Return how many entries wait if this is the producer's tail.

        Raises:
            BadTail: see `available`.
        """
        waiting = (tail - self.head) & U32_MASK
        if waiting > self._count:
            raise BadTail(tail, self.head, self._count)
        self._known = waiting
        return waiting

    def unread(self) -> bytes:
        """Return a copy of all entries that wait, without taking them.

        Raises:
            BadTail: see `available`.
        """
        return self.peek(self.available())

    def peek(self, count: int = 1) -> bytes:
        """Return a copy of the next `count` entries without taking them.

        A copy, because the producer's process may go on writing: what was checked is what is used.

        Raises:
            RingEmpty: fewer were there when `available` looked last.
        """
        if count > self._known:
            raise RingEmpty(f"ring at {self.header:#x}: {count} asked for, {self._known} wait")
        slot = self.head & self._mask
        first = self._entries
        at = first + slot * self._size
        if slot + count <= self._count:
            return self._u8[at : at + count * self._size].tobytes()
        whole = self._u8[at : first + self._count * self._size].tobytes()
        return whole + self._u8[first : first + count * self._size - len(whole)].tobytes()

    def fetch(self) -> bytes:
        """Take one entry and return its copy.

        Raises:
            RingEmpty: none was there when `available` looked last.
        """
        if not self._known:
            raise RingEmpty(f"ring at {self.header:#x}: no entry is known to wait")
        at = self._entries + (self.head & self._mask) * self._size
        entry = self._u8[at : at + self._size].tobytes()
        self.head = (self.head + 1) & U32_MASK
        self._known -= 1
        return entry

    def retire(self, count: int) -> None:
        """Take `count` entries that were peeked at.

        Raises:
            RingEmpty: fewer were there when `available` looked last.
        """
        if count > self._known:
            raise RingEmpty(f"ring at {self.header:#x}: {count} asked for, {self._known} wait")
        self.head = (self.head + count) & U32_MASK
        self._known -= count

    def publish_head(self) -> tuple[int, int]:
        """Give the room of what was taken back to the producer; return the head before and after.

        Whoever wants to wake a waiting producer then goes through `firmware.link.notify`.
        """
        old = self._published
        self._published = self.head
        self._u32[self._head_at] = self.head
        return old, self.head

    def arm(self) -> None:
        """Ask to be told of the next entry; look at `available` again after a fence."""
        self._u32[(self.header + TAIL_EVENT) >> 2] = self.head

    def disarm(self) -> None:
        """Ask for no notice when the producer's tail moves."""
        self._u32[(self.header + TAIL_EVENT) >> 2] = silent_event(self.head)

    def restart(self) -> None:
        """Begin again at index zero, as after QUEUE_RESET; entries not taken are gone."""
        self._begin(0)
        self._u32[self._head_at] = 0

    def check(self) -> None:
        """Raise InvariantError unless published head <= head and what is known fits the ring."""
        unpublished = (self.head - self._published) & U32_MASK
        if self._known + unpublished > self._count:
            raise InvariantError(
                f"ring at {self.header:#x}: head {self.head:#x}, published {self._published:#x},"
                f" {self._known} known to wait in {self._count} entries"
            )

    def statistics(self) -> RingStatistics:
        """Return where this end stands."""
        return RingStatistics(self._count, self.head, self._published)
