"""COPY_REGION: boxes with row and slice pitches, moved by strided copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from device.core.engine.arguments import bad_argument
from device.core.engine.large import INLINE_BYTES
from device.core.engine.operands import READ_BIT, WRITE_BIT, Located, Operand, locate
from device.core.errors import InternalError
from firmware.abi.ids import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from device.core.engine.copies import Copies
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job
    from device.core.memory import MemoryController
    from firmware.abi.work import CopyRegion

MOST_ROWS: Final = 128
"""Rows of a box that are moved in one step; each may stand anywhere."""
ODD_ROWS: Final = 16
"""Rows that are moved in one step where each is a transfer of its own: they take far longer."""


class _Shape(NamedTuple):
    """A box: rows of `width` bytes, and where each row begins on both sides."""

    width: int
    height: int
    depth: int
    source_row: int
    source_slice: int
    destination_row: int
    destination_slice: int


class _Piece(NamedTuple):
    """Part of a box: rows of one width, by their offsets from the box's first byte."""

    width: int
    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]


@final
class Regions:
    """The copy engines' view of COPY_REGION.

    Owner: the executor. A box whose pages cannot all be accessed moves nothing: every row of both
    sides is translated first; bytes between the rows need not be mapped. Boxes that overlap are
    moved in no particular order. A box gives way after each step of some rows, however few bytes
    they have, and after the last: what it costs is rows. A row in a poisoned frame faults when its
    turn comes.
    """

    __slots__ = ("_array", "_copies", "_local")

    def __init__(self, memory: MemoryController, copies: Copies) -> None:
        self._array = memory.array
        self._copies = copies
        self._local = memory.local

    def copy(self, queue: WorkQueue, command: CopyRegion) -> Job | None:
        """Run a COPY_REGION, or return what is left of it.

        Raises:
            EngineFault: BAD_COMMAND for an empty box, a pitch smaller than what it steps over, or a
                box that leaves the address space; else as `Copies.copy`.
        """
        _check(command)
        source = Operand(
            queue,
            command,
            "source",
            _reach(command, command.source_row_pitch, command.source_slice_pitch),
            Access.READ,
        )
        destination = Operand(
            queue,
            command,
            "destination",
            _reach(command, command.destination_row_pitch, command.destination_slice_pitch),
            Access.WRITE,
        )
        shape = _simplify(command)
        rows = shape.height * shape.depth
        whole = rows <= MOST_ROWS and rows * shape.width <= INLINE_BYTES
        job = self._in_pieces(queue, shape, source, destination, whole=whole)
        if rows > 1 or not whole:
            return job
        for _ in job:
            # One row is a small copy, and gives way to nobody.
            continue
        return None

    def _in_pieces(
        self,
        queue: WorkQueue,
        shape: _Shape,
        source: Operand,
        destination: Operand,
        *,
        whole: bool,
    ) -> Job:
        """Check, then move, piece by piece; a box that is `whole` has but one."""
        for piece in _pieces(shape):
            _locate(source, piece.source, piece.width)
            if not whole:
                yield ()
        for piece in _pieces(shape):
            _locate(destination, piece.destination, piece.width)
            if not whole:
                yield ()
        for piece in _pieces(shape):
            yield from self._move(queue, piece, source, destination)
            queue.bytes_moved += piece.width * len(piece.source)
            yield ()

    def _move(self, queue: WorkQueue, piece: _Piece, source: Operand, destination: Operand) -> Job:
        start = _locate(source, piece.source, piece.width)
        to = _locate(destination, piece.destination, piece.width)
        if start is None or to is None or self._local.ecc.marked:
            yield from self._move_rows(queue, piece, source, destination)
            return
        plain = start.plain & to.plain
        from_address, to_address = start.address[plain], to.address[plain]
        # Before anything gives way: afterwards the pages may stand elsewhere.
        for first, last in _runs(from_address, to_address):
            self._move_run(from_address[first:last], to_address[first:last], piece.width)
        if not plain.all():
            odd = _Piece(piece.width, piece.source[~plain], piece.destination[~plain])
            yield from self._move_rows(queue, odd, source, destination)

    def _move_rows(
        self, queue: WorkQueue, piece: _Piece, source: Operand, destination: Operand
    ) -> Job:
        """Move row by row: memory that is not VRAM, or rows in several places."""
        width = piece.width
        rows = zip(piece.source.tolist(), piece.destination.tolist(), strict=True)
        for number, (from_offset, to_offset) in enumerate(rows, 1):
            self._copies.move(
                queue, destination.extents(to_offset, width), source.extents(from_offset, width)
            )
            if number % ODD_ROWS == 0:
                yield ()

    def _move_run(
        self, source: NDArray[np.uint64], destination: NDArray[np.uint64], width: int
    ) -> None:
        """Move rows that stand at even distances on both sides by one strided copy."""
        count = len(source)
        start, to = int(source[0]), int(destination[0])
        local = self._local
        if count == 1:
            local.copy(to, start, width)
            return
        np.copyto(
            self._rows_at(to, int(destination[1]) - to, count, width),
            self._rows_at(start, int(source[1]) - start, count, width),
        )
        # What users of the bare bytes owe: marks of what was written, and counters.
        local.owners.note_many(destination, np.full(count, width, np.uint64))
        local.traffic.copied += count * width
        local.traffic.add_odd_copy(to, start, count * width)

    def _rows_at(self, address: int, pitch: int, count: int, width: int) -> NDArray[np.uint8]:
        return np.ndarray(
            (count, width), np.uint8, buffer=self._array, offset=address, strides=(pitch, 1)
        )


