"""Access attributes along a reservation, against a list of every address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdriver.core.enums import MemoryAccessAttribute as Access
from hostdriver.core.reservations import AccessRuns, Reservation

START, END = 100, 130
ranges = st.tuples(st.integers(START, END - 1), st.integers(1, END - START)).map(
    lambda pair: (pair[0], min(END, pair[0] + pair[1]))
)


@given(st.lists(st.tuples(ranges, st.sampled_from(Access)), max_size=12))
def test_runs_are_what_was_set_last(changes: list[tuple[tuple[int, int], Access]]) -> None:
    runs = AccessRuns(START, END)
    oracle = [Access.NONE] * (END - START)

    for (start, end), access in changes:
        runs.set(start, end, access)
        oracle[start - START : end - START] = [access] * (end - start)
        runs.check()

    for address in range(START, END):
        run = runs.at(address)
        rest = oracle[address - START :]
        same = next((n for n, access in enumerate(rest) if access != rest[0]), len(rest))
        assert run.access == rest[0]
        assert run.end == address + same


def test_a_fresh_reservation_has_no_access_anywhere() -> None:
    reservation = Reservation(START, END - START, in_arena=True, id=1)

    assert reservation.access.at(START) == (Access.NONE, END)


@pytest.mark.parametrize(
    ("start", "size", "inside"),
    [(100, 30, True), (101, 2, True), (99, 3, False), (120, 11, False), (130, 1, False)],
)
def test_holds_whole_ranges_only(start: int, size: int, inside: bool) -> None:
    assert Reservation(START, END - START, in_arena=True, id=1).holds(start, size) is inside


def test_check_finds_neighbours_that_should_be_one() -> None:
    runs = AccessRuns(START, END)
    runs._starts.append(START + 4)
    runs._values.append(Access.NONE)

    with pytest.raises(AssertionError, match="same access"):
        runs.check()


def test_check_finds_runs_out_of_order() -> None:
    runs = AccessRuns(START, END)
    runs.set(START + 4, END, Access.READONLY)
    runs._starts.reverse()

    with pytest.raises(AssertionError, match="range up to"):
        runs.check()
