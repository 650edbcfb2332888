"""Half-open intervals of addresses that never overlap, each with a value, kept in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Iterator

ValueT = TypeVar("ValueT")


class Interval(NamedTuple, Generic[ValueT]):
    """Addresses from `start` to before `end`, and what is there."""

    start: int
    end: int
    value: ValueT


@final
class IntervalMap(Generic[ValueT]):
    """What stands where.

    Owner: whoever made it. Invariant: intervals are not empty and do not overlap; touching ones
    stay apart. Look-ups take logarithmic time; entering and removing move a list of integers.
    """

    __slots__ = ("_entries", "_starts", "touched")

    def __init__(self) -> None:
        self.touched: list[tuple[int, int]] | None = None
        """Gets every interval that is entered or removed, for whoever empties it."""
        self._starts: list[int] = []
        self._entries: dict[int, Interval[ValueT]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Interval[ValueT]]:
        """Iterate in the order of addresses."""
        return (self._entries[start] for start in self._starts)

    def insert(self, start: int, end: int, value: ValueT) -> None:
        """Enter an interval.

        Raises:
            ValueError: it is empty or overlaps another; nothing was entered.
        """
        if end <= start:
            raise ValueError(f"interval from {start:#x} to {end:#x} is empty")
        if (other := next(self.overlapping(start, end), None)) is not None:
            raise ValueError(f"interval at {start:#x} overlaps the one at {other.start:#x}")
        insort(self._starts, start)
        self._entries[start] = Interval(start, end, value)
        self.touch(start, end)

    def remove(self, start: int) -> ValueT:
        """Remove the interval that begins at `start` and return its value.

        Raises:
            KeyError: none begins there.
        """
        entry = self._entries.pop(start)
        del self._starts[bisect_left(self._starts, start)]
        self.touch(start, entry.end)
        return entry.value

    def touch(self, start: int, end: int) -> None:
        """Note that what is there has changed in another way than by coming or going."""
        if self.touched is not None:
            self.touched.append((start, end))

    def at(self, address: int) -> Interval[ValueT] | None:
        """Return the interval that holds `address`."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        entry = self._entries[self._starts[index]]
        return entry if address < entry.end else None

    def overlapping(self, start: int, end: int) -> Iterator[Interval[ValueT]]:
        """Iterate over the intervals that share an address with [start, end), in order."""
        index = max(bisect_right(self._starts, start) - 1, 0)
        for first in self._starts[index : bisect_left(self._starts, end)]:
            entry = self._entries[first]
            if entry.end > start:
                yield entry

    def inside(self, start: int, end: int) -> Iterator[Interval[ValueT]]:
        """Iterate over the intervals that lie wholly within [start, end), in order."""
        return (e for e in self.overlapping(start, end) if e.start >= start and e.end <= end)

    def first_gap(self, start: int, end: int) -> int | None:
        """Return the first address of [start, end) that no interval holds."""
        for entry in self.overlapping(start, end):
            if entry.start > start:
                break
            start = entry.end
        return start if start < end else None

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        before = 0
        for start in self._starts:
            entry = self._entries[start]
            if entry.start != start or entry.end <= start or start < before:
                raise AssertionError(f"{entry} is out of place behind {before:#x}")
            before = entry.end
        if len(self._entries) != len(self._starts):
            raise AssertionError(f"{len(self._entries)} entries, {len(self._starts)} starts")
