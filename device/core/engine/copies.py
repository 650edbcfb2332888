"""COPY: memmove between any two ranges, small ones at once, large ones in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.engine.large import INLINE_BYTES, check_all, chunk_size, run_moves
from device.core.engine.operands import (
    READ_BIT,
    SPECIAL,
    WRITE_BIT,
    Operand,
    engine_fault,
    plain_address,
)
from device.core.engine.steps import Move
from device.core.errors import MemoryFault
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, VA_LIMIT, Access
from firmware.abi.paging import FRAME_MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job
    from device.core.memory import Extents, MemoryController
    from device.core.paging import AddressSpace
    from firmware.abi.work import Copy

SMALL_BYTES: Final = 64 << 10
"""Up to this size a copy looks at its pages one by one."""
_LAST_VA: Final = VA_LIMIT - SMALL_BYTES
_OFFSET_MASK: Final = PAGE_SIZE - 1
_READABLE: Final = READ_BIT | SPECIAL
_WRITABLE: Final = WRITE_BIT | SPECIAL


@final
class Copies:
    """The copy engines' view of COPY.

    Owner: the executor. A copy whose pages cannot all be accessed moves nothing: both sides are
    translated completely first, and poison is looked for. Only two kinds of fault show bytes that
    moved before them: a client's own memory that ends, and pages unmapped, or poisoned, under a
    large copy while it runs. A large copy keeps the meaning of memmove for ranges that overlap by
    their addresses; frames that are mapped twice it sees chunk by chunk.
    """

    __slots__ = (
        "_chunk_bytes",
        "_engines",
        "_local",
        "_marked",
        "_memory",
        "_traffic",
        "_view",
        "_written",
    )

    def __init__(self, memory: MemoryController, chunk_bytes: int, engines: int) -> None:
        self._memory = memory
        self._local = memory.local
        self._marked = memory.local.ecc.marked
        self._written = memory.local.owners.written
        self._traffic = memory.local.traffic
        self._view = memory.view
        self._chunk_bytes = chunk_bytes
        self._engines = engines

    def copy_plain(self, space: AddressSpace, source: int, destination: int, size: int) -> bool:
        """Copy a few pages of VRAM that stand in one piece on both sides.

        Returns:
            False when they do not, the size is zero or large, or VRAM has errors; then nothing
            moved, and `copy` does it.

        Raises:
            EngineFault: at the first page that cannot be accessed, source first; nothing moved.
        """
        if not 0 < size <= SMALL_BYTES or (source | destination) >= _LAST_VA or self._marked:
            return False
        tlb = space.tlb
        tags, pages, mask = tlb.tags, tlb.pages, tlb.mask
        vpn, to_vpn = source >> PAGE_SHIFT, destination >> PAGE_SHIFT
        offset, to_offset = source & _OFFSET_MASK, destination & _OFFSET_MASK
        place, to_place = vpn & mask, to_vpn & mask
        if tags[place] == vpn and tags[to_place] == to_vpn:
            page, to_page = pages[place], pages[to_place]
            if (
                page & _READABLE == READ_BIT
                and to_page & _WRITABLE == WRITE_BIT
                and offset + size <= PAGE_SIZE
                and to_offset + size <= PAGE_SIZE
            ):
                # The hottest way of all: one page on each side, both in the TLB. It does what the
                # calls below do, without the calls.
                tlb.count(2, 0)
                start = (page & FRAME_MASK) + offset
                to = (to_page & FRAME_MASK) + to_offset
                view = self._view
                view[to : to + size] = view[start : start + size]
                self._written[to >> PAGE_SHIFT] = 1
                traffic = self._traffic
                traffic.copied += size
                if size % traffic.stripe:
                    traffic.add_odd_copy(to, start, size)
                return True
        return self._copy_piece(space, source, destination, size)

    def copy(self, queue: WorkQueue, command: Copy) -> Job | None:
        """Run a COPY, or return what is left of it.

        Raises:
            EngineFault: BAD_COMMAND for a range that leaves the address space; at the first page
                that cannot be accessed, source first; poison; a client's memory that ends.
        """
        size = command.size_bytes
        if not size:
            return None
        source = Operand(queue, command, "source", size, Access.READ)
        destination = Operand(queue, command, "destination", size, Access.WRITE)
        if size > INLINE_BYTES:
            return self._in_chunks(queue, source, destination)
        out_of = source.extents(0, size)
        self.move(queue, destination.extents(0, size), out_of)
        queue.bytes_moved += size
        return None

    def move(self, queue: WorkQueue, destination: Extents, source: Extents) -> None:
        """Move bytes between translated ranges.

        Raises:
            EngineFault: poison, or a client's memory that ends.
        """
        try:
            self._memory.transfer(destination, source)
        except MemoryFault as error:
            client = destination.window is not None or source.window is not None
            space = None if client else queue.space
            raise engine_fault(self._memory, space, error) from error

    def _copy_piece(self, space: AddressSpace, source: int, destination: int, size: int) -> bool:
        start = plain_address(space, source, size, READ_BIT)
        if start < 0:
            return False
        to = plain_address(space, destination, size, WRITE_BIT)
        if to < 0:
            return False
        self._local.copy(to, start, size)
        return True

    def _in_chunks(self, queue: WorkQueue, source: Operand, destination: Operand) -> Job:
        out_of = yield from check_all(source)
        into = yield from check_all(destination)
        client = source.space is None or destination.space is None
        for offsets in self._order(source, destination):
            moves = tuple(
                self._chunk(queue, source, destination, offset, out_of, into) for offset in offsets
            )
            yield from run_moves(self._memory, queue, moves, client=client)
            # What stands in the tables now is what the next chunks meet.
            out_of = into = None

    def _order(self, source: Operand, destination: Operand) -> Iterator[range]:
        """Yield the offsets of the chunks that may move side by side, in the order of memmove."""
        size = source.size
        step = chunk_size(size, self._chunk_bytes, self._engines)
        if not source.overlaps(destination):
            row = step * self._engines
            for offset in range(0, size, row):
                yield range(offset, min(offset + row, size), step)
            return
        offsets = range(0, size, step)
        if source.address < destination.address:
            offsets = offsets[::-1]
        for offset in offsets:
            yield range(offset, offset + 1)

    def _chunk(
        self,
        queue: WorkQueue,
        source: Operand,
        destination: Operand,
        offset: int,
        all_out_of: Extents | None,
        all_into: Extents | None,
    ) -> Move:
        step = chunk_size(source.size, self._chunk_bytes, self._engines)
        size = min(step, source.size - offset)
        out_of = _part(source, all_out_of, offset, size)
        into = _part(destination, all_into, offset, size)
        try:
            (chunk,) = self._memory.plan_chunks(into, out_of, size)
        except MemoryFault as error:
            client = source.space is None or destination.space is None
            raise engine_fault(self._memory, None if client else queue.space, error) from error
        return Move(chunk, (source.span(offset, size), destination.span(offset, size)))


def _part(operand: Operand, whole: Extents | None, offset: int, size: int) -> Extents:
    """Return where a part of an operand stands, looked up only when that is not known."""
    return operand.extents(offset, size) if whole is None else whole.cut(offset, size)
