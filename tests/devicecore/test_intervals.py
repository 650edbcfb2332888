"""Intervals of an address space, against a dictionary of single addresses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.core.errors import InvariantError
from device.core.intervals import Intervals, Piece, SortedStarts

SPACE = 64


@dataclass(eq=False)
class Thing:
    mapping_count: int = 0


def spans() -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, SPACE - 1), st.integers(1, SPACE)).map(
        lambda pair: (pair[0], min(pair[1], SPACE - pair[0]))
    )


def contents(intervals: Intervals[Thing]) -> dict[int, tuple[Thing, int]]:
    """Return what stands at each address."""
    found: dict[int, tuple[Thing, int]] = {}
    for start, size, thing, offset in intervals:
        for step in range(size):
            found[start + step] = (thing, offset + step)
    return found


@given(st.lists(st.tuples(st.booleans(), spans()), max_size=30), spans())
def test_cutting_leaves_what_a_dictionary_would(
    steps: list[tuple[bool, tuple[int, int]]], window: tuple[int, int]
) -> None:
    intervals: Intervals[Thing] = Intervals()
    model: dict[int, tuple[Thing, int]] = {}
    things = [Thing() for _ in range(3)]
    for number, (adds, (start, size)) in enumerate(steps):
        thing = things[number % 3]
        taken = [at for at in range(start, start + size) if at in model]
        starts = intervals.columns_inside(start, size)[0]
        assert starts[:1] == taken[:1]
        if adds and not taken:
            intervals.add(start, size, thing, 100)
            model |= {start + step: (thing, 100 + step) for step in range(size)}
        elif not adds:
            intervals.remove(start, size)
            for at in taken:
                del model[at]
        intervals.check()

    assert contents(intervals) == model
    assert intervals.total == len(model)
    assert sum(thing.mapping_count for thing in things) == len(intervals)
    start, size = window
    inside = {
        at + step: (thing, offset + step)
        for at, length, thing, offset in intervals.inside(start, size)
        for step in range(length)
    }
    assert inside == {at: model[at] for at in range(start, start + size) if at in model}


def test_a_hole_in_the_middle_makes_two_of_one() -> None:
    intervals: Intervals[Thing] = Intervals()
    thing = Thing()
    intervals.add(10, 30, thing, 0)

    intervals.remove(20, 5)

    assert list(intervals) == [Piece(10, 10, thing, 0), Piece(25, 15, thing, 15)]
    assert thing.mapping_count == 2


@pytest.mark.parametrize("existing", [0, 3, 5000])
def test_many_are_added_as_one_by_one(existing: int) -> None:
    thing = Thing()
    few: Intervals[Thing] = Intervals()
    many: Intervals[Thing] = Intervals()
    for intervals in (few, many):
        for number in range(existing):
            intervals.add(number * 20 + 5, 5, thing, number)
    starts = [number * 20 for number in range(2000)]

    for start in starts:
        few.add(start, 5, thing, start)
    many.add_many(starts, [5] * 2000, [thing] * 2000, starts)

    assert list(many) == list(few)
    assert many.total == few.total
    assert thing.mapping_count == 2 * (existing + 2000)
    many.check()


def test_a_long_list_of_starts_stays_sorted() -> None:
    starts = SortedStarts()
    numbers = [(number * 7919) % 100_003 for number in range(20_000)]
    for number in numbers:
        starts.add(number)

    assert list(starts) == sorted(numbers)
    assert starts.between(500, 600) == sorted(n for n in numbers if 500 <= n < 600)
    assert starts.before(min(numbers)) is None
    assert starts.take(1000, 90_000) == sorted(n for n in numbers if 1000 <= n < 90_000)
    assert starts.before(95_000) == max(n for n in numbers if n < 95_000)
    assert list(starts) == sorted(n for n in numbers if not 1000 <= n < 90_000)


def test_an_overlap_is_found_by_the_check() -> None:
    intervals: Intervals[Thing] = Intervals()
    intervals.add(0, 10, Thing(), 0)
    intervals.add(5, 10, Thing(), 0)

    with pytest.raises(InvariantError, match="0x5 overlaps"):
        intervals.check()
