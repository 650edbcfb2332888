"""Which part of an address space holds what: sorted, disjoint intervals that can be cut.

The page tables say where memory is; this says whose it is. Both change together, in `spaces`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar, final

from device.core.errors import InvariantError, hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOAD: Final = 512
"""Starts of one chunk; insertion moves at most twice as many."""


class Backing(Protocol):
    """What can stand in an interval; it knows in how many."""

    mapping_count: int


B = TypeVar("B", bound=Backing)


class Piece(NamedTuple, Generic[B]):
    """One interval, or the part of one that lies in a range."""

    start: int
    size: int
    backing: B
    offset: int
    """Byte of the backing that stands at `start`."""


@final
class SortedStarts:
    """A sorted list of numbers, in chunks so that insertion stays cheap when there are many.

    Owner: an `Intervals`. Invariants: no chunk is empty; all numbers differ.
    """

    __slots__ = ("_chunks", "_firsts")

    def __init__(self) -> None:
        self._chunks: list[list[int]] = []
        self._firsts: list[int] = []

    def __iter__(self) -> Iterator[int]:
        for chunk in self._chunks:
            yield from chunk

    def add(self, value: int) -> None:
        """Insert a number that is not there."""
        index = bisect_right(self._firsts, value) - 1
        if index < 0:
            if not self._chunks:
                self._chunks.append([value])
                self._firsts.append(value)
                return
            index = 0
        chunk = self._chunks[index]
        insort(chunk, value)
        self._firsts[index] = chunk[0]
        if len(chunk) > 2 * _LOAD:
            self._chunks.insert(index + 1, chunk[_LOAD:])
            del chunk[_LOAD:]
            self._firsts.insert(index + 1, self._chunks[index + 1][0])

    def add_many(self, values: list[int]) -> None:
        """Insert any number of numbers that are not there."""
        if len(values) < _LOAD:
            for value in values:
                self.add(value)
            return
        # Sorting runs that are sorted already is a merge.
        merged = sorted([*self, *values])
        self._chunks = [merged[at : at + _LOAD] for at in range(0, len(merged), _LOAD)]
        self._firsts = [chunk[0] for chunk in self._chunks]

    def before(self, value: int) -> int | None:
        """Return the greatest number less than `value`, or None."""
        index = bisect_left(self._firsts, value) - 1
        if index < 0:
            return None
        chunk = self._chunks[index]
        return chunk[bisect_left(chunk, value) - 1]

    def between(self, low: int, high: int) -> list[int]:
        """Return the numbers from `low` on that are less than `high`."""
        found: list[int] = []
        index = max(bisect_right(self._firsts, low) - 1, 0)
        while index < len(self._chunks) and self._firsts[index] < high:
            chunk = self._chunks[index]
            found += chunk[bisect_left(chunk, low) : bisect_left(chunk, high)]
            index += 1
        return found

    def take(self, low: int, high: int) -> list[int]:
        """Remove the numbers from `low` on that are less than `high`, and return them."""
        taken: list[int] = []
        index = max(bisect_right(self._firsts, low) - 1, 0)
        while index < len(self._chunks) and self._firsts[index] < high:
            chunk = self._chunks[index]
            first, last = bisect_left(chunk, low), bisect_left(chunk, high)
            taken += chunk[first:last]
            del chunk[first:last]
            if chunk:
                self._firsts[index] = chunk[0]
                index += 1
            else:
                del self._chunks[index], self._firsts[index]
        return taken


@final
class Intervals(Generic[B]):
    """Disjoint intervals of one address space, each with a backing and an offset in it.

    Owner: a client's address space. Invariants: no two intervals share an address;
    `mapping_count` of each backing counts its intervals here. Nothing survives the owner.

    Sizes, backings and offsets stand in a dictionary each: no object is made for an interval, which
    would cost the garbage collector more than all the rest when there are very many.
    """

    __slots__ = ("_backings", "_offsets", "_sizes", "_starts", "total")

    def __init__(self) -> None:
        self._starts = SortedStarts()
        self._sizes: dict[int, int] = {}
        self._backings: dict[int, B] = {}
        self._offsets: dict[int, int] = {}
        self.total = 0
        """Bytes in all intervals."""

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[Piece[B]]:
        return map(self._piece, self._starts)

    def add(self, start: int, size: int, backing: B, offset: int) -> None:
        """Add an interval; the caller knows that its range is free."""
        self._starts.add(start)
        self._put(start, size, backing, offset)
        self.total += size

    def add_many(
        self, starts: list[int], sizes: list[int], backings: list[B], offsets: list[int]
    ) -> None:
        """Add intervals whose ranges are free, one for each row of the lists."""
        self._starts.add_many(starts)
        self._sizes.update(zip(starts, sizes, strict=True))
        self._backings.update(zip(starts, backings, strict=True))
        self._offsets.update(zip(starts, offsets, strict=True))
        for backing in backings:
            backing.mapping_count += 1
        self.total += sum(sizes)

    def beginning_at(self, start: int) -> Piece[B] | None:
        """Return the interval that begins at an address, or None."""
        return self._piece(start) if start in self._sizes else None

    def inside(self, start: int, size: int) -> list[Piece[B]]:
        """Return what lies in a range, in order, clipped to it."""
        columns = self.columns_inside(start, size)
        return list(map(Piece[B], *columns))

    def columns_inside(
        self, start: int, size: int
    ) -> tuple[list[int], list[int], list[B], list[int]]:
        """Return starts, sizes, backings and offsets of what lies in a range, clipped to it."""
        end = start + size
        starts = self._starts.between(start, end)
        before = self._starts.before(start)
        if before is not None and before + self._sizes[before] > start:
            starts.insert(0, before)
        sizes = list(map(self._sizes.__getitem__, starts))
        backings = list(map(self._backings.__getitem__, starts))
        offsets = list(map(self._offsets.__getitem__, starts))
        if starts:
            skip = max(start - starts[0], 0)
            starts[0] += skip
            sizes[0] -= skip
            offsets[0] += skip
            sizes[-1] = min(sizes[-1], end - starts[-1])
        return starts, sizes, backings, offsets

    def remove(self, start: int, size: int) -> None:
        """Clear a range; intervals across its edges keep the rest."""
        if self._sizes.get(start) == size:
            # The common case: exactly what was added.
            self._starts.take(start, start + 1)
            self._drop(start)
            return
        end = start + size
        before = self._starts.before(start)
        if before is not None and before + self._sizes[before] > start:
            self._cut(before, start)
        last = self._starts.before(end)
        if last is not None and last >= start and last + self._sizes[last] > end:
            self._cut(last, end)
        for at in self._starts.take(start, end):
            self._drop(at)

    def check(self) -> None:
        """Raise InvariantError unless the intervals are sorted, disjoint and counted."""
        end = total = count = 0
        for start, size, _, _ in self:
            if start < end or size <= 0:
                raise InvariantError(f"interval at {hex_address(start)} overlaps another")
            end = start + size
            total += size
            count += 1
        if total != self.total or count != len(self._sizes):
            raise InvariantError(f"intervals hold {total:#x} bytes, counted {self.total:#x}")

    def _piece(self, start: int) -> Piece[B]:
        return Piece(start, self._sizes[start], self._backings[start], self._offsets[start])

    def _put(self, start: int, size: int, backing: B, offset: int) -> None:
        self._sizes[start] = size
        self._backings[start] = backing
        self._offsets[start] = offset
        backing.mapping_count += 1

    def _cut(self, start: int, at: int) -> None:
        """Make two intervals of the one that begins at `start` and holds `at`."""
        keep = at - start
        self._starts.add(at)
        self._put(at, self._sizes[start] - keep, self._backings[start], self._offsets[start] + keep)
        self._sizes[start] = keep

    def _drop(self, start: int) -> None:
        self._backings.pop(start).mapping_count -= 1
        self.total -= self._sizes.pop(start)
        del self._offsets[start]