def _check(command: CopyRegion) -> None:
    """Raise EngineFault for a box that is empty or whose rows or slices would overlap."""
    for field in ("width", "height", "depth"):
        if not getattr(command, field):
            raise bad_argument(command, field)
    for side in ("source", "destination"):
        row: int = getattr(command, f"{side}_row_pitch")
        if row < command.width:
            raise bad_argument(command, f"{side}_row_pitch")
        slice_pitch: int = getattr(command, f"{side}_slice_pitch")
        if command.depth > 1 and slice_pitch < (command.height - 1) * row + command.width:
            raise bad_argument(command, f"{side}_slice_pitch")


def _reach(command: CopyRegion, row: int, slice_pitch: int) -> int:
    """Return the bytes from the first to behind the last of a box."""
    return (command.depth - 1) * slice_pitch + (command.height - 1) * row + command.width


def _simplify(command: CopyRegion) -> _Shape:
    """Return the box with rows and slices joined where they follow each other on both sides."""
    shape = _Shape(
        command.width,
        command.height,
        command.depth,
        command.source_row_pitch,
        command.source_slice_pitch,
        command.destination_row_pitch,
        command.destination_slice_pitch,
    )
    for _ in range(2):
        if shape.height == 1:
            # Slices of one row are rows.
            shape = shape._replace(
                height=shape.depth,
                depth=1,
                source_row=shape.source_slice,
                destination_row=shape.destination_slice,
            )
        if shape.width == shape.source_row == shape.destination_row:
            shape = shape._replace(width=shape.width * shape.height, height=1)
    return shape


def _pieces(shape: _Shape) -> Iterator[_Piece]:
    """Yield the box in parts of bounded bytes and rows, in address order."""
    width = min(shape.width, INLINE_BYTES)
    rows = min(MOST_ROWS, max(1, INLINE_BYTES // width))
    total = shape.height * shape.depth
    for left in range(0, shape.width, width):
        part = min(width, shape.width - left)
        for first in range(0, total, rows):
            row = np.arange(first, min(first + rows, total), dtype=np.uint64)
            layer, row = np.divmod(row, np.uint64(shape.height))
            yield _Piece(
                part,
                _offsets(layer, row, shape.source_slice, shape.source_row, left),
                _offsets(layer, row, shape.destination_slice, shape.destination_row, left),
            )


def _offsets(
    layer: NDArray[np.uint64], row: NDArray[np.uint64], slice_pitch: int, pitch: int, left: int
) -> NDArray[np.uint64]:
    return layer * np.uint64(slice_pitch) + row * np.uint64(pitch) + np.uint64(left)


def _locate(operand: Operand, offsets: NDArray[np.uint64], width: int) -> Located | None:
    """Return where rows stand; None for client memory.

    Raises:
        EngineFault: at the first page of the first row that cannot be accessed.
    """
    space = operand.space
    if space is None:
        return None
    need = WRITE_BIT if operand.access is Access.WRITE else READ_BIT
    sizes = np.full(len(offsets), width, np.uint64)
    located = locate(space, offsets + np.uint64(operand.address), sizes, need)
    if located.fault.any():
        operand.extents(int(offsets[int(located.fault.argmax())]), width)
        raise InternalError("a page faulted in a list of pages and not alone")
    return located


def _runs(source: NDArray[np.uint64], destination: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """Yield index ranges of rows that stand at even distances on both sides."""
    count = len(source)
    if not count:
        return
    steps = np.stack((np.diff(source), np.diff(destination)))
    turns = np.flatnonzero((steps[:, 1:] != steps[:, :-1]).any(axis=0)) + 1
    first = 0
    for last in (*turns.tolist(), count - 1):
        # Distances from row `first` to row `last` are even; the next one differs.
        yield first, last + 1
        first = last + 1
