"""Moving bytes: within mapped memory, and between it and a client's own pages.

Everything here touches memory only, never the state of the device, and may run in a worker thread:
whoever copies large pieces gives up the interpreter's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

import numpy as np

from firmware.abi.ids import Access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from device.core.memory.pieces import Piece
    from device.core.memory.windows import Window

LARGE: Final = 1 << 20
"""From here on a `CopyLarge` copies, as fast as slices do, and lets other threads run."""
STEP: Final = 1 << 20
"""Bytes moved at a time where a buffer is needed or the interpreter's lock is held."""
TILE: Final = 64 << 10
"""Bytes of repeated pattern that a fill lays side by side."""
ZEROS: Final = bytes(TILE)
ZERO_PATTERN: Final = b"\0"


@final
class ShortMoveError(Exception):
    """A client's page could not be accessed.

    Attributes:
        offset: byte of the transfer, or fill, that was not moved first.
        access: READ or WRITE.
    """

    def __init__(self, offset: int, access: Access) -> None:
        super().__init__(offset, access)
        self.offset = offset
        self.access = access


class Place(NamedTuple):
    """Bytes of a window."""

    window: Window
    offset: int


class Move(NamedTuple):
    """One piece of a copy; a side is None where no memory is behind it."""

    offset: int
    """Bytes of the transfer before this piece."""
    size: int
    destination: Place | None
    source: Place | None


class CopyLarge(Protocol):
    """Copies large memory whose ends do not overlap, letting other threads run meanwhile."""

    def __call__(
        self, into: memoryview, destination: int, out_of: memoryview, source: int, size: int, /
    ) -> None:
        """Copy `size` bytes between offsets of two memories, which may be one."""
        ...


def copy_by_numpy(
    into: memoryview, destination: int, out_of: memoryview, source: int, size: int, /
) -> None:
    """Copy large memory (see `CopyLarge`); the reference."""
    np.copyto(
        np.frombuffer(into, np.uint8, size, destination),
        np.frombuffer(out_of, np.uint8, size, source),
    )


def copy_bytes(
    into: memoryview,
    destination: int,
    out_of: memoryview,
    source: int,
    size: int,
    copy_large: CopyLarge = copy_by_numpy,
) -> None:
    """Copy `size` bytes as memmove does."""
    if size < LARGE:
        into[destination : destination + size] = out_of[source : source + size]
    elif into is out_of and abs(destination - source) < size:
        _slide(into, destination, source, size)
    else:
        copy_large(into, destination, out_of, source, size)


def fill_bytes(into: memoryview, start: int, size: int, pattern: bytes, phase: int) -> None:
    """Repeat `pattern` from byte `start` on, beginning with its byte `phase`."""
    if size <= TILE:
        into[start : start + size] = tile(pattern, phase, size)
        return
    one = tile(pattern, phase, TILE)
    count = size // TILE
    whole = np.frombuffer(into, np.uint8, count * TILE, start).reshape(count, TILE)
    whole[:] = np.frombuffer(one, np.uint8)
    if rest := size - count * TILE:
        into[start + size - rest : start + size] = one[:rest]


def tile(pattern: bytes, phase: int, size: int) -> bytes:
    """Return `size` bytes of the repeated pattern, beginning with its byte `phase`."""
    if pattern.count(0) == len(pattern) and size <= TILE:
        return ZEROS[:size]
    return (pattern * (size // len(pattern) + 2))[phase : phase + size]


def run_local(
    view: memoryview, pieces: Iterable[Piece], copy_large: CopyLarge = copy_by_numpy
) -> None:
    """Move pieces within one memory, one after another; their places are offsets in it."""
    for _, size, destination, source in pieces:
        if size < LARGE:
            view[destination : destination + size] = view[source : source + size]
        else:
            copy_bytes(view, destination, view, source, size, copy_large)


def run_moves(
    moves: Iterable[Move],
    pattern: bytes = ZERO_PATTERN,
    phase: int = 0,
    *,
    copy_large: CopyLarge = copy_by_numpy,
) -> None:
    """Move the pieces one after another; where there is no source, write the pattern.

    The pattern repeats from the beginning of the transfer on, where its byte `phase` stands.

    Raises:
        ShortMoveError: a client's page cannot be accessed; what comes before it was moved.
    """
    for offset, size, destination, source in moves:
        if destination is None:
            continue
        if source is None:
            put_pattern(destination, size, pattern, (phase + offset) % len(pattern), offset)
            continue
        into, out_of = destination.window.view, source.window.view
        if into is not None and out_of is not None:
            copy_bytes(into, destination.offset, out_of, source.offset, size, copy_large)
        elif into is not None:
            get(source, into[destination.offset : destination.offset + size], offset)
        elif out_of is not None:
            put(destination, out_of[source.offset : source.offset + size], offset)
        else:
            _relay(destination, source, size, offset)


def run_detour(moves: Sequence[Move]) -> None:
    """Read everything, then write everything (see `Order.DETOUR`).

    Raises:
        ShortMoveError: a client's page cannot be accessed.
    """
    buffer = memoryview(bytearray(sum(move.size for move in moves)))
    taken: list[tuple[Place, memoryview, int]] = []
    start = 0
    for offset, size, destination, source in moves:
        part = buffer[start : start + size]
        start += size
        if source is not None and destination is not None:
            get(source, part, offset)
        if destination is not None:
            taken.append((destination, part, offset))
    for place, part, offset in taken:
        put(place, part, offset)


def get(source: Place, into: memoryview, offset: int) -> None:
    """Read bytes of a window; `offset` is their place in the transfer.

    Raises:
        ShortMoveError: a client's page cannot be read.
    """
    moved = source.window.read_into(source.offset, into)
    if moved != len(into):
        raise ShortMoveError(offset + moved, Access.READ)


def put(destination: Place, data: memoryview, offset: int) -> None:
    """Write bytes of a window; `offset` is their place in the transfer.

    Raises:
        ShortMoveError: a client's page cannot be written.
    """
    moved = destination.window.write_from(destination.offset, data)
    if moved != len(data):
        raise ShortMoveError(offset + moved, Access.WRITE)


def put_pattern(destination: Place, size: int, pattern: bytes, phase: int, offset: int) -> None:
    """Fill bytes of a window; `offset` is their place in the fill.

    Raises:
        ShortMoveError: a client's page cannot be written.
    """
    window, start = destination
    if window.view is not None:
        fill_bytes(window.view, start, size, pattern, phase)
        return
    data = memoryview(tile(pattern, phase, min(size, STEP)))
    # STEP is a multiple of every pattern's size, so each step begins with the same byte.
    for at in range(0, size, STEP):
        put(Place(window, start + at), data[: min(STEP, size - at)], offset + at)


def _slide(memory: memoryview, destination: int, source: int, size: int) -> None:
    """Copy within one memory where both ranges overlap: in steps, from the end that is safe."""
    starts = range(0, size, STEP)
    for at in starts if destination < source else reversed(starts):
        step = min(STEP, size - at)
        memory[destination + at : destination + at + step] = memory[
            source + at : source + at + step
        ]


def _relay(destination: Place, source: Place, size: int, offset: int) -> None:
    """Copy between two windows of which none is mapped, as memmove does if they are one."""
    buffer = memoryview(bytearray(min(size, STEP)))
    starts = range(0, size, STEP)
    backward = destination.window is source.window and destination.offset > source.offset
    for at in reversed(starts) if backward else starts:
        part = buffer[: min(STEP, size - at)]
        get(Place(source.window, source.offset + at), part, offset + at)
        put(Place(destination.window, destination.offset + at), part, offset + at)
