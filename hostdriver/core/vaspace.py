"""Addresses of an arena: which are given out, which are free.

Best fit over one sorted list of free extents: a request fails only when no extent can hold it,
whatever its alignment.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import Final, NamedTuple, final

GRANULE: Final = 4096
"""Every address and size is a multiple of this."""
_TRIES: Final = 32
"""Extents that may be too badly aligned before one is taken that is large enough for sure."""


@dataclass(frozen=True, slots=True)
class VaStatistics:
    """How an arena is used."""

    size_bytes: int
    free_bytes: int
    extent_count: int
    """Free extents."""
    reservation_count: int


class _Free(NamedTuple):
    """A free extent, in the order by which best fit looks."""

    size: int
    start: int


def align_up(value: int, alignment: int) -> int:
    """Return the least multiple of `alignment`, a power of two, that is not below `value`."""
    return (value + alignment - 1) & -alignment


@final
class VaSpace:
    """Allocator of addresses; it touches no memory.

    Owner: the driver state of one process. Invariants: free extents and reservations cover the
    arena exactly once; no two free extents touch.
    """

    __slots__ = ("_by_size", "_free", "_sizes", "_starts", "base", "size")

    def __init__(self, base: int, size: int) -> None:
        """Begin with everything free.

        Raises:
            ValueError: `base` or `size` is no multiple of the granule, or the arena is empty.
        """
        _check_granules(base, size)
        self.base = base
        self.size = size
        self._starts = [base]
        self._free = {base: size}
        self._by_size = [_Free(size, base)]
        self._sizes: dict[int, int] = {}

    def __contains__(self, va: int) -> bool:
        return self.base <= va < self.base + self.size

    def reserve(self, size: int, alignment: int = GRANULE, hint: int = 0) -> int | None:
        """Take `size` bytes: at `hint` when they are free there, else at an aligned address.

        Args:
            size: bytes, a multiple of the granule.
            alignment: of the address, a power of two; a hint is not held to it.
            hint: wished address, 0 for none.

        Returns:
            The address, or None when no free extent can hold the request.

        Raises:
            ValueError: size, alignment or hint is no multiple of the granule.
        """
        _check_granules(hint, size)
        if alignment < GRANULE or alignment & (alignment - 1):
            raise ValueError(f"alignment {alignment:#x} is no power of two from {GRANULE:#x} on")
        place = self._extent_around(hint, size) if hint in self else None
        va = hint
        if place is None:
            place = self._best_extent(size, alignment)
            if place is None:
                return None
            va = align_up(place.start, alignment)
        self._drop(place.start)
        if va > place.start:
            self._keep(place.start, va - place.start)
        end = place.start + place.size
        if va + size < end:
            self._keep(va + size, end - va - size)
        self._sizes[va] = size
        return va

    def free(self, va: int) -> int:
        """Give a reservation back; return its size.

        Raises:
            KeyError: no reservation begins at `va`.
        """
        size = self._sizes.pop(va)
        start, end = va, va + size
        index = bisect_left(self._starts, va)
        if index < len(self._starts) and self._starts[index] == end:
            end += self._drop(end)
        if index and self._starts[index - 1] + self._free[self._starts[index - 1]] == va:
            start = self._starts[index - 1]
            self._drop(start)
        self._keep(start, end - start)
        return size

    def statistics(self) -> VaStatistics:
        """Return how the arena is used now."""
        return VaStatistics(
            size_bytes=self.size,
            free_bytes=sum(self._free.values()),
            extent_count=len(self._free),
            reservation_count=len(self._sizes),
        )

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        position, free_before = self.base, False
        for start, size, is_free in sorted(
            [(va, size, False) for va, size in self._sizes.items()]
            + [(va, size, True) for va, size in self._free.items()]
        ):
            if start != position or (is_free and free_before):
                raise AssertionError(f"extent at {start:#x}, expected one at {position:#x}")
            position, free_before = start + size, is_free
        if position != self.base + self.size:
            raise AssertionError(f"the arena ends at {position:#x}")
        by_size = sorted(_Free(size, start) for start, size in self._free.items())
        if self._starts != sorted(self._free) or self._by_size != by_size:
            raise AssertionError("the orders of the free extents disagree")

    def _extent_around(self, hint: int, size: int) -> _Free | None:
        """Return the free extent that holds all of [hint, hint + size)."""
        index = bisect_right(self._starts, hint) - 1
        if index < 0:
            return None
        start = self._starts[index]
        place = _Free(self._free[start], start)
        return place if hint + size <= start + place.size else None

    def _best_extent(self, size: int, alignment: int) -> _Free | None:
        """Return a free extent that can hold the request, nearly the smallest such."""
        first = bisect_left(self._by_size, (size, 0))
        # From here on every extent fits, wherever it begins.
        certain = bisect_left(self._by_size, (size + alignment - GRANULE, 0))
        early = min(first + _TRIES, certain)
        for place in self._by_size[first:early]:
            if _fits(place, size, alignment):
                return place
        if certain < len(self._by_size):
            return self._by_size[certain]
        late = self._by_size[early:certain]
        return next((place for place in late if _fits(place, size, alignment)), None)

    def _keep(self, start: int, size: int) -> None:
        insort(self._starts, start)
        insort(self._by_size, _Free(size, start))
        self._free[start] = size

    def _drop(self, start: int) -> int:
        size = self._free.pop(start)
        del self._starts[bisect_left(self._starts, start)]
        del self._by_size[bisect_left(self._by_size, (size, start))]
        return size


def _fits(place: _Free, size: int, alignment: int) -> bool:
    return align_up(place.start, alignment) + size <= place.start + place.size


def _check_granules(address: int, size: int) -> None:
    if address % GRANULE or size % GRANULE or size <= 0 or address < 0:
        raise ValueError(f"{size:#x} bytes at {address:#x}: not in granules of {GRANULE:#x}")
