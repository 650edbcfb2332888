"""Reserved virtual ranges of the application, and the access that each part of one has."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple, final

from hostdriver.core.enums import MemoryAccessAttribute


class AccessRun(NamedTuple):
    """A stretch of addresses with one access attribute."""

    access: MemoryAccessAttribute
    end: int


@final
class AccessRuns:
    """Access attribute of every address of one range; all NONE at first.

    Owner: a reservation. Invariant: neighbouring runs differ.
    """

    __slots__ = ("_end", "_starts", "_values")

    def __init__(self, start: int, end: int) -> None:
        self._starts = [start]
        self._values = [MemoryAccessAttribute.NONE]
        self._end = end

    def at(self, address: int) -> AccessRun:
        """Return the attribute at `address`, and where the run with this attribute ends."""
        index = bisect_right(self._starts, address) - 1
        after = index + 1
        end = self._starts[after] if after < len(self._starts) else self._end
        return AccessRun(self._values[index], end)

    def set(self, start: int, end: int, access: MemoryAccessAttribute) -> None:
        """Give [start, end), which lies in the range, one attribute."""
        behind = self.at(end).access if end < self._end else None
        low = bisect_right(self._starts, start - 1)
        high = bisect_right(self._starts, end)
        starts, values = [start], [access]
        if low and self._values[low - 1] == access:
            starts, values = [], []
        if behind is not None and behind != access:
            starts.append(end)
            values.append(behind)
        self._starts[low:high] = starts
        self._values[low:high] = values

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        pairs = zip(self._values, self._values[1:], strict=False)
        if any(left == right for left, right in pairs):
            raise AssertionError("two neighbouring runs have the same access")
        if self._starts != sorted(set(self._starts)) or self._starts[-1] >= self._end:
            raise AssertionError(f"runs at {self._starts} in a range up to {self._end:#x}")


@final
@dataclass(slots=True, eq=False)
class Reservation:
    """One range that the application reserved."""

    start: int
    size: int
    in_arena: bool
    """Whether its addresses come from the arena, or from the system for it alone."""
    id: int
    """Number that the process never uses again."""
    access: AccessRuns = field(init=False)
    leaving: bool = False
    """A thread is about to free it: nothing new may be mapped in it."""
    is_covered: bool = True
    """Whether the CPU sees nothing of what was mapped there before."""

    def __post_init__(self) -> None:
        self.access = AccessRuns(self.start, self.end)

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size

    def holds(self, start: int, size: int) -> bool:
        """Return whether [start, start + size) lies inside."""
        return self.start <= start and start + size <= self.end
