"""Intervals: what stands where, against a list of every address."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hostdriver.core.intervals import IntervalMap

SPAN = 40
addresses = st.integers(0, SPAN - 1)
sizes = st.integers(1, 8)


class IntervalMachine(RuleBasedStateMachine):
    """The oracle holds, for every address, the number of the interval that covers it."""

    def __init__(self) -> None:
        super().__init__()
        self.map = IntervalMap[int]()
        self.cells: list[int | None] = [None] * (SPAN + 8)
        self.last = 0

    @rule(start=addresses, size=sizes)
    def insert(self, start: int, size: int) -> None:
        self.last += 1
        if any(cell is not None for cell in self.cells[start : start + size]):
            with pytest.raises(ValueError, match="overlaps"):
                self.map.insert(start, start + size, self.last)
            return
        self.map.insert(start, start + size, self.last)
        self.cells[start : start + size] = [self.last] * size

    @rule(start=addresses)
    def remove(self, start: int) -> None:
        value = self.cells[start]
        if value is None or self.cells.index(value) != start:
            with pytest.raises(KeyError):
                self.map.remove(start)
            return
        assert self.map.remove(start) == value
        self.cells = [None if cell == value else cell for cell in self.cells]

    @rule(address=addresses)
    def look_up(self, address: int) -> None:
        found = self.map.at(address)

        assert (found.value if found else None) == self.cells[address]

    @rule(start=addresses, size=sizes)
    def look_along(self, start: int, size: int) -> None:
        inside = self.cells[start : start + size]
        expected = list(dict.fromkeys(cell for cell in inside if cell is not None))
        whole = [cell for cell in expected if inside.count(cell) == self.cells.count(cell)]

        assert [e.value for e in self.map.overlapping(start, start + size)] == expected
        assert [e.value for e in self.map.inside(start, start + size)] == whole

    @rule(start=addresses, size=sizes)
    def look_for_a_gap(self, start: int, size: int) -> None:
        gaps = (start + n for n, c in enumerate(self.cells[start : start + size]) if c is None)

        assert self.map.first_gap(start, start + size) == next(gaps, None)

    @invariant()
    def is_sound(self) -> None:
        self.map.check()
        assert len(self.map) == len({cell for cell in self.cells if cell is not None})
        assert [entry.start for entry in self.map] == sorted(entry.start for entry in self.map)


TestIntervals = IntervalMachine.TestCase


def test_empty_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        IntervalMap[int]().insert(8, 8, 1)


def test_check_finds_an_interval_that_was_moved() -> None:
    intervals = IntervalMap[str]()
    intervals.insert(4, 8, "a")
    intervals.insert(8, 12, "b")
    intervals._starts.reverse()

    with pytest.raises(AssertionError, match="out of place"):
        intervals.check()


def test_check_finds_an_entry_without_a_place() -> None:
    intervals = IntervalMap[str]()
    intervals.insert(4, 8, "a")
    intervals._starts.clear()

    with pytest.raises(AssertionError, match="entries"):
        intervals.check()
