"""Large leaves: translated as a whole, and to what every page alone would be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.core.paging import AddressSpace, need_mask
from device.core.paging.large import walk_large
from device.core.paging.walker import find_leaf
from firmware.abi.ids import PAGE_SIZE, Access, Rights
from tests.harness.memory import memory_of
from tests.harness.paging import (
    GIB,
    MIB,
    bus,
    local,
    map_all,
    null,
    outcome,
    page_by_page,
    space_of,
)

VA = 0x7000_0000_0000
LEAF = 2 * MIB
READ = need_mask(Access.READ)
FRAMES = 1024
"""Frames of device memory: two large leaves."""


def make(*extents: tuple[int, int, int], tlb_entries: int = 64) -> AddressSpace:
    space = space_of(memory_of(FRAMES), tlb_entries=tlb_entries)
    map_all(space.tables, *extents)
    return space


def found(space: AddressSpace, va: int, size: int) -> int:
    """Return what large leaves give for a range."""
    first = va // PAGE_SIZE
    count = (va + size - 1) // PAGE_SIZE - first + 1
    return walk_large(space._memory, space.tables.root, first, count)


@pytest.mark.parametrize(
    ("va", "size", "entry"),
    [
        (VA, LEAF, bus(0)),
        (VA, 7 * LEAF, bus(3 * LEAF)),
        (VA, 2 * LEAF, local(0)),
        (VA, 2 * GIB, bus(GIB)),
        (VA + GIB - LEAF, 2 * LEAF, bus(5 * LEAF)),
        (VA + GIB - LEAF, GIB + LEAF, bus(GIB - LEAF)),
    ],
    ids=["one", "several", "of VRAM", "of 1 GiB", "of two tables", "of two sizes"],
)
def test_leaves_that_continue_each_other_are_found_as_one(va: int, size: int, entry: int) -> None:
    space = make((va, size, entry))

    assert found(space, va, size) == entry
    assert found(space, va + 5 * PAGE_SIZE, size - 9 * PAGE_SIZE) == entry + 5 * PAGE_SIZE


@pytest.mark.parametrize(
    "extents",
    [
        [],
        [(VA, LEAF, bus(0))],
        [(VA, LEAF, bus(0)), (VA + LEAF, LEAF, bus(2 * LEAF))],
        [(VA, LEAF, bus(0)), (VA + LEAF, LEAF, bus(LEAF, Rights.READ))],
        [(VA, LEAF, bus(0)), (VA + LEAF, LEAF, local(LEAF))],
        [(VA, LEAF, bus(0)), (VA + LEAF, LEAF, bus(LEAF + PAGE_SIZE))],
        [(VA, 2 * LEAF, null())],
    ],
    ids=["nothing", "a hole", "elsewhere", "rights", "aperture", "small", "null"],
)
def test_anything_else_is_left_to_the_walk_of_pages(extents: list[tuple[int, int, int]]) -> None:
    space = make(*extents)

    assert found(space, VA, 2 * LEAF) == 0
    expected = page_by_page(make(*extents), VA, 2 * LEAF, Access.READ)
    assert outcome(space, VA, 2 * LEAF, Access.READ) == expected


def test_leaves_that_reach_beyond_memory_are_left_to_the_walk_of_pages() -> None:
    spaces = [make((VA, 2 * LEAF, local(0))) for _ in range(2)]
    for space in spaces:
        words = space._memory.words
        for va in (VA, VA + LEAF):
            words[find_leaf(words, space.tables.root, va)] += LEAF

    one, other = spaces
    assert found(one, VA, 2 * LEAF) == 0
    expected = page_by_page(other, VA, 2 * LEAF, Access.READ)
    assert outcome(one, VA, 2 * LEAF, Access.READ) == expected


@given(
    leaves=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    cached=st.lists(st.integers(0, 2047), max_size=4),
    ends=st.tuples(st.integers(0, 600 * PAGE_SIZE), st.integers(0, 600 * PAGE_SIZE)),
    tlb_entries=st.sampled_from([16, 1024]),
)
def test_a_range_is_translated_as_its_pages_would_be_one_after_another(
    leaves: list[int], cached: list[int], ends: tuple[int, int], tlb_entries: int
) -> None:
    extents = [(VA + n * LEAF, LEAF, bus(leaf * LEAF)) for n, leaf in enumerate(leaves)]
    size = len(leaves) * LEAF
    start, stop = min(ends[0], size - 1), max(1, size - ends[1])
    start, stop = min(start, stop - 1), max(stop, start + 1)
    spaces = [make(*extents, tlb_entries=tlb_entries) for _ in range(2)]
    for space in spaces:
        # Some pages are cached as they were before everything was mapped anew.
        for page in cached:
            space.tlb.fill(VA // PAGE_SIZE + page, bus(page % 5 * LEAF + page * PAGE_SIZE))

    one, other = spaces
    whole = outcome(one, VA + start, stop - start, Access.READ)
    assert whole == page_by_page(other, VA + start, stop - start, Access.READ)
    assert one.tlb.statistics() == other.tlb.statistics()
    assert one.tlb.tags.tolist() == other.tlb.tags.tolist()
    assert one.tlb.pages.tolist() == other.tlb.pages.tolist()


def test_a_right_that_is_missing_faults_at_the_first_page() -> None:
    space = make((VA, LEAF, bus(0, Rights.WRITE)))

    expected = page_by_page(make((VA, LEAF, bus(0, Rights.WRITE))), VA, LEAF, Access.READ)
    assert outcome(space, VA, LEAF, Access.READ) == expected
