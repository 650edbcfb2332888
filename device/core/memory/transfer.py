"""Copies and fills over any memories: checked as a whole, counted, then moved or cut in chunks."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, final

from device.core.errors import InternalError, MemoryFault
from device.core.memory.apertures import client_fault
from device.core.memory.extents import Extents
from device.core.memory.moves import (
    Move,
    ShortMoveError,
    put_pattern,
    run_detour,
    run_local,
    run_moves,
)
from device.core.memory.order import Order, order_of
from device.core.memory.pieces import pair, rows_of, split
from device.core.memory.windows import FileWindow
from firmware.abi.ids import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from device.core.memory.apertures import Apertures
    from device.core.memory.extents import Extent
    from device.core.memory.pieces import Pieces
    from device.core.memory.vram import Vram


@final
class Chunk:
    """Part of a copy or fill that is ready to run.

    It was checked and counted when it was planned, holds resolved addresses and touches memory
    only, so `run` may be called, once, from any thread. Until it has run, no frame and no window
    that it uses may be given to somebody else.

    Attributes:
        size: bytes.
        error: the fault that ended it, once `run` has returned; None if all bytes were moved.
    """

    __slots__ = ("_task", "error", "size")

    def __init__(self, task: Callable[[], None], size: int) -> None:
        self._task = task
        self.size = size
        self.error: MemoryFault | None = None

    def run(self) -> None:
        """Move the bytes; a fault is kept in `error`, what comes before it was moved."""
        try:
            self._task()
        except MemoryFault as fault:
            self.error = fault


class Moving(Protocol):
    """What moves bytes for the memory controller: `Transfers`, or what came in between.

    Every method may also refuse a client's own memory, by a MemoryFault CLIENT_MEMORY.
    """

    def copy(self, destination: Extents, source: Extents) -> int: ...  # noqa: D102

    def fill(self, destination: Extents, pattern: bytes, phase: int = 0) -> int: ...  # noqa: D102

    def plan_copy(  # noqa: D102
        self, destination: Extents, source: Extents, chunk_bytes: int
    ) -> list[Chunk]: ...

    def plan_fill(  # noqa: D102
        self, destination: Extents, pattern: bytes, chunk_bytes: int, phase: int = 0
    ) -> list[Chunk]: ...

    def read(self, aperture: int, address: int, size: int) -> bytes: ...  # noqa: D102

    def write(self, aperture: int, address: int, data: bytes | memoryview) -> None: ...  # noqa: D102


@final
class Transfers:
    """Moves bytes between extents of VRAM, bus and windows.

    Owner: the memory controller. Keeps no state of its own.

    Each request is checked as a whole before its first byte is moved. Only a client's own pages can
    still fail while it runs.
    """

    def __init__(self, vram: Vram, apertures: Apertures) -> None:
        self._vram = vram
        self._apertures = apertures

    def copy(self, destination: Extents, source: Extents) -> int:
        """Copy all of `source` to `destination`, as memmove does, and return the bytes.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON before anything is moved; CLIENT_MEMORY when
                the client's own pages fail, after which what came before was moved.
        """
        into, out_of = destination.single, source.single
        if into is not None and out_of is not None and into.size == out_of.size:
            self._copy_one(into, out_of)
        else:
            self._move(self._admit(destination, source), destination, source)
        return destination.total

    def read(self, aperture: int, address: int, size: int) -> bytes:
        """Return bytes of an aperture.

        Raises:
            MemoryFault: as `copy`, without a virtual address.
        """
        buffer = bytearray(size)
        source = Extents.one(address, size, address, aperture)
        into = Extents.through(FileWindow(memoryview(buffer)), 0, size)
        with _without_va():
            self._apertures.check(source, writing=False)
            self._apertures.count(source, writing=False)
            self._move(pair(into, source), into, source)
        return bytes(buffer)

    def write(self, aperture: int, address: int, data: bytes | memoryview) -> None:
        """Store bytes to an aperture.

        Raises:
            MemoryFault: as `copy`, without a virtual address.
        """
        size = len(data)
        destination = Extents.one(address, size, address, aperture)
        out_of = Extents.through(FileWindow(memoryview(data)), 0, size)
        with _without_va():
            self._apertures.check(destination, writing=True)
            self._apertures.count(destination, writing=True)
            self._move(pair(destination, out_of), destination, out_of)

    def plan_copy(self, destination: Extents, source: Extents, chunk_bytes: int) -> list[Chunk]:
        """Cut a copy into chunks that give the same result when they are run in this order.

        Chunks have `chunk_bytes` each, the last one less. Only a copy within memory that is mapped
        several times, in a way that no order of pieces is right, is one chunk of any size.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON; nothing was moved or counted.
        """
        pieces = self._admit(destination, source)
        total = source.total
        order = order_of(pieces)
        limit = max(total, 1) if order is Order.DETOUR else chunk_bytes
        if 0 < total <= limit:
            # Nothing to cut: a table of the pieces would take longer than all the rest.
            return [Chunk(self._copy_task(pieces, destination, source, order), total)]
        return [
            Chunk(self._copy_task(group, destination, source, order), int(group[:, 1].sum()))
            for group in split(pieces, total, limit, backward=order is Order.BACKWARD)
        ]

    def fill(self, destination: Extents, pattern: bytes, phase: int = 0) -> int:
        """Repeat `pattern` all over `destination`, and return the bytes.

        The pattern begins with its byte `phase` and runs on from extent to extent; the last one is
        cut off.

        Raises:
            MemoryFault: as `copy`.
        """
        into = destination.single
        if into is not None:
            self._fill_one(into, pattern, phase)
        else:
            pieces = self._admit(destination)
            self._fill_task(pieces, destination, pattern, phase)()
        return destination.total

    def plan_fill(
        self, destination: Extents, pattern: bytes, chunk_bytes: int, phase: int = 0
    ) -> list[Chunk]:
        """Cut a fill into chunks of `chunk_bytes`, the last one less.

        Raises:
            MemoryFault: as `plan_copy`.
        """
        return [
            Chunk(self._fill_task(group, destination, pattern, phase), int(group[:, 1].sum()))
            for group in split(self._admit(destination), destination.total, chunk_bytes)
        ]

    def _copy_one(self, into: Extent, out_of: Extent) -> None:
        """Copy one extent to one other, of the same size; the case that must be fast."""
        size = into.size
        try:
            if not (into.aperture or out_of.aperture):
                self._vram.copy(into.address, out_of.address, size)
                return
            apertures = self._apertures
            source = apertures.place(out_of.aperture, out_of.address, size, writing=False)
            destination = apertures.place(into.aperture, into.address, size, writing=True)
            apertures.count_row(out_of, writing=False)
            apertures.count_row(into, writing=True)
            run_moves((Move(0, size, destination, source),))
        except MemoryFault as fault:
            side = into if fault.access is Access.WRITE else out_of
            fault.va = side.va + fault.address - side.address
            raise
        except ShortMoveError as short:
            raise client_fault(
                into if short.access is Access.WRITE else out_of, short.offset, short.access
            ) from short

    def _fill_one(self, into: Extent, pattern: bytes, phase: int) -> None:
        try:
            place = self._apertures.place(into.aperture, into.address, into.size, writing=True)
            self._apertures.count_row(into, writing=True)
            put_pattern(place, into.size, pattern, phase % len(pattern), 0)
        except MemoryFault as fault:
            fault.va = into.va + fault.address - into.address
            raise
        except ShortMoveError as short:
            raise client_fault(into, short.offset, short.access) from short

    def _admit(self, destination: Extents, source: Extents | None = None) -> Pieces:
        """Check and count both sides; return the pieces. Null stands for a missing source."""
        if source is None:
            source = Extents.one(0, destination.total, 0, null=True)
        if destination.total != source.total:
            raise InternalError(
                f"copy of {source.total:#x} bytes into {destination.total:#x} bytes"
            )
        apertures = self._apertures
        apertures.check(source, writing=False)
        apertures.check(destination, writing=True)
        apertures.count(source, writing=False)
        apertures.count(destination, writing=True)
        return pair(destination, source)

    def _move(self, pieces: Pieces, destination: Extents, source: Extents) -> None:
        self._copy_task(pieces, destination, source, order_of(pieces))()

    def _copy_task(
        self, pieces: Pieces, destination: Extents, source: Extents, order: Order
    ) -> Callable[[], None]:
        rows = rows_of(pieces)
        if order is Order.BACKWARD:
            rows = rows[::-1]
        if destination.is_local and source.is_local and order is not Order.DETOUR:
            return partial(run_local, self._vram.view, rows, self._vram.copy_large)
        moves = self._apertures.resolve(rows, destination, source)
        if order is Order.DETOUR:
            return partial(_run, partial(run_detour, moves), destination, source)
        run = partial(run_moves, moves, copy_large=self._vram.copy_large)
        return partial(_run, run, destination, source)

    def _fill_task(
        self, pieces: Pieces, destination: Extents, pattern: bytes, phase: int
    ) -> Callable[[], None]:
        moves = self._apertures.resolve(rows_of(pieces), destination, destination)
        return partial(_run, partial(run_moves, moves, pattern, phase), destination, destination)


@contextmanager
def _without_va() -> Generator[None]:
    """Take the virtual address out of faults: there was none, only a physical one."""
    try:
        yield
    except MemoryFault as fault:
        fault.va = None
        raise


def _run(run: Callable[[], None], destination: Extents, source: Extents) -> None:
    """Run and tell a short move as the fault of a virtual address."""
    try:
        run()
    except ShortMoveError as short:
        side = destination if short.access is Access.WRITE else source
        raise client_fault(side.cut(short.offset, 1).rows[0], 0, short.access) from short
