"""Bits changed behind the tables' back: they hurt who owns them, are found, and are cleaned up."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from device.core.errors import DeviceError, EngineFault, InvariantError
from device.core.paging import PageTables, walk
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access, Rights
from firmware.abi.paging import Pte, directory_entry
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import (
    ALL_SIZES,
    GIB,
    KIB,
    MIB,
    SMALL,
    bus,
    local,
    map_all,
    null,
    space_of,
)

if TYPE_CHECKING:
    from device.core.memory import MemoryController

VA = 0x7000_0000_0000
FRAMES = 256


def slot(tables: PageTables, va: int, level: int) -> int:
    """Return the word index of the entry for `va` at `level`, found by the bits."""
    words = tables._memory.words
    table = tables.root
    for upper in range(3, level, -1):
        table = words[table // 8 + (va >> (12 + 9 * upper) & 511)] & 0xFFFF_FFFF_F000
    return table // 8 + (va >> (12 + 9 * level) & 511)


def make() -> tuple[MemoryController, PageTables]:
    """Return tables with a page, a group, a large leaf and a huge one."""
    memory = memory_of(FRAMES)
    tables = PageTables(memory, ALL_SIZES)
    map_all(
        tables,
        (VA, PAGE_SIZE, local(0)),
        (VA + 64 * KIB, 64 * KIB, bus(0)),
        (VA + 2 * MIB, 2 * MIB, bus(0)),
        (VA + GIB, GIB, null()),
    )
    tables.check()
    return memory, tables


DAMAGE = {
    "leaf cleared": (VA, 0, 0, "is empty|were mapped"),
    "reserved bit": (VA, 0, local(0) | 1 << 62, "is no leaf"),
    "not valid": (VA, 0, local(0) & ~1, "is no leaf"),
    "group torn": (VA + 68 * KIB, 0, bus(0), "is no leaf"),
    "misaligned": (VA + 2 * MIB, 1, bus(PAGE_SIZE), "is no leaf"),
    "leaf at the root": (VA, 3, bus(0), "nothing leads to|is no leaf"),
    "directory cleared": (VA, 2, 0, "nothing leads to"),
    "leads to frame 255": (VA, 1, int(directory_entry(255 * PAGE_SIZE)), "no table of level 0"),
    "more pages": (VA + PAGE_SIZE, 0, local(0), "5 pages|were mapped"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_check_finds_damage(name: str) -> None:
    va, level, entry, text = DAMAGE[name]
    memory, tables = make()
    memory.words[slot(tables, va, level)] = entry

    with pytest.raises(InvariantError, match=text):
        tables.check()


def test_check_finds_a_table_that_is_reached_twice() -> None:
    memory, tables = make()
    twice = memory.words[slot(tables, VA, 1)]
    memory.words[slot(tables, VA + 8 * MIB, 1)] = twice

    with pytest.raises(InvariantError, match="2 entries lead to 1 tables of level 0"):
        tables.check()


def test_check_finds_a_table_on_the_wrong_level() -> None:
    memory, tables = make()
    memory.words[slot(tables, VA + 4 * GIB, 2)] = directory_entry(tables.root)

    with pytest.raises(InvariantError, match="no table of level 1"):
        tables.check()


def test_check_finds_an_empty_table() -> None:
    memory, tables = make()
    tables.map_one(VA + 8 * MIB, PAGE_SIZE, local(0))
    memory.words[slot(tables, VA + 8 * MIB, 0)] = 0

    with pytest.raises(InvariantError, match="of level 0 is empty"):
        tables.check()


def test_check_finds_a_leaf_of_a_size_that_the_device_does_not_have() -> None:
    memory = memory_of(FRAMES)
    tables = PageTables(memory, SMALL)
    tables.map_one(VA, PAGE_SIZE, local(0))
    tables.mapped_pages += 512
    memory.words[slot(tables, VA + 2 * MIB, 1)] = bus(0)

    with pytest.raises(InvariantError, match="level 1 may have"):
        tables.check()


@pytest.mark.parametrize("name", DAMAGE)
def test_unmapping_everything_and_destroying_cleans_damage_up(name: str) -> None:
    va, level, entry, _ = DAMAGE[name]
    memory, tables = make()
    memory.words[slot(tables, va, level)] = entry

    tables.unmap(0, 1 << 48)
    assert tables.first_mapped(0, 1 << 48) is None
    tables.destroy()

    memory.check()
    assert memory.free_bytes == FRAMES * PAGE_SIZE


@pytest.mark.parametrize("entry", [2, local(0) | 1 << 62, int(directory_entry(255 * PAGE_SIZE))])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_whatever_is_not_zero_is_occupied(level: int, entry: int) -> None:
    memory, tables = make()
    va = VA + 6 * MIB if level == 1 else VA + 8 * GIB if level == 2 else VA + 8 * KIB
    memory.words[slot(tables, va, level)] = entry

    with pytest.raises(DeviceError) as refusal:
        tables.map_one(va, PAGE_SIZE, local(0))

    assert (refusal.value.status, refusal.value.detail) == (Status.OVERLAP, va)


@pytest.mark.parametrize("extents", [1, 40])
def test_leaf_is_no_way_to_a_table_though_it_has_its_frame(extents: int) -> None:
    memory, tables = make()
    table = memory.words[slot(tables, VA, 1)] & 0xFFFF_FFFF_F000
    memory.words[slot(tables, VA + 8 * MIB, 1)] = bus(table)
    start = VA + 8 * MIB + 800 * KIB
    listed = [(start + 2 * n * MIB, PAGE_SIZE, local(0)) for n in range(extents)]

    with pytest.raises(DeviceError) as refusal:
        map_all(tables, *listed)

    assert (refusal.value.status, refusal.value.detail) == (Status.OVERLAP, start)


def test_directory_entry_to_foreign_memory_is_never_followed_for_writing() -> None:
    memory, tables = make()
    other = PageTables(memory, ALL_SIZES)
    other.map_one(VA, PAGE_SIZE, local(0))
    stolen = memory.words[slot(other, VA, 1)]
    at = slot(tables, VA + 8 * MIB, 1)
    memory.words[at] = stolen

    assert tables.unmap(VA + 8 * MIB, PAGE_SIZE) == 0
    with pytest.raises(DeviceError) as refusal:
        tables.protect(VA + 8 * MIB, PAGE_SIZE, Rights.NONE)
    assert refusal.value.status is Status.NOT_MAPPED
    # The walker, on the other hand, sees what the bits say.
    assert walk(memory, tables.root, VA + 8 * MIB).page == local(0)
    assert tables.query(VA + 8 * MIB, PAGE_SIZE, 1).total == 1

    assert tables.unmap(VA + 8 * MIB, 2 * MIB) == 0
    assert memory.words[at] == 0
    other.check()


@pytest.mark.parametrize("offset", [0, PAGE_SIZE])
def test_part_of_a_malformed_large_leaf_is_left_alone(offset: int) -> None:
    memory, tables = make()
    at = slot(tables, VA + 2 * MIB, 1)
    broken = memory.words[at] | 1 << 62
    memory.words[at] = broken

    assert tables.unmap(VA + 2 * MIB + offset, PAGE_SIZE) == 0
    assert memory.words[at] == broken


def test_engine_faults_at_the_address_whose_entry_was_cleared() -> None:
    memory = memory_of(FRAMES)
    space = space_of(memory, page_sizes=SMALL)
    space.tables.map_one(VA, 64 * KIB, local(0))
    memory.words[slot(space.tables, VA + 5 * PAGE_SIZE, 0)] = 0

    with pytest.raises(EngineFault) as fault:
        space.translate(VA, 64 * KIB, Access.READ)

    assert (fault.value.reason, fault.value.va) == (FaultReason.NOT_PRESENT, VA + 5 * PAGE_SIZE)


WORDS = st.one_of(
    st.just(0),
    st.integers(0, (1 << 64) - 1),
    st.builds(lambda low, frame: low | frame << 12, st.integers(0, 511), st.integers(0, 300)),
)
PAGES = st.tuples(
    st.sampled_from([0, 1, 15, 16, 500, 511, 512, 1024, 262_144, 262_150]),
    st.sampled_from([1, 16, 17, 512, 600, 262_144]),
)


@given(
    damage=st.lists(st.tuples(st.integers(0, 10_000), WORDS), min_size=1, max_size=8),
    requests=st.lists(st.tuples(st.integers(0, 3), PAGES), max_size=8),
)
def test_requests_on_damaged_tables_touch_nothing_but_their_tables(
    damage: list[tuple[int, int]], requests: list[tuple[int, tuple[int, int]]]
) -> None:
    memory, _ = make()
    space = space_of(memory)
    map_all(space.tables, (VA, 3 * MIB, bus(0)), (VA + GIB - MIB, MIB, bus(0)))
    frames = np.flatnonzero(memory.entries.reshape(-1, 512).any(axis=1))
    ours = sorted(set[int]().union(*space.tables._store.owned))
    theirs = sorted(set(frames.tolist()).difference(ours))
    before = memory.entries.reshape(-1, 512)[theirs].copy()
    places = np.flatnonzero(memory.entries.reshape(-1, 512)[ours].ravel())
    for place, word in damage:
        at = int(places[place % len(places)])
        memory.words[ours[at // 512] * 512 + at % 512] = word

    for kind, (page, count) in requests:
        va, size = VA + page * PAGE_SIZE, count * PAGE_SIZE
        with suppress(DeviceError, EngineFault):
            match kind:
                case 0:
                    space.tables.map_one(va, size, null())
                case 1:
                    space.tables.unmap(va, size)
                case 2:
                    space.tables.protect(va, size, Rights.READ)
                case _:
                    space.translate(va, size, Access.READ)
    space.tables.query(VA, 2 * GIB, 10)
    space.destroy()

    assert (memory.entries.reshape(-1, 512)[theirs] == before).all()
    memory.check()


def test_contiguous_bit_is_part_of_the_entry_a_fault_reports() -> None:
    memory, tables = make()
    at = slot(tables, VA + 64 * KIB, 0)
    memory.words[at + 3] = 0

    found = walk(memory, tables.root, VA + 64 * KIB)

    assert found.fault is FaultReason.MALFORMED_ENTRY
    assert Pte(found.entry).contiguous
