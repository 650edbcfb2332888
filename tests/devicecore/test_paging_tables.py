"""Page tables: which leaves are made, what they say, and when tables come and go."""

from __future__ import annotations

import numpy as np
import pytest

from device.core.errors import InternalError
from device.core.paging import PageTables, walk
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, PageSizes, Rights
from firmware.abi.paging import Pte
from tests.harness.memory import memory_of
from tests.harness.paging import (
    ALL_SIZES,
    GIB,
    KIB,
    MIB,
    SIZE_SETS,
    SMALL,
    bus,
    local,
    map_all,
    null,
    pages_of,
    walked,
)

VA = 0x7000_0000_0000
FRAMES = 1024


def make(page_sizes: PageSizes = ALL_SIZES, frames: int = FRAMES) -> PageTables:
    return PageTables(memory_of(frames), page_sizes)


def leaf_size(tables: PageTables, va: int) -> int:
    return walk(tables._memory, tables.root, va).size


def test_new_tables_are_one_empty_root() -> None:
    memory = memory_of(FRAMES)

    tables = PageTables(memory, ALL_SIZES)

    tables.check()
    assert (tables.table_count, tables.mapped_pages) == (1, 0)
    assert memory.table_bytes == PAGE_SIZE
    assert tables.first_mapped(0, VA_LIMIT) is None


