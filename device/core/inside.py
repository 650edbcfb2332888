"""The inside of a device: its parts, and the places where something may come in between them.

Fault injection, and whoever else watches a device at work, exchanges a reference for one that
passes calls on. While nobody does, nothing is in between and nothing costs anything; the parts
themselves know of nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.blocks import Blocks
    from device.core.effects import Effect
    from device.core.engine import WorkQueue
    from device.core.micro_controller import MicroController
    from device.core.publisher import Publisher
    from device.core.pump import Pump
    from device.core.supervisor import Supervisor
    from firmware.link.ringshape import RingShape


class Rounds(Protocol):
    """What does the rounds of work of a device (`Device.rounds`)."""

    def watch(self, looks: int) -> bool:
        """Look up to so many times for something to do; return whether there is."""
        ...

    def work(self, now: int) -> list[Effect]:
        """Do one round; return what the shell has to do."""
        ...


class RingSource(Protocol):
    """The end that takes entries from a ring (see `firmware.link.rings.Consumer`)."""

    @property
    def header(self) -> int:
        """Where the ring's header stands in the segment."""
        ...

    @property
    def shape(self) -> RingShape:
        """Entries and their size."""
        ...

    @property
    def head(self) -> int:
        """Entries taken so far, published or not (u32)."""
        ...

    def available(self) -> int:
        """Return how many entries wait, reading the producer's tail once.

        Raises:
            BadTail: the tail is more than the ring's size ahead; nothing was taken.
        """
        ...

    def unread(self) -> bytes:
        """Return a copy of all entries that wait, without taking them.

        Raises:
            BadTail: see `available`.
        """
        ...

    def peek(self, count: int = 1) -> bytes:
        """Return a copy of the next `count` entries without taking them."""
        ...

    def fetch(self) -> bytes:
        """Take one entry and return its copy."""
        ...

    def retire(self, count: int) -> None:
        """Take `count` entries that were peeked at."""
        ...

    def publish_head(self) -> tuple[int, int]:
        """Give the room of what was taken back; return the head before and after."""
        ...

    def arm(self) -> None:
        """Ask to be told of the next entry."""
        ...

    def restart(self) -> None:
        """Begin again at index zero; entries not taken are gone."""
        ...


class RingSink(Protocol):
    """The end that puts entries into a ring (see `firmware.link.rings.Producer`)."""

    @property
    def header(self) -> int:
        """Where the ring's header stands in the segment."""
        ...

    @property
    def shape(self) -> RingShape:
        """Entries and their size."""
        ...

    @property
    def tail(self) -> int:
        """Entries put so far, published or not (u32)."""
        ...

    @property
    def free(self) -> int:
        """Entries that fit now.

        Raises:
            BadHead: the consumer's head lies outside what waits.
        """
        ...

    def put(self, entry: bytes) -> None:
        """Copy one entry in; the peer sees it after `publish`."""
        ...

    def publish(self) -> tuple[int, int]:
        """Make every entry visible; return the tail before and after."""
        ...

    def arm(self, room: int = 1) -> None:
        """Ask to be told when `room` entries are free."""
        ...


class DoorbellPage(Protocol):
    """What watches the doorbells of a client (`Client.doorbells`); see `doorbells.Doorbells`."""

    @property
    def view(self) -> memoryview:
        """The words that are looked at."""
        ...

    @property
    def seen(self) -> bytes:
        """What `view` held when `take` looked last; anything else: there is something to take."""
        ...

    @property
    def changes(self) -> int:
        """Doorbell words seen to change."""
        ...

    def free_index(self) -> int | None:
        """Return the lowest word that no queue has, or None."""
        ...

    def join(self, index: int, queue: WorkQueue) -> None:
        """Give a word to a queue."""
        ...

    def leave(self, queue: WorkQueue) -> None:
        """Take a queue's word from it."""
        ...

    def clear(self, queue: WorkQueue) -> None:
        """Begin again at zero with the queue's ring."""
        ...

    def take(self, now: bytes, kick: Callable[[WorkQueue], None]) -> bool:
        """Kick the queues whose words changed; return whether the control ring's did."""
        ...

    def kick_all(self, kick: Callable[[WorkQueue], None]) -> bool:
        """Kick every queue with a new tail; return whether the control ring is looked at."""
        ...

    def check(self, queues: list[WorkQueue]) -> None:
        """Raise InvariantError unless exactly these queues have words."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Inside:
    """The parts of one device.

    Owner: the device. Whoever changes anything here does it between two calls of the device, and
    keeps the invariants that `Device.check` looks at.
    """

    blocks: Blocks
    mcu: MicroController
    publisher: Publisher
    supervisor: Supervisor
    pump: Pump
