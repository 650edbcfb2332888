"""What large copies and fills have in common: checked in steps, then run by the shell in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from device.core.engine.operands import engine_fault
from firmware.abi.ids import PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Generator

    from device.core.engine.operands import Operand
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job, Move, Step
    from device.core.memory import Extents, MemoryController

INLINE_BYTES: Final = 1 << 20
"""Up to this size a command runs at once; a worker thread would cost more than it gives."""
SPLIT_BYTES: Final = 2 << 20
"""Smallest chunk of a command that is shared between engines."""
CHECK_BYTES: Final = 64 << 20
"""Part of a large command that is translated in one step before anything moves."""


def check_all(operand: Operand) -> Generator[Step, None, Extents | None]:
    """Translate all of an operand, giving way between its parts.

    A client's own memory has no tables to look at: where it ends, moving its bytes tells.

    Returns:
        Where all of it stands, when that was one part: true until somebody gives way.

    Raises:
        EngineFault: at the first page that cannot be accessed.
    """
    extents = operand.extents(0, min(CHECK_BYTES, operand.size))
    if extents.total == operand.size:
        return extents
    if operand.space is None:
        return None
    for offset in range(CHECK_BYTES, operand.size, CHECK_BYTES):
        yield ()
        operand.extents(offset, min(CHECK_BYTES, operand.size - offset))
    return None


def run_moves(
    memory: MemoryController, queue: WorkQueue, moves: tuple[Move, ...], *, client: bool
) -> Job:
    """Let the shell run chunks side by side; count what they moved.

    Raises:
        EngineFault: the first chunk's that failed. All of them have ended.
    """
    yield moves
    for move in moves:
        if move.chunk.error is not None:
            raise engine_fault(memory, None if client else queue.space, move.chunk.error)
        queue.bytes_moved += move.chunk.size


def chunk_size(size: int, limit: int, engines: int) -> int:
    """Return the size of chunks, a multiple of 4 KiB.

    Every engine gets a share as soon as that is worth a thread.
    """
    share = (-(-size // engines) + PAGE_SIZE - 1) & -PAGE_SIZE
    return min(limit, max(share, SPLIT_BYTES))
