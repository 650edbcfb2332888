"""FILL."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.engine.arguments import bad_argument
from device.core.engine.copies import SMALL_BYTES
from device.core.engine.large import INLINE_BYTES, check_all, chunk_size, run_moves
from device.core.engine.operands import WRITE_BIT, Operand, engine_fault, plain_address
from device.core.engine.steps import Move
from device.core.errors import MemoryFault
from firmware.abi.ids import Access
from firmware.abi.work import PATTERN_SIZES, Fill

if TYPE_CHECKING:
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job
    from device.core.memory import MemoryController


@final
class Fills:
    """The copy engines' view of FILL.

    Owner: the executor. A fill whose pages cannot all be written stores nothing, with the
    exceptions that `Copies` tells of.
    """

    __slots__ = ("_chunk_bytes", "_engines", "_local", "_memory")

    def __init__(self, memory: MemoryController, chunk_bytes: int, engines: int) -> None:
        self._memory = memory
        self._local = memory.local
        self._chunk_bytes = chunk_bytes
        self._engines = engines

    def fill(self, queue: WorkQueue, command: Fill) -> Job | None:
        """Run a FILL, or return what is left of it.

        Raises:
            EngineFault: BAD_COMMAND for a pattern size that does not exist, or bytes behind the
                pattern; at the first page that cannot be written; a client's memory that ends.
        """
        pattern = _pattern(command)
        size = command.size_bytes
        if not size:
            return None
        destination = Operand(queue, command, "destination", size, Access.WRITE)
        if size > INLINE_BYTES:
            return self._in_chunks(queue, destination, pattern)
        if size <= SMALL_BYTES and destination.space is not None:
            to = plain_address(destination.space, destination.address, size, WRITE_BIT)
            if to >= 0:
                self._local.write(to, (pattern * -(-size // len(pattern)))[:size])
                queue.bytes_moved += size
                return None
        self._store(queue, destination, pattern)
        return None

    def _in_chunks(self, queue: WorkQueue, destination: Operand, pattern: bytes) -> Job:
        yield from check_all(destination)
        size = destination.size
        # A multiple of every pattern size: each chunk begins with the pattern's first byte.
        step = chunk_size(size, self._chunk_bytes, self._engines)
        row = step * self._engines
        for first in range(0, size, row):
            moves = tuple(
                self._chunk(destination, offset, min(step, size - offset), pattern)
                for offset in range(first, min(first + row, size), step)
            )
            yield from run_moves(self._memory, queue, moves, client=destination.space is None)

    def _chunk(self, destination: Operand, offset: int, size: int, pattern: bytes) -> Move:
        into = destination.extents(offset, size)
        try:
            (chunk,) = self._memory.plan_fill(into, pattern, size)
        except MemoryFault as error:
            raise engine_fault(self._memory, destination.space, error) from error
        return Move(chunk, (destination.span(offset, size),))

    def _store(self, queue: WorkQueue, destination: Operand, pattern: bytes) -> None:
        extents = destination.extents(0, destination.size)
        try:
            self._memory.fill(extents, pattern)
        except MemoryFault as error:
            raise engine_fault(self._memory, destination.space, error) from error
        queue.bytes_moved += destination.size


def _pattern(command: Fill) -> bytes:
    if command.pattern_size not in PATTERN_SIZES:
        raise bad_argument(command, "pattern_size")
    if any(command.pattern[command.pattern_size :]):
        raise bad_argument(command, "pattern")
    return command.pattern[: command.pattern_size]