@pytest.mark.parametrize("page_sizes", SIZE_SETS)
@pytest.mark.parametrize("size", [PAGE_SIZE, 64 * KIB, 2 * MIB, 4 * MIB + 68 * KIB])
@pytest.mark.parametrize("shift", [0, PAGE_SIZE, 64 * KIB, 2 * MIB - PAGE_SIZE])
def test_every_page_of_an_extent_reads_as_it_was_mapped(
    page_sizes: PageSizes, size: int, shift: int
) -> None:
    tables = make(page_sizes)
    entry = bus(0x12_3400_0000 + shift, Rights.READ)

    mapped = tables.map_one(VA + shift, size, entry)

    tables.check()
    expected = {page: at.entry for page, at in pages_of(VA + shift, size, entry).items()}
    around = range((VA + shift) // PAGE_SIZE - 1, (VA + shift + size) // PAGE_SIZE + 1)
    assert walked(tables._memory, tables.root, around) == expected
    assert mapped == tables.mapped_pages == size // PAGE_SIZE


@pytest.mark.parametrize(
    ("va_offset", "address_offset", "size", "leaf"),
    [
        (0, 0, GIB, GIB),
        (0, 0, GIB - PAGE_SIZE, 2 * MIB),
        (2 * MIB, 2 * MIB, GIB, 2 * MIB),
        (0, 2 * MIB, GIB, 2 * MIB),
        (0, 64 * KIB, 2 * MIB, 64 * KIB),
        (64 * KIB, 0, 64 * KIB, 64 * KIB),
        (64 * KIB, 0, 60 * KIB, 4 * KIB),
        (0, 4 * KIB, 2 * MIB, 4 * KIB),
        (4 * KIB, 0, 2 * MIB, 4 * KIB),
    ],
)
def test_first_leaf_is_the_largest_that_both_alignments_allow(
    va_offset: int, address_offset: int, size: int, leaf: int
) -> None:
    tables = make()

    tables.map_one(VA + va_offset, size, bus(0x10_0000_0000 + address_offset))

    assert leaf_size(tables, VA + va_offset) == leaf


def test_leaf_sizes_of_one_extent_grow_and_shrink_again() -> None:
    tables = make()
    start = VA + GIB - 2 * MIB - 64 * KIB - PAGE_SIZE
    size = GIB + 2 * (2 * MIB + 64 * KIB + PAGE_SIZE)

    tables.map_one(start, size, bus(0x10_0000_0000 + start - VA))

    tables.check()
    seen: list[int] = []
    va = start
    while va < start + size:
        seen.append(leaf_size(tables, va))
        va += seen[-1]
    assert seen == [4 * KIB, 64 * KIB, 2 * MIB, GIB, 2 * MIB, 64 * KIB, 4 * KIB]


def test_null_pages_need_no_aligned_address() -> None:
    tables = make()

    tables.map_one(VA, GIB, null())

    assert leaf_size(tables, VA) == GIB
    assert tables.table_count == 2 + 1 - 1


@pytest.mark.parametrize("page_sizes", SIZE_SETS)
def test_null_pages_all_have_the_same_bits(page_sizes: PageSizes) -> None:
    tables = make(page_sizes)
    map_all(tables, *((VA + n * 8 * MIB + MIB + KIB * 512, MIB, null()) for n in range(30)))
    tables.map_one(VA - 3 * MIB, 3 * MIB, null())

    for va in range(VA - 3 * MIB, VA + 20 * MIB, 60 * KIB):
        found = walk(tables._memory, tables.root, va)
        assert found.entry & ~int(Pte.contiguous.mask) == (null() if found.page else 0)


def test_huge_leaves_are_not_used_without_large_ones_to_split_them_into() -> None:
    tables = make(PageSizes.SMALL | PageSizes.HUGE, frames=2048)

    tables.map_one(VA, GIB, bus(0))

    assert leaf_size(tables, VA) == PAGE_SIZE


@pytest.mark.parametrize("page_sizes", SIZE_SETS)
def test_unmapping_everything_leaves_the_root_alone(page_sizes: PageSizes) -> None:
    memory = memory_of(FRAMES)
    tables = PageTables(memory, page_sizes)
    before = memory.free_bytes
    map_all(
        tables,
        (0, PAGE_SIZE, local(0)),
        (VA, 5 * MIB, bus(0)),
        (VA_LIMIT - PAGE_SIZE, PAGE_SIZE, null()),
    )

    unmapped = tables.unmap(0, VA_LIMIT)

    tables.check()
    assert unmapped == 5 * MIB // PAGE_SIZE + 2
    assert (tables.table_count, tables.mapped_pages) == (1, 0)
    assert memory.free_bytes == before


def test_tables_go_when_their_last_page_goes_and_not_before() -> None:
    tables = make(SMALL)
    map_all(tables, (VA, PAGE_SIZE, local(0)), (VA + 2 * MIB, PAGE_SIZE, local(0)))
    assert tables.table_count == 5

    tables.unmap(VA, PAGE_SIZE)
    assert tables.table_count == 4
    tables.unmap(VA + 2 * MIB, PAGE_SIZE)
    assert tables.table_count == 1


def test_unmapping_holes_is_allowed_and_counts_what_was_there() -> None:
    tables = make()
    tables.map_one(VA, 3 * PAGE_SIZE, local(0))

    assert tables.unmap(VA - MIB, 8 * MIB) == 3
    assert tables.unmap(VA - MIB, 8 * MIB) == 0


@pytest.mark.parametrize("leaf", [64 * KIB, 2 * MIB, GIB])
@pytest.mark.parametrize("offset", [0, 4 * KIB, 128 * KIB, 3 * MIB])
def test_unmapping_part_of_a_leaf_leaves_the_rest(leaf: int, offset: int) -> None:
    tables = make()
    tables.map_one(VA, leaf, bus(0x10_0000_0000))
    offset %= leaf

    unmapped = tables.unmap(VA + offset, PAGE_SIZE)

    tables.check()
    assert unmapped == 1
    hole = walk(tables._memory, tables.root, VA + offset)
    assert not hole.page
    for at in {offset - PAGE_SIZE, offset + PAGE_SIZE, 0, leaf - PAGE_SIZE} - {offset, -PAGE_SIZE}:
        if at < leaf:
            found = walk(tables._memory, tables.root, VA + at)
            assert found.page == bus(0x10_0000_0000 + at)
    assert tables.mapped_pages == leaf // PAGE_SIZE - 1


def test_splitting_makes_the_largest_leaves_that_remain() -> None:
    tables = make()
    tables.map_one(VA, GIB, bus(0x10_0000_0000))

    tables.unmap(VA + 2 * MIB + 64 * KIB, PAGE_SIZE)

    assert leaf_size(tables, VA) == 2 * MIB
    assert leaf_size(tables, VA + 2 * MIB) == 64 * KIB
    assert leaf_size(tables, VA + 2 * MIB + 68 * KIB) == 4 * KIB
    assert leaf_size(tables, VA + 4 * MIB) == 2 * MIB
    # The level-1 table of the cut 1 GiB leaf, the level-0 table of the cut 2 MiB leaf.
    assert tables.table_count == 2 + 2


def test_split_goes_no_deeper_than_the_range_needs() -> None:
    tables = make()
    tables.map_one(VA, GIB, bus(0))

    tables.unmap(VA + 2 * MIB, 2 * MIB)

    assert tables.table_count == 3
    assert leaf_size(tables, VA) == leaf_size(tables, VA + 4 * MIB) == 2 * MIB


def test_split_without_groups_makes_single_pages() -> None:
    tables = make(PageSizes.SMALL | PageSizes.LARGE)
    tables.map_one(VA, 2 * MIB, bus(0))

    tables.unmap(VA, PAGE_SIZE)

    tables.check()
    assert leaf_size(tables, VA + MIB) == PAGE_SIZE


def test_split_null_leaf_stays_null() -> None:
    tables = make()
    tables.map_one(VA, GIB, null(Rights.READ))

    tables.protect(VA + MIB, PAGE_SIZE, Rights.NONE)

    tables.check()
    assert walk(tables._memory, tables.root, VA + MIB).page == null(Rights.NONE)
    assert walk(tables._memory, tables.root, VA + MIB + PAGE_SIZE).page == null(Rights.READ)


def test_one_list_may_cut_one_leaf_many_times() -> None:
    tables = make()
    tables.map_one(VA, GIB, bus(0))
    va = np.arange(1, 100, 2, dtype=np.uint64) * np.uint64(PAGE_SIZE) + np.uint64(VA)
    size = np.full(len(va), PAGE_SIZE, np.uint64)

    assert tables.unmap_list(va, size) == len(va)

    tables.check()
    assert tables.table_count == 4
    assert tables.mapped_pages == GIB // PAGE_SIZE - len(va)


def test_ranges_of_one_unmap_list_may_touch_and_overlap() -> None:
    tables = make()
    tables.map_one(VA, 4 * MIB, bus(0))
    va = np.array([VA + MIB, VA, VA + 64 * KIB, VA + 68 * KIB], np.uint64)
    size = np.array([MIB, 128 * KIB, MIB, PAGE_SIZE], np.uint64)

    assert tables.unmap_list(va, size) == 2 * MIB // PAGE_SIZE

    tables.check()
    assert tables.first_mapped(VA, 4 * MIB) == VA + 2 * MIB


@pytest.mark.parametrize("page_sizes", SIZE_SETS)
def test_protect_changes_rights_of_its_range_only(page_sizes: PageSizes) -> None:
    tables = make(page_sizes)
    tables.map_one(VA, 4 * MIB, bus(0))

    changed = tables.protect(VA + 68 * KIB, 3 * MIB, Rights.READ | Rights.ATOMIC)

    tables.check()
    assert changed == 3 * MIB // PAGE_SIZE
    for at, rights in (
        (0, READ_WRITE),
        (64 * KIB, READ_WRITE),
        (68 * KIB, Rights.READ | Rights.ATOMIC),
        (3 * MIB + 64 * KIB, Rights.READ | Rights.ATOMIC),
        (3 * MIB + 68 * KIB, READ_WRITE),
    ):
        assert walk(tables._memory, tables.root, VA + at).page == bus(at, rights)


def test_protect_of_whole_leaves_splits_none() -> None:
    tables = make()
    tables.map_one(VA, 2 * GIB, bus(0))
    before = tables.table_count

    tables.protect(VA, GIB, Rights.READ)

    assert tables.table_count == before
    assert leaf_size(tables, VA) == GIB


def test_protect_list_gives_each_range_its_rights() -> None:
    tables = make()
    tables.map_one(VA, 2 * MIB, bus(0))

    tables.protect_list(
        np.array([VA + MIB, VA], np.uint64),
        np.array([PAGE_SIZE, PAGE_SIZE], np.uint64),
        np.array([Rights.READ, Rights.NONE], np.uint64),
    )

    tables.check()
    assert walk(tables._memory, tables.root, VA).page == bus(0, Rights.NONE)
    assert walk(tables._memory, tables.root, VA + MIB).page == bus(MIB, Rights.READ)


def test_empty_lists_do_nothing() -> None:
    tables = make()
    nothing = np.zeros(0, np.uint64)

    assert tables.map(nothing, nothing, nothing) == 0
    assert tables.unmap_list(nothing, nothing) == 0
    assert tables.protect_list(nothing, nothing, nothing) == 0


def test_holes_and_mappings_are_found_at_their_first_address() -> None:
    tables = make()
    map_all(tables, (VA + MIB, MIB, bus(0)), (VA + 4 * GIB, GIB, null()))

    assert tables.first_mapped(0, VA_LIMIT) == VA + MIB
    assert tables.first_mapped(VA + 2 * MIB, VA_LIMIT - VA - 2 * MIB) == VA + 4 * GIB
    assert tables.first_hole(VA + MIB, VA_LIMIT - VA - MIB) == VA + 2 * MIB
    assert tables.first_hole(VA + 4 * GIB + MIB, GIB) == VA + 5 * GIB
    assert tables.is_mapped(VA + MIB, MIB)
    assert not tables.is_mapped(VA, 2 * MIB)


def test_destroyed_tables_gave_all_back_and_refuse_work() -> None:
    memory = memory_of(FRAMES)
    before = memory.free_bytes
    tables = PageTables(memory, SMALL)
    tables.map_one(VA, 64 * MIB, bus(0))

    tables.destroy()

    memory.check()
    assert memory.free_bytes == before
    assert memory.table_bytes == 0
    assert (tables.table_count, tables.mapped_pages) == (0, 0)
    with pytest.raises(InternalError, match="destroyed"):
        tables.map_one(VA, PAGE_SIZE, local(0))
    with pytest.raises(InternalError, match="destroyed"):
        tables.unmap(VA, PAGE_SIZE)
    with pytest.raises(InternalError, match="destroyed"):
        tables.protect(VA, PAGE_SIZE, Rights.READ)
