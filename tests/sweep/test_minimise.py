"""Minimising: what is left fails, and without any one of it nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hostdriver.cli.sweep.minimise import minimise

if TYPE_CHECKING:
    from collections.abc import Sequence


@given(st.integers(1, 40), st.data())
def test_exactly_what_is_needed_is_left_in_order(count: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, count - 1), min_size=1))

    def still_fails(items: Sequence[int]) -> bool:
        return needed <= set(items)

    assert minimise(range(count), still_fails) == tuple(sorted(needed))


def test_any_of_several_causes_leaves_one() -> None:
    found = minimise(range(16), lambda items: bool({3, 12} & set(items)))
    assert found in {(3,), (12,)}


def test_few_runs_are_made_for_one_cause_among_many() -> None:
    runs: list[int] = []

    def still_fails(items: Sequence[int]) -> bool:
        runs.append(len(items))
        return 700 in items

    assert minimise(range(1000), still_fails) == (700,)
    assert len(runs) < 60
