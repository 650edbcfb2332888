"""Ranges to extents: what is joined, what is not, and that long ranges are as short ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import given

from device.core.memory import Extent
from device.core.paging.space import FEW_PAGES, WINDOW_PAGES
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Access, Rights
from firmware.abi.paging import Aperture, Pte, leaf_entry
from tests.harness.memory import BUS, LOCAL, memory_of
from tests.harness.paging import (
    GIB,
    KIB,
    MIB,
    SIZE_SETS,
    SMALL,
    Fault,
    bus,
    local,
    map_all,
    null,
    outcome,
    page_by_page,
    space_of,
)

if TYPE_CHECKING:
    from device.core.paging import AddressSpace

VA = 0x7000_0000_0000
LONG = 4 * FEW_PAGES
"""Pages that are translated with numpy."""


def make(frames: int = 512, **options: object) -> AddressSpace:
    return space_of(memory_of(frames), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("page_sizes", SIZE_SETS)
@pytest.mark.parametrize("pages", [1, 2, 16, FEW_PAGES, FEW_PAGES + 1, 1000])
def test_consecutive_memory_is_one_extent(page_sizes: object, pages: int) -> None:
    space = make(page_sizes=page_sizes)
    space.tables.map_one(VA, 4 * MIB, bus(0))

    extents = space.translate(VA + 5, pages * PAGE_SIZE - 9, Access.WRITE)

    assert list(extents) == [Extent(VA + 5, pages * PAGE_SIZE - 9, 5, BUS, READ_WRITE)]
    assert extents.total == pages * PAGE_SIZE - 9


@pytest.mark.parametrize("filler", [0, LONG])
def test_extents_end_where_anything_changes(filler: int) -> None:
    space = make()
    first = 16 + filler
    size = (first + 8) * PAGE_SIZE
    map_all(
        space.tables,
        (VA, first * PAGE_SIZE, bus(0)),
        (VA + first * PAGE_SIZE, PAGE_SIZE, local(first * PAGE_SIZE)),
        (VA + (first + 1) * PAGE_SIZE, PAGE_SIZE, local((first + 1) * PAGE_SIZE, Rights.READ)),
        (VA + (first + 2) * PAGE_SIZE, 2 * PAGE_SIZE, null()),
        (VA + (first + 4) * PAGE_SIZE, 2 * PAGE_SIZE, null(Rights.READ)),
        (VA + (first + 6) * PAGE_SIZE, PAGE_SIZE, local(0)),
        (VA + (first + 7) * PAGE_SIZE, PAGE_SIZE, local(0)),
    )

    extents = list(space.translate(VA, size, Access.READ))

    assert [row.size // PAGE_SIZE for row in extents] == [first, 1, 1, 2, 2, 1, 1]
    assert [row.aperture for row in extents] == [BUS, *[LOCAL] * 6]
    assert [row.null for row in extents] == [False, False, False, True, True, False, False]
    assert [row.address for row in extents[3:5]] == [0, 0]
    assert [row.rights for row in extents[2:6]] == [1, 3, 1, 3]


@pytest.mark.parametrize("filler", [0, LONG])
def test_null_range_is_one_extent_without_address(filler: int) -> None:
    space = make()
    space.tables.map_one(VA, GIB, null())
    size = (filler + 3) * PAGE_SIZE

    extents = list(space.translate(VA + 5, size, Access.WRITE))

    assert extents == [Extent(VA + 5, size, 0, LOCAL, READ_WRITE, null=True)]


def test_neighbouring_peers_are_two_extents() -> None:
    space = make()
    last = int(leaf_entry(VA_LIMIT - PAGE_SIZE, READ_WRITE, Aperture.PEER, peer=1))
    first = int(leaf_entry(0, READ_WRITE, Aperture.PEER, peer=2))
    filler = LONG * PAGE_SIZE
    map_all(space.tables, (VA, PAGE_SIZE, last), (VA + PAGE_SIZE, filler, first))

    assert len(space.translate(VA, PAGE_SIZE + filler, Access.READ)) == 2
    assert len(space.translate(VA, 2 * PAGE_SIZE, Access.READ)) == 2


def test_neighbouring_peers_are_two_extents_where_windows_meet() -> None:
    space = make()
    size = WINDOW_PAGES * PAGE_SIZE
    last = int(leaf_entry(VA_LIMIT - size, READ_WRITE, Aperture.PEER, peer=1))
    first = int(leaf_entry(0, READ_WRITE, Aperture.PEER, peer=2))
    map_all(space.tables, (VA, size, last), (VA + size, MIB, first))

    assert [row.size for row in space.translate(VA, size + MIB, Access.READ)] == [size, MIB]


@pytest.mark.parametrize("count", [2, 8])
def test_range_goes_on_in_the_next_table_wherever_that_is(count: int) -> None:
    space = make(page_sizes=SMALL)
    start = VA + 2 * MIB - PAGE_SIZE
    # The later table is made first, so it does not stand behind the other one.
    space.tables.map_one(VA + 2 * MIB, 7 * PAGE_SIZE, bus(0))
    space.tables.map_one(VA, 2 * MIB, bus(GIB))
    # This one does.
    space.tables.map_one(VA + 4 * MIB, 7 * PAGE_SIZE, bus(5 * GIB))

    extents = list(space.translate(start, count * PAGE_SIZE, Access.READ))

    assert [row.address for row in extents] == [GIB + 2 * MIB - PAGE_SIZE, 0]


@pytest.mark.parametrize("filler", [0, LONG])
def test_group_that_reaches_behind_vram_faults_behind_it(filler: int) -> None:
    space = make(frames=72)
    group = VA + 2 * MIB
    space.tables.map_one(group - LONG * PAGE_SIZE, LONG * PAGE_SIZE, bus(0))
    space.tables.map_one(group, 64 * KIB, bus(GIB))
    words = space._memory.words
    first = words.tolist().index(bus(GIB) | Pte.contiguous.mask)
    for number in range(16):
        words[first + number] = local(256 * KIB + number * PAGE_SIZE) | Pte.contiguous.mask

    found = outcome(space, group - filler * PAGE_SIZE, filler * PAGE_SIZE + 64 * KIB, Access.READ)

    assert isinstance(found, Fault)
    assert (found.reason, found.va) == (FaultReason.BAD_APERTURE, group + 8 * PAGE_SIZE)


def test_range_longer_than_a_window_is_joined() -> None:
    space = make(frames=2048, page_sizes=SMALL)
    pages = WINDOW_PAGES + 100
    space.tables.map_one(VA, pages * PAGE_SIZE, bus(0))
    space.tables.map_one(VA + pages * PAGE_SIZE, PAGE_SIZE, bus(0))

    extents = space.translate(VA + 1, pages * PAGE_SIZE + 5, Access.READ)

    assert [row.size for row in extents] == [pages * PAGE_SIZE - 1, 6]


EXTENT = st.tuples(
    st.integers(0, 600),
    st.sampled_from([1, 2, 15, 16, 32, 100, 512]),
    st.one_of(
        st.builds(bus, st.sampled_from([0, 2 * MIB, 68 * KIB]), st.sampled_from([1, 3])),
        st.builds(null, st.sampled_from([Rights.READ, READ_WRITE])),
    ),
)
RANGE = st.tuples(
    st.integers(0, 1200 * PAGE_SIZE),
    st.one_of(st.integers(1, 40 * PAGE_SIZE), st.integers(1, 1300 * PAGE_SIZE)),
    st.sampled_from([Access.READ, Access.WRITE]),
)


@given(
    extents=st.lists(EXTENT, min_size=1, max_size=8),
    ranges=st.lists(RANGE, min_size=1, max_size=6),
    tlb_entries=st.sampled_from([1, 16, 64, 1024]),
    unmapped=st.integers(0, 600),
)
def test_ranges_short_and_long_are_what_their_pages_are(
    extents: list[tuple[int, int, int]],
    ranges: list[tuple[int, int, Access]],
    tlb_entries: int,
    unmapped: int,
) -> None:
    by_range, by_page = (make(tlb_entries=tlb_entries) for _ in range(2))
    for space in (by_range, by_page):
        taken = set[int]()
        for start, count, entry in extents:
            if taken.isdisjoint(range(start, start + count)):
                taken.update(range(start, start + count))
                space.tables.map_one(VA + start * PAGE_SIZE, count * PAGE_SIZE, entry)

    for number, (offset, size, access) in enumerate(ranges):
        assert outcome(by_range, VA + offset, size, access) == page_by_page(
            by_page, VA + offset, size, access
        )
        if number == 1:
            # Without an invalidate, so that both meet stale entries.
            for space in (by_range, by_page):
                space.tables.unmap(VA + unmapped * PAGE_SIZE, 64 * PAGE_SIZE)
        assert by_range.tlb.tags == by_page.tlb.tags
        assert by_range.tlb.pages == by_page.tlb.pages
        assert by_range.statistics() == by_page.statistics()
        by_range.check()
