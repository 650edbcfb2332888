"""The shape of a ring, and its header as the device writes it."""

from __future__ import annotations

from typing import Final, NamedTuple

from firmware.abi.rings import RingHeader, RingState, silent_event
from firmware.link.errors import ContractError

LARGEST_RING: Final = 1 << 20
"""Most entries that any ring has; far below the 2^31 at which indices become ambiguous."""


class RingShape(NamedTuple):
    """Entries of a ring and the size of one in bytes."""

    entry_count: int
    entry_size: int

    @property
    def size(self) -> int:
        """Bytes from the header to the end of the last entry."""
        return RingHeader.SIZE + self.entry_count * self.entry_size

    def checked(self) -> RingShape:
        """Return the shape itself.

        Raises:
            ValueError: the number of entries is no power of two or too large, or entries are not
                a multiple of 8 bytes.
        """
        count, size = self
        if count < 1 or count & (count - 1) or count > LARGEST_RING:
            raise ValueError(f"ring of {count} entries, expected a power of two <= {LARGEST_RING}")
        if size < 8 or size % 8:
            raise ValueError(f"ring entries of {size} bytes, expected a multiple of 8")
        return self


def format_ring(
    view: memoryview, offset: int, shape: RingShape, state: RingState = RingState.RUNNING
) -> None:
    """Write the header of an empty ring at `offset` (the device does, before anyone uses it).

    The consumer starts armed, so that the first entry is announced; the producer does not.
    """
    header = RingHeader(
        tail=0,
        head_event=silent_event(0),
        producer_sleepers=0,
        head=0,
        tail_event=0,
        consumer_sleepers=0,
        entry_count=shape.checked().entry_count,
        entry_size=shape.entry_size,
        state=state,
        status=0,
        completed=0,
        completion_status=0,
        completion_sleepers=0,
        started_ticks=0,
        ended_ticks=0,
    )
    view[offset : offset + RingHeader.SIZE] = header.pack()


def read_shape(view: memoryview, offset: int) -> RingShape:
    """Return the shape that the header at `offset` tells (for drivers; see the module).

    Raises:
        ContractError: the header is malformed or its ring would leave `view`.
    """
    header = RingHeader.unpack(view, offset)
    if not isinstance(header, RingHeader):
        raise ContractError(f"ring at {offset:#x}: {header}")
    shape = RingShape(header.entry_count, header.entry_size)
    try:
        shape.checked()
    except ValueError as error:
        raise ContractError(f"ring at {offset:#x}: {error}") from error
    if offset + shape.size > view.nbytes:
        raise ContractError(
            f"ring at {offset:#x} ends at {offset + shape.size:#x}, behind the end of its memory"
            f" at {view.nbytes:#x}"
        )
    return shape
