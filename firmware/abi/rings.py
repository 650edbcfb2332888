"""Rings, doorbells and their arithmetic.

A ring is a power-of-two array of fixed-size entries behind a `RingHeader`. `tail` (producer) and
`head` (consumer) are free-running u32: slot = index & (size - 1), entries waiting =
(tail - head) mod 2^32. More waiting than `size` is a contract error that stops this ring alone.

INV-RING-1  Only the producer stores into the producer's line, only the consumer into its line.
INV-RING-2  Order of stores: entries, then tail, then doorbell word, then (fence) look at the peer's
            event index. Each side keeps its own index privately and only publishes it.
INV-RING-3  A peer's index is read once into a local, bounded, then used.
"""

from enum import IntEnum
from typing import Final

from firmware.abi._record import Record, offset_of, wire
from firmware.abi._wire import U32, U64
from firmware.abi._word import Word, bits
from firmware.abi.status import Status

U32_MASK: Final = 0xFFFF_FFFF


class RingState(IntEnum):
    """State of a ring as the device publishes it."""

    UNUSED = 0
    """No ring, or destroyed."""
    RUNNING = 1
    """Entries are taken."""
    STOPPED = 2
    """Stopped by a fault or a contract error; QUEUE_RESET recovers a work ring."""
    LOST = 3
    """The device was reset or the client's session ended; nothing recovers this ring."""


class RingHeader(Record, size=256):
    """Head, tail, event indices and state of one ring; each writer has its own cache line."""

    tail: int = wire(U32, "Producer's index: entries published so far.", at=0x00)
    head_event: int = wire(U32, "Producer wants a notice when head passes this index.")
    producer_sleepers: int = wire(U32, "Producer's threads asleep on `head` (futex).")
    head: int = wire(U32, "Consumer's index: entries taken so far.", at=0x40)
    tail_event: int = wire(U32, "Consumer wants a notice when tail passes this index.")
    consumer_sleepers: int = wire(U32, "Consumer's threads asleep on `tail` (futex).")
    entry_count: int = wire(U32, "Size of the ring in entries, a power of two.", at=0x80)
    entry_size: int = wire(U32, "Size of one entry in bytes.")
    state: RingState = wire(U32, "State, stored by the device.", kinds=RingState)
    status: int = wire(U32, "`Status` that stopped the ring.", shown=Status)
    completed: int = wire(U64, "Work rings: seqno of the last command completed.", at=0xC0)
    completion_status: int = wire(
        U32, "`Status` of the command that stopped the ring, else 0.", shown=Status
    )
    completion_sleepers: int = wire(U32, "Host threads asleep on `completed` (futex).")
    started_ticks: int = wire(U64, "Device time at which the last batch began, in nanoseconds.")
    ended_ticks: int = wire(U64, "Device time at which the last batch ended, in nanoseconds.")


class Doorbell(Word, width=32):
    """Doorbell word of a queue: a hint that its tail moved; all state is in the ring."""

    tail = bits(31, 0, "The tail that was published.")


# Byte offsets in the header, for single loads and stores.
TAIL: Final = offset_of(RingHeader, "tail")
HEAD_EVENT: Final = offset_of(RingHeader, "head_event")
PRODUCER_SLEEPERS: Final = offset_of(RingHeader, "producer_sleepers")
HEAD: Final = offset_of(RingHeader, "head")
TAIL_EVENT: Final = offset_of(RingHeader, "tail_event")
CONSUMER_SLEEPERS: Final = offset_of(RingHeader, "consumer_sleepers")
STATE: Final = offset_of(RingHeader, "state")
STATUS: Final = offset_of(RingHeader, "status")
COMPLETED: Final = offset_of(RingHeader, "completed")
COMPLETION_STATUS: Final = offset_of(RingHeader, "completion_status")
COMPLETION_SLEEPERS: Final = offset_of(RingHeader, "completion_sleepers")
STARTED_TICKS: Final = offset_of(RingHeader, "started_ticks")
ENDED_TICKS: Final = offset_of(RingHeader, "ended_ticks")
CONTROL_QUEUE: Final = 0
"""Doorbell index of the control ring; work queues have 1 and up."""


def waiting(tail: int, head: int) -> int:
    """Return how many entries lie between `head` and `tail` (mod 2^32)."""
    return (tail - head) & U32_MASK


def needs_notify(event: int, new: int, old: int) -> bool:
    """Return whether moving an index from `old` to `new` passes the peer's event index.

    The rule of virtio's event index, on u32: the peer asked to be told when the index becomes
    greater than `event`.
    """
    return ((new - event - 1) & U32_MASK) < ((new - old) & U32_MASK)


def silent_event(index: int) -> int:
    """Return an event index that asks for no notice for the longest time from `index` on."""
    return (index - 1) & U32_MASK
