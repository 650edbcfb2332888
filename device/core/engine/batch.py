"""Runs of plain copies: decoded and translated together, then moved one after another.

The commands in between, and copies that are anything but plain, go the way of single commands.
Moves keep the ring's order, so commands that depend on each other need no care here, and a command
that faults is met exactly where it would be met alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from device.core.engine.copies import SMALL_BYTES
from device.core.engine.decoder import find_copies
from device.core.engine.operands import READ_BIT, WRITE_BIT, locate
from firmware.abi.ids import VA_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from device.core.memory import Vram
    from device.core.paging import AddressSpace

FEWEST: Final = 24
"""Commands from which on numpy decodes faster than `struct`."""
_LAST_VA: Final = np.uint64(VA_LIMIT - SMALL_BYTES)


class Run(NamedTuple):
    """Consecutive commands of a batch: moves, or (then there is one) any other command."""

    length: int
    first_move: int
    """Index of the first among the batch's moves; -1: no move."""


class Batch(NamedTuple):
    """A turn's commands, as far as they are known."""

    length: int
    """Commands that fit the turn's bytes."""
    others: list[int]
    """Which of them are no moves."""
    destination: list[slice[int, int, None]]
    """Bytes of VRAM that each move writes."""
    source: list[slice[int, int, None]]
    """Bytes of VRAM that each move reads."""
    address: NDArray[np.uint64]
    """First byte that each move writes."""
    size: NDArray[np.uint64]
    """Bytes of each move."""

    def runs(self) -> Iterator[Run]:
        """Yield the commands in their order, in runs as long as they can be."""
        begun = 0
        for index, other in enumerate(self.others):
            if begun < other:
                yield Run(other - begun, begun - index)
            yield Run(1, -1)
            begun = other + 1
        if begun < self.length:
            yield Run(self.length - begun, begun - len(self.others))

    def copy(self, memory: Vram, run: Run) -> int:
        """Move the bytes of a run of moves within VRAM, in order; return how many."""
        part = slice(run.first_move, run.first_move + run.length)
        view = memory.view
        destinations = self.destination[part]
        for to, start in zip(destinations, self.source[part], strict=True):
            view[to] = view[start]
        # What users of the bare bytes owe: marks of what was written, and counters.
        size = self.size[part]
        total = int(size.sum())
        memory.owners.note_many(self.address[part], size)
        memory.traffic.copied += total
        memory.traffic.add_odd_copy(destinations[0].start, self.source[part.start].start, total)
        return total


def plan_batch(space: AddressSpace, entries: bytes, most_bytes: int) -> Batch | None:
    """Find the moves among `entries`; None when there are too few of them to be worth it.

    Translations are made for the whole batch at once. None can change before it is done: page
    tables are changed by control commands only, which run between turns.
    """
    copies = find_copies(entries)
    simple = copies.plain & (copies.size - np.uint64(1) < np.uint64(SMALL_BYTES))
    simple &= (copies.source | copies.destination) < _LAST_VA
    index = np.flatnonzero(simple)
    if len(index) < FEWEST:
        return None
    size = copies.size[index]
    source = locate(space, copies.source[index], size, READ_BIT)
    destination = locate(space, copies.destination[index], size, WRITE_BIT)
    plain = source.plain & destination.plain
    index, size = index[plain], size[plain]
    full = int(np.searchsorted(np.cumsum(size), np.uint64(most_bytes)))
    count = int(index[full]) + 1 if full < len(index) else len(simple)
    other = np.ones(count, np.bool_)
    other[index[: full + 1]] = False
    to = destination.address[plain]
    return Batch(
        count,
        np.flatnonzero(other).tolist(),
        _slices(to, size),
        _slices(source.address[plain], size),
        to,
        size,
    )


def _slices(address: NDArray[np.uint64], size: NDArray[np.uint64]) -> list[slice[int, int, None]]:
    return list(map(slice, address.tolist(), (address + size).tolist()))
