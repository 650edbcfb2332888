"""The TLB: what was cached stays until its place is taken or it is invalidated."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from device.core.errors import InternalError, InvariantError
from device.core.paging import Tlb
from tests.harness.paging import bus, local


def entry_of(vpn: int) -> int:
    return bus(vpn << 12)


def filled(tlb: Tlb, *vpns: int) -> Tlb:
    for vpn in vpns:
        tlb.fill(vpn, entry_of(vpn))
    return tlb


def held(tlb: Tlb) -> dict[int, int]:
    """Return what a TLB holds without counting it."""
    pairs = zip(tlb.tags.tolist(), tlb.pages.tolist(), strict=True)
    return {tag: page for tag, page in pairs if tag >= 0}


@pytest.mark.parametrize("size", [0, -1, 3, 48])
def test_size_must_be_a_power_of_two(size: int) -> None:
    with pytest.raises(InternalError, match=f"TLB of {size} entries"):
        Tlb(size)


def test_new_tlb_misses_even_page_0() -> None:
    tlb = Tlb(8)

    assert tlb.lookup(0) == 0
    assert tlb.lookup_many(np.array([0, 1])).tolist() == [0, 0]


def test_look_ups_are_counted() -> None:
    tlb = filled(Tlb(8), 3, 4)

    assert (tlb.lookup(3), tlb.lookup(5)) == (entry_of(3), 0)
    assert tlb.lookup_many(np.array([4, 3, 11])).tolist() == [entry_of(4), entry_of(3), 0]

    counters = tlb.statistics()
    assert (counters.hits, counters.misses, counters.entries) == (3, 2, 2)
    assert counters.invalidations == 0


def test_page_takes_the_place_of_another_one() -> None:
    tlb = filled(Tlb(8), 3, 11)

    assert held(tlb) == {11: entry_of(11)}
    tlb.check()


def test_of_many_pages_for_one_place_the_last_one_stays() -> None:
    tlb = Tlb(4)
    vpns = np.array([1, 5, 2, 9])

    tlb.fill_many(vpns, np.array([entry_of(vpn) for vpn in vpns.tolist()], np.uint64))

    assert held(tlb) == {9: entry_of(9), 2: entry_of(2)}


@pytest.mark.parametrize("first", [0, 3, 7, 8, 1000003])
@pytest.mark.parametrize("count", [1, 3, 8, 9, 20])
def test_run_of_pages_leaves_what_filling_one_by_one_leaves(first: int, count: int) -> None:
    one_by_one = filled(Tlb(8), *range(first, first + count))
    tlb = Tlb(8)

    tlb.fill_run(first, np.array([entry_of(first + n) for n in range(count)], np.uint64))

    tlb.check()
    assert held(tlb) == held(one_by_one)


@pytest.mark.parametrize("first", [0, 5, 13])
def test_run_is_read_without_counting(first: int) -> None:
    tlb = filled(Tlb(8), 5, 7, 9, 14)

    found = tlb.peek_run(first, 8).tolist()

    assert found == [entry_of(vpn) if vpn in held(tlb) else 0 for vpn in range(first, first + 8)]
    assert (tlb.statistics().hits, tlb.statistics().misses) == (0, 0)


def test_invalidating_a_page_forgets_that_page_only() -> None:
    tlb = filled(Tlb(8), 3, 4)

    assert tlb.invalidate_page(3) == 1
    assert tlb.invalidate_page(12) == 0

    assert held(tlb) == {4: entry_of(4)}
    assert tlb.statistics().invalidations == 2


def test_invalidating_everything_tells_how_much_it_was() -> None:
    tlb = filled(Tlb(8), 3, 4, 1 << 30)

    assert tlb.invalidate_all() == 3

    assert held(tlb) == {}
    assert tlb.statistics().entries == 0
    tlb.check()


@given(
    vpns=st.lists(st.integers(0, 40), max_size=30),
    first=st.integers(0, 40),
    count=st.integers(0, 40),
)
def test_invalidating_a_range_forgets_its_pages_only(
    vpns: list[int], first: int, count: int
) -> None:
    tlb = filled(Tlb(16), *vpns)
    before = held(tlb)

    forgotten = tlb.invalidate_range(first, count)

    tlb.check()
    inside = {vpn for vpn in before if first <= vpn < first + count}
    assert forgotten == len(inside)
    assert held(tlb) == {vpn: page for vpn, page in before.items() if vpn not in inside}


def test_whole_address_space_is_a_range() -> None:
    tlb = filled(Tlb(8), 0, (1 << 36) - 1)

    assert tlb.invalidate_range(0, 1 << 36) == 2


@pytest.mark.parametrize(
    ("vpn", "page"),
    [(9, local(0)), (1 << 36, local(0)), (2, 0), (2, local(0) | 1 << 60), (2, local(0) | 1 << 7)],
)
def test_check_finds_what_must_not_be_held(vpn: int, page: int) -> None:
    tlb = Tlb(8)
    tlb.tags[vpn % 8 if vpn != 9 else 2] = vpn
    tlb.pages[vpn % 8 if vpn != 9 else 2] = page

    with pytest.raises(InvariantError, match=f"holds page {vpn:#x} with entry"):
        tlb.check()


def test_check_finds_an_entry_in_an_empty_place() -> None:
    tlb = Tlb(8)
    tlb.pages[2] = local(0)

    with pytest.raises(InvariantError, match="empty place"):
        tlb.check()
