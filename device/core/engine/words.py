"""Commands on single 64-bit words: MEMORY_WRITE, MEMORY_ADD, MEMORY_WAIT and what stores times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.engine.arguments import bad_argument
from device.core.engine.operands import (
    READ_BIT,
    WRITE_BIT,
    Operand,
    engine_fault,
    plain_address,
)
from device.core.engine.steps import Later
from device.core.errors import MemoryFault
from device.core.memory import Extents, FileWindow
from firmware.abi.ids import Access

if TYPE_CHECKING:
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job
    from device.core.memory import MemoryController
    from device.core.paging import AddressSpace
    from firmware.abi.work import FenceTimes, MemoryAdd, MemoryWait, MemoryWrite, TimestampWrite

WORD_BYTES: Final = 8
_U64: Final = (1 << 64) - 1
FIRST_LOOK_TICKS: Final = 50_000
"""How soon MEMORY_WAIT looks again; each further look comes after twice the time."""
MOST_TICKS: Final = 1_000_000
"""The longest time between two looks: a thousand a second cost little."""


@final
class WordUnit:
    """The engines' view of single words.

    Owner: the executor. It keeps nothing between commands.
    """

    __slots__ = ("_local", "_memory")

    def __init__(self, memory: MemoryController) -> None:
        self._memory = memory
        self._local = memory.local

    def write(
        self,
        queue: WorkQueue,
        command: MemoryWrite | TimestampWrite | MemoryAdd | FenceTimes,
        *values: int,
    ) -> None:
        """Store u64 words, one after the other, at the address in `destination`.

        Raises:
            EngineFault: BAD_COMMAND for an address that is not a multiple of 8; a page that cannot
                be written.
        """
        if command.destination % WORD_BYTES:
            raise bad_argument(command, "destination", command.destination, Access.WRITE)
        size = len(values) * WORD_BYTES
        destination = Operand(queue, command, "destination", size, Access.WRITE)
        if destination.space is not None and len(values) == 1:
            to = plain_address(destination.space, destination.address, WORD_BYTES, WRITE_BIT)
            if to >= 0:
                # One aligned store: whoever polls the word sees the old value or the new one.
                self._local.store_word(to, values[0])
                queue.bytes_moved += WORD_BYTES
                return
        # Eight aligned bytes are one store here as well, save for what the system copies itself.
        for index, value in enumerate(values):
            extents = destination.extents(index * WORD_BYTES, WORD_BYTES)
            try:
                self._memory.fill(extents, value.to_bytes(WORD_BYTES, "little"))
            except MemoryFault as error:
                raise engine_fault(self._memory, destination.space, error) from error
        queue.bytes_moved += size

    def add(self, queue: WorkQueue, command: MemoryAdd) -> None:
        """Add to a word; engines take turns, so that no addition of theirs is lost.

        Raises:
            EngineFault: as `write`; a page that cannot be read.
        """
        if command.destination % WORD_BYTES:
            raise bad_argument(command, "destination", command.destination, Access.WRITE)
        found = self._load(queue, command, "destination")
        self.write(queue, command, (found + command.value) & _U64)

    def wait(self, queue: WorkQueue, command: MemoryWait) -> Job | None:
        """Return None when a word has a value already, else the wait for it.

        Raises:
            EngineFault: BAD_COMMAND for an address that is not a multiple of 8; a page that cannot
                be read, now or at a later look.
        """
        if command.source % WORD_BYTES:
            raise bad_argument(command, "source", command.source, Access.READ)
        if self._load(queue, command, "source") >= command.value:
            return None
        queue.waits += 1
        return self._until(queue, command)

    def _until(self, queue: WorkQueue, command: MemoryWait) -> Job:
        ticks = FIRST_LOOK_TICKS
        yield Later(ticks)
        while self._load(queue, command, "source") < command.value:
            ticks = min(2 * ticks, MOST_TICKS)
            yield Later(ticks)

    def _load(self, queue: WorkQueue, command: MemoryWait | MemoryAdd, field: str) -> int:
        operand = Operand(queue, command, field, WORD_BYTES, Access.READ)
        space = operand.space
        if space is not None:
            at = plain_address(space, operand.address, WORD_BYTES, READ_BIT)
            if at >= 0:
                return int.from_bytes(self._read(space, operand.address, at), "little")
        found = bytearray(WORD_BYTES)
        into = Extents.through(FileWindow(memoryview(found)), 0, WORD_BYTES)
        try:
            self._memory.transfer(into, operand.extents(0, WORD_BYTES))
        except MemoryFault as error:
            raise engine_fault(self._memory, space, error) from error
        return int.from_bytes(found, "little")

    def _read(self, space: AddressSpace, va: int, at: int) -> bytes:
        """Load the word at VRAM address `at`, which is mapped at `va`.

        Raises:
            EngineFault: poison.
        """
        try:
            return self._local.read(at, WORD_BYTES)
        except MemoryFault as error:
            error.va = va
            raise engine_fault(self._memory, space, error) from error
