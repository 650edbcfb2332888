"""Free blocks of power-of-two sizes: what the buddy allocator takes from and gives back to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from device.core.errors import InvariantError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NONE: Final = -1
"""No block: the answer of `take` when there is none."""


class Run(NamedTuple):
    """Consecutive frames."""

    first: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here


@final
class FreeBlocks:
    """Free frames as blocks of 2^order frames, each at a multiple of its size.

    Owner: one `BuddyAllocator`. Blocks stand in one dictionary per order; the last one freed is
    taken first, since its pages are warm. Two free buddies are merged at once, save that the last
    block freed of each order waits in `_spare`: a program that allocates and frees the same size
    would else split and merge the whole memory each time.

    Invariants: blocks do not overlap; no two in the dictionaries are buddies.
    """

    def __init__(self, frame_count: int) -> None:
        self._frame_count = frame_count
        self.orders = frame_count.bit_length()
        """Orders run from 0 to this, exclusive."""
        self._blocks: list[dict[int, None]] = [{} for _ in range(self.orders)]
        self._spare = [NONE] * self.orders

    @property
    def largest(self) -> int:
        """Frames of the largest block, waiting spares not merged; zero if there is none."""
        return max((1 << order for order in range(self.orders) if self._count(order)), default=0)

    def __len__(self) -> int:
        return sum(map(self._count, range(self.orders)))

    def take(self, order: int) -> int:
        """Take a free block of this order out, splitting a larger one; NONE if there is none."""
        if order >= self.orders:
            return NONE
        first = self._spare[order]
        if first >= 0:
            self._spare[order] = NONE
            return first
        for larger in range(order, self.orders):
            if self._blocks[larger]:
                return self._split(larger, order)
        # Spares are free too, and merged they may make a block that is large enough.
        return self.take(order) if self._merge_spares() else NONE

    def gather(self, count: int) -> list[Run]:
        """Take the largest free blocks until they make `count` frames, which are free."""
        self._merge_spares()
        runs: list[Run] = []
        top = self.orders - 1
        while count:
            while not self._blocks[top]:
                top -= 1
            order = min(count.bit_length() - 1, top)
            if order < top:
                firsts = [self.take(order)]
            else:
                blocks = self._blocks[top]
                firsts = [blocks.popitem()[0] for _ in range(min(count >> top, len(blocks)))]
            _append(runs, sorted(firsts), 1 << order)
            count -= len(firsts) << order
        return runs

    def insert(self, first: int, count: int) -> None:
        """Make a range free that has no free buddies."""
        while count:
            order = count.bit_length() - 1
            if first & ((1 << order) - 1):
                order = (first & -first).bit_length() - 1
            self._blocks[order][first] = None
            first += 1 << order
            count -= 1 << order

    def release(self, first: int, count: int) -> None:
        """Make a range free that may have free buddies."""
        spare = self._spare
        while count:
            order = count.bit_length() - 1
            if first & ((1 << order) - 1):
                order = (first & -first).bit_length() - 1
            older, spare[order] = spare[order], first
            if older >= 0:
                self._merge(older, order)
            first += 1 << order
            count -= 1 << order

    def carve(self, frame: int) -> None:
        """Take one frame out of the block that holds it; it must be free."""
        self._merge_spares()
        for order, blocks in enumerate(self._blocks):
            first = frame >> order << order
            if first in blocks:
                del blocks[first]
                self.insert(first, frame - first)
                self.insert(frame + 1, first + (1 << order) - frame - 1)
                return
        raise InvariantError(f"frame {frame} is in no free block, though it is not in use")

    def check(self, seen: NDArray[np.uint8]) -> None:
        """Mark the frames of all blocks in `seen`, which holds a 1 for each frame not free.

        Raises:
            InvariantError: a block out of its place, over another or not merged.
        """
        for order in range(self.orders):
            self._check_order(order, seen)

    def _check_order(self, order: int, seen: NDArray[np.uint8]) -> None:
        blocks, size = self._blocks[order], 1 << order
        spare = [self._spare[order]] if self._spare[order] >= 0 else []
        for first in (*blocks, *spare):
            if first % size or first + size > self._frame_count:
                raise InvariantError(f"free block {first} of order {order} is out of its place")
            if seen[first : first + size].any():
                raise InvariantError(f"free block {first} of order {order} is not free alone")
            seen[first : first + size] = 1
        for first in blocks:
            if first ^ size in blocks:
                raise InvariantError(f"free blocks {first} and {first ^ size} were not merged")

    def _count(self, order: int) -> int:
        return len(self._blocks[order]) + (self._spare[order] >= 0)

    def _split(self, larger: int, order: int) -> int:
        """Take the lowest block of `order` out of a block of order `larger`, which must exist."""
        blocks = self._blocks
        first, _ = blocks[larger].popitem()
        while larger > order:
            larger -= 1
            blocks[larger][first + (1 << larger)] = None
        return first

    def _merge(self, first: int, order: int) -> None:
        blocks = self._blocks
        while (buddy := first ^ (1 << order)) in blocks[order]:
            del blocks[order][buddy]
            first &= buddy
            order += 1
        blocks[order][first] = None

    def _merge_spares(self) -> bool:
        """Merge what waits in `_spare`; return whether anything did."""
        found = False
        for order, first in enumerate(self._spare):
            if first >= 0:
                self._spare[order] = NONE
                self._merge(first, order)
                found = True
        return found


def _append(runs: list[Run], firsts: list[int], size: int) -> None:
    """Append blocks of one size, each joined to the run before it where it continues that."""
    start, count = runs.pop() if runs else Run(firsts[0], 0)
    for first in firsts:
        if first != start + count:
            runs.append(Run(start, count))
            start, count = first, 0
        count += size
    runs.append(Run(start, count))
