"""Many extents and millions of pages at once: the same tables as one by one, only faster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from device.core.errors import DeviceError
from device.core.memory import Run
from device.core.paging import PageTables, walk, walk_many, walk_pages
from device.core.paging.leaves import choose, choose_many, ladder_of
from firmware.abi.ids import PAGE_SIZE, Access, PageSizes, Rights
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import (
    ALL_SIZES,
    GIB,
    KIB,
    MIB,
    SIZE_SETS,
    SMALL,
    attempt,
    bus,
    columns,
    image,
    local,
    null,
    space_of,
)

if TYPE_CHECKING:
    from device.core.paging.bits import Entries

VA = 0x7000_0000_0000
MILLIONS = 3_000_000


def ramp(count: int, step: int = PAGE_SIZE) -> Entries:
    return np.arange(count, dtype=np.uint64) * np.uint64(step)


@pytest.mark.parametrize("first_page", [0, 1, 511, 777])
def test_millions_of_pages_in_one_extent(first_page: int) -> None:
    memory = memory_of(MILLIONS // 512 + 32)
    tables = PageTables(memory, SMALL)
    va = VA + first_page * PAGE_SIZE

    assert tables.map_one(va, MILLIONS * PAGE_SIZE, bus(0x1000)) == MILLIONS

    tables.check()
    pages, hole = walk_pages(memory, tables.root, va // PAGE_SIZE, MILLIONS)
    assert hole == -1
    assert (pages == ramp(MILLIONS) + np.uint64(bus(0x1000))).all()
    assert tables.unmap(va, MILLIONS * PAGE_SIZE) == MILLIONS
    tables.check()
    assert memory.free_bytes == memory.size - PAGE_SIZE


@pytest.mark.parametrize("page_sizes", [SMALL, ALL_SIZES])
def test_hundred_thousand_scattered_extents(page_sizes: PageSizes) -> None:
    count, pages_each = 100_000, 16
    memory = memory_of(16_384)
    tables = PageTables(memory, page_sizes)
    random = np.random.default_rng(1)
    place = random.permutation(2 * count)[:count].astype(np.uint64)
    va = np.uint64(VA) + place * np.uint64(64 * KIB)
    address = random.permutation(count).astype(np.uint64) * np.uint64(64 * KIB)
    entry = address | np.uint64(bus(0))

    mapped = tables.map(va, np.full(count, 64 * KIB, np.uint64), entry)

    tables.check()
    assert mapped == count * pages_each
    expected = np.zeros((2 * count, pages_each), np.uint64)
    expected[place.view(np.int64)] = entry[:, np.newaxis] + ramp(pages_each)
    pages, _ = walk_pages(memory, tables.root, VA // PAGE_SIZE, 2 * count * pages_each)
    assert (pages == expected.ravel()).all()
    some = random.integers(0, len(pages), 5000)
    assert (walk_many(memory, tables.root, some + VA // PAGE_SIZE) == pages[some]).all()


@pytest.mark.parametrize("entry", [bus(0x1000), null()])
def test_tables_may_lie_anywhere(entry: int) -> None:
    memory = memory_of(256)
    (run,) = memory.allocate(128 * PAGE_SIZE, 9)
    memory.free([Run(frame, 1) for frame in range(run.first, run.first + run.count, 2)])
    memory.allocate(memory.free_bytes - 64 * PAGE_SIZE, 9)
    tables = PageTables(memory, SMALL)
    pages = 30 * 512

    tables.map_one(VA, pages * PAGE_SIZE, entry)

    tables.check()
    found, _ = walk_pages(memory, tables.root, VA // PAGE_SIZE, pages)
    step = np.uint64(0 if entry == null() else 1)
    assert (found == np.uint64(entry) + ramp(pages) * step).all()
    assert tables.unmap(VA, pages * PAGE_SIZE) == pages
    assert memory.free_bytes == 63 * PAGE_SIZE


def test_range_of_scattered_pages_has_an_extent_for_each() -> None:
    memory = memory_of(1024)
    space = space_of(memory, page_sizes=SMALL, tlb_entries=4096)
    count = GIB // PAGE_SIZE
    address = np.random.default_rng(2).permutation(count).astype(np.uint64) * np.uint64(PAGE_SIZE)
    va = np.uint64(VA) + ramp(count)
    space.tables.map(va, np.full(count, PAGE_SIZE, np.uint64), address | np.uint64(bus(0)))

    extents = space.translate(VA, GIB, Access.READ)

    continued = int(np.count_nonzero(address[1:] - address[:-1] == PAGE_SIZE))
    assert len(extents) == count - continued
    starts = ((extents.va - np.uint64(VA)) // np.uint64(PAGE_SIZE)).astype(np.int64)
    assert (extents.address == address[starts]).all()
    assert int(extents.size.sum()) == extents.total == GIB
    space.check()


def test_one_overlap_among_a_hundred_thousand_extents_refuses_all() -> None:
    count = 100_000
    memory = memory_of(8192)
    tables = PageTables(memory, SMALL)
    victim = VA + 77_777 * 64 * KIB + 5 * PAGE_SIZE
    tables.map_one(victim, PAGE_SIZE, local(0))
    before = image(memory)
    va = np.uint64(VA) + ramp(count, 64 * KIB)
    size = np.full(count, 64 * KIB, np.uint64)

    with pytest.raises(DeviceError) as refusal:
        tables.map(va, size, ramp(count, 64 * KIB) | np.uint64(bus(0)))

    assert (refusal.value.status, refusal.value.detail) == (Status.OVERLAP, victim)
    assert image(memory) == before


def test_extents_may_come_in_any_order() -> None:
    extents = [(VA + n * MIB, 128 * KIB, bus(n * MIB)) for n in range(100)]
    shuffled = [extents[n] for n in np.random.default_rng(3).permutation(100)]
    memory = memory_of(256)
    tables = PageTables(memory, ALL_SIZES)

    tables.map(*columns(*shuffled))

    tables.check()
    for va, size, entry in extents:
        for offset in (0, size - PAGE_SIZE):
            assert walk(memory, tables.root, va + offset).page == entry + offset


def test_large_null_range_costs_few_tables() -> None:
    memory = memory_of(1024)
    tables = PageTables(memory, ALL_SIZES)

    tables.map_one(0, 1 << 47, null())

    assert tables.table_count == 257
    assert tables.first_hole(0, 1 << 48) == 1 << 47
    assert tables.unmap(0, 1 << 48) == 1 << 35


SIZES = st.one_of(
    st.integers(1, 40),
    st.sampled_from([511, 512, 513, 1024, 1500]),
    st.sampled_from([GIB // PAGE_SIZE, GIB // PAGE_SIZE + 512, 2 * GIB // PAGE_SIZE]),
)
GAPS = st.one_of(st.just(0), st.integers(0, 20), st.sampled_from([512, 5000, 262_144]))
ADDRESSES = st.one_of(
    st.integers(0, 20).map(lambda n: n * PAGE_SIZE),
    st.integers(0, 4).map(lambda n: n * 64 * KIB),
    st.integers(0, 4).map(lambda n: n * 2 * MIB),
    st.just(0),
)
KINDS = st.sampled_from(["bus", "null", "same"])
PARTS = st.lists(st.tuples(GAPS, SIZES, ADDRESSES, KINDS), min_size=1, max_size=60)
STARTS = st.sampled_from([0, 512 - 8, GIB // PAGE_SIZE - 20, VA // PAGE_SIZE, (1 << 35) - 3])


def laid_out(start: int, parts: list[tuple[int, int, int, str]]) -> list[tuple[int, int, int]]:
    """Return disjoint extents; of kind "same" leaves of every size fit."""
    extents: list[tuple[int, int, int]] = []
    page = start
    for gap, pages, address, kind in parts:
        page += gap
        va = page * PAGE_SIZE
        rights = Rights.READ if pages % 2 else Rights.READ | Rights.WRITE
        if kind == "null":
            entry = null(rights)
        else:
            # Huge extents of pages that do not fit leaves would need thousands of tables.
            fitting = kind == "same" or pages > 10_000
            entry = bus(va % GIB if fitting else address, rights)
        extents.append((va, pages * PAGE_SIZE, entry))
        page += pages
    return extents


@given(start=STARTS, parts=PARTS, page_sizes=st.sampled_from(SIZE_SETS[1:]))
def test_leaves_of_many_extents_are_those_of_each(
    start: int, parts: list[tuple[int, int, int, str]], page_sizes: PageSizes
) -> None:
    extents = laid_out(start, parts)
    ladder = ladder_of(page_sizes)
    va, size, entry = columns(*extents)

    found = choose_many(va.view(np.int64), (va + size).view(np.int64), entry, ladder)

    together = [
        (part.level, *leaves)
        for part in found
        for leaves in zip(
            part.unit.tolist(), part.entries.tolist(), part.entry.tolist(), strict=True
        )
    ]
    one_by_one = [tuple(leaves) for extent in extents for leaves in choose(*extent, ladder)]
    assert sorted(together) == sorted(one_by_one)


@settings(max_examples=40)
@given(
    start=STARTS,
    parts=PARTS,
    page_sizes=st.sampled_from([SIZE_SETS[1], ALL_SIZES]),
    there=st.lists(st.integers(0, 59), max_size=3),
    obstacle=st.one_of(st.none(), st.tuples(st.integers(0, 59), st.integers(0, 2000))),
)
def test_list_does_what_its_extents_do_one_by_one(
    start: int,
    parts: list[tuple[int, int, int, str]],
    page_sizes: PageSizes,
    there: list[int],
    obstacle: tuple[int, int] | None,
) -> None:
    parts = [part for part in parts if page_sizes == ALL_SIZES or part[1] < 10_000]
    extents = laid_out(start, parts)
    first = {extents[number] for number in there if number < len(extents)}
    # Enough of them that they are mapped with numpy.
    end = max((va + size for va, size, _ in extents), default=0) + GIB
    rest = [extent for extent in extents if extent not in first]
    rest += [(end + 2 * n * PAGE_SIZE, PAGE_SIZE, bus(0)) for n in range(30)]
    together, one_by_one = (PageTables(memory_of(2048), page_sizes) for _ in range(2))
    for tables in (together, one_by_one):
        for extent in first:
            tables.map_one(*extent)
        if obstacle is not None:
            va, size, _ = rest[obstacle[0] % len(rest)]
            tables.map_one(va + obstacle[1] * PAGE_SIZE % size, PAGE_SIZE, null())

    answers = [attempt(partial(one_by_one.map_one, *extent)) for extent in rest]
    refusals = [answer for answer in answers if isinstance(answer, DeviceError)]
    whole_list = attempt(partial(together.map, *columns(*rest)))
    if isinstance(whole_list, DeviceError):
        assert whole_list.status is Status.OVERLAP
        assert whole_list.detail == refusals[0].detail
        together.check()
        return

    assert refusals == []
    for tables in (together, one_by_one):
        tables.check()
    assert together.table_count == one_by_one.table_count
    assert together.mapped_pages == one_by_one.mapped_pages
    whole = (0, 1 << 48, 10_000)
    assert together.query(*whole) == one_by_one.query(*whole)
