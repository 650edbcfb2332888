"""Parts of memory objects one after another, and the physical pieces that they stand in."""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from firmware.abi.control import ObjectKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from device.core.objects import MemoryObject
    from device.core.spaces import Backing

_ENTRY: Final = attrgetter("entry")
_KIND: Final = attrgetter("kind")
_IN_FILES: Final = frozenset({ObjectKind.SYSTEM, ObjectKind.CLIENT_DESCRIPTOR})


class PieceLists(NamedTuple):
    """Physical pieces, one row for each: consecutive bytes at `va` and in memory."""

    va: list[int]
    size: list[int]
    entry: list[int]
    """Page-table entry without rights of the first page."""


class PieceColumns(NamedTuple):
    """The same as arrays, as page tables are mapped from them."""

    va: NDArray[np.uint64]
    size: NDArray[np.uint64]
    entry: NDArray[np.uint64]


def no_pieces() -> PieceLists:
    """Return empty lists."""
    return PieceLists([], [], [])


def columns_of(pieces: PieceLists) -> PieceColumns:
    """Return the pieces as arrays."""
    return PieceColumns(*(np.array(column, np.uint64) for column in pieces))


def place(
    va: list[int], sizes: list[int], backings: Sequence[Backing], offsets: list[int]
) -> tuple[PieceColumns, NDArray[np.int64] | None]:
    """Return the physical pieces of many parts, each to be mapped at its `va`.

    Returns:
        The pieces; and how many each part has, or None when each has one.
    """
    entries = list(map(_ENTRY, backings))
    if all(entries):
        # The frame number counts pages, but its bits are the byte address: offsets can be added.
        first = np.array(entries, np.uint64) + np.array(offsets, np.uint64)
        return PieceColumns(np.array(va, np.uint64), np.array(sizes, np.uint64), first), None
    pieces = no_pieces()
    counts: list[int] = []
    for at, size, backing, offset in zip(va, sizes, backings, offsets, strict=True):
        before = len(pieces.va)
        backing.append_pieces(pieces, at, offset, size)
        counts.append(len(pieces.va) - before)
    return columns_of(pieces), np.array(counts, np.int64)


def file_parts(memories: Sequence[MemoryObject]) -> list[int]:
    """Return which of these objects, one for a part, are host memory, which stands in files.

    The CPU may see those. Device memory is out of its reach, also where a file stands for it.
    """
    if _IN_FILES.isdisjoint(map(_KIND, memories)):
        return []
    return [at for at, memory in enumerate(memories) if memory.kind in _IN_FILES]


@final
class Parts:
    """Parts of objects in the order of a range, as columns.

    Owner: an export. Once complete it never changes.
    """

    __slots__ = ("memories", "offsets", "sizes")

    def __init__(self, memories: list[MemoryObject], offsets: list[int], sizes: list[int]) -> None:
        self.memories = memories
        self.offsets = offsets
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def append(self, memory: MemoryObject, offset: int, size: int) -> None:
        """Append a part; what continues the last one, as after a partial unmap, joins it."""
        if self.sizes and self.memories[-1] is memory:
            end = self.offsets[-1] + self.sizes[-1]
            if end == offset:
                self.sizes[-1] += size
                return
        self.memories.append(memory)
        self.offsets.append(offset)
        self.sizes.append(size)

    def starts(self) -> list[int]:
        """Return where each part begins, and where the last one ends."""
        return list(accumulate(self.sizes, initial=0))

    def objects(self) -> list[MemoryObject]:
        """Return each object once."""
        return list(dict.fromkeys(self.memories))
