"""Handles of a program that concern work: queues, lists, events, fences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.segment import FenceSlot
from hostdriver.channel.pools import ProgramSlots

if TYPE_CHECKING:
    from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
    from hostdriver.channel.arguments import Arguments
    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.counters import Counter
    from hostdriver.core.eventpools import EventPool
    from hostdriver.core.events import Event


class QueueRecord(NamedTuple):
    """A command queue."""

    stream: Stream
    desc: CommandQueueDesc


class ListRecord(NamedTuple):
    """A command list, regular or immediate."""

    target: CommandList | Stream
    desc: CommandListDesc | CommandQueueDesc
    device: int
    """Number of its device's handle."""
    context: int
    """Number of its context's handle."""


class PoolRecord(NamedTuple):
    """An event pool, made or opened."""

    pool: EventPool
    context: int
    """Number of its context's handle."""


class EventRecord(NamedTuple):
    """An event of a pool, or one that counts by itself."""

    event: Event
    pool: int
    """Number of its pool's handle; 0: it has none."""
    place: int
    """Which of its pool's events."""
    signal: int
    """Scope of signals."""
    wait: int
    """Scope of waits."""
    counter: Counter | None = None
    """What a counting event without a pool is shared by."""
    flags: int = 0
    """Flags that such an event was made with."""
    device: int = 0
    """Number of the device that looks at memory which it counts in."""


class FenceRecord(NamedTuple):
    """A fence of a queue."""

    event: Event


def put_event(call: Arguments, name: str, number: int, event: Event) -> None:
    """Answer the handle of an event or fence, and where the program may look whether it is set."""
    memory = event.slot.pool.memory
    address = 0
    if isinstance(memory, ProgramSlots) and event.storage is None and event.follows:
        address = memory.address + event.slot.index * FenceSlot.SIZE
    call.put_event(name, number, address, counts=event.is_counting)
