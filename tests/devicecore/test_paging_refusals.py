"""All or nothing: a request that is refused has written nothing and holds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from device.core.errors import DeviceError, InternalError
from device.core.memory import MemoryController
from device.core.paging import PageTables
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Rights
from firmware.abi.paging import Aperture, leaf_entry
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import (
    ALL_SIZES,
    GIB,
    KIB,
    MIB,
    SMALL,
    bus,
    columns,
    image,
    local,
    map_all,
    null,
)

if TYPE_CHECKING:
    from collections.abc import Callable

VA = 0x7000_0000_0000
MANY = 40
"""More extents than are planned one by one."""
GOOD = [(VA + 16 * n * MIB, PAGE_SIZE, local(0)) for n in range(1, MANY)]

BAD_EXTENTS = {
    "address in a page": ((VA + 1, PAGE_SIZE, local(0)), Status.BAD_ALIGNMENT),
    "size in a page": ((VA, PAGE_SIZE + 8, local(0)), Status.BAD_ALIGNMENT),
    "empty": ((VA, 0, local(0)), Status.BAD_RANGE),
    "no page": ((VA, PAGE_SIZE, local(256 * PAGE_SIZE)), Status.BAD_RANGE),
    "behind the end": ((VA_LIMIT, PAGE_SIZE, local(0)), Status.BAD_RANGE),
    "over the end": ((VA_LIMIT - PAGE_SIZE, 2 * PAGE_SIZE, local(0)), Status.BAD_RANGE),
    "wrapping": ((VA, (1 << 64) - PAGE_SIZE, local(0)), Status.BAD_RANGE),
    "at the last page of 64 bits": ((-PAGE_SIZE % 2**64, PAGE_SIZE, local(0)), Status.BAD_RANGE),
    "over the end of VRAM": ((VA, 2 * PAGE_SIZE, local(255 * PAGE_SIZE)), Status.BAD_RANGE),
    "over the end of the bus": ((VA, 2 * PAGE_SIZE, bus(VA_LIMIT - PAGE_SIZE)), Status.BAD_RANGE),
}


def state(memory: MemoryController, tables: PageTables) -> tuple[object, ...]:
    return image(memory), memory.free_bytes, tables.mapped_pages, tables.table_count


def assert_refused(
    tables: PageTables, request: Callable[[], object], status: Status, detail: int | None = None
) -> None:
    """Check that a request is refused and leaves every bit of VRAM as it was."""
    memory = tables._memory
    assert isinstance(memory, MemoryController)
    before = state(memory, tables)

    with pytest.raises(DeviceError) as refusal:
        request()

    assert refusal.value.status is status
    assert detail is None or refusal.value.detail == detail
    assert state(memory, tables) == before
    tables.check()


@pytest.mark.parametrize("name", BAD_EXTENTS)
def test_bad_extent_alone_is_refused(name: str) -> None:
    extent, status = BAD_EXTENTS[name]
    tables = PageTables(memory_of(256), ALL_SIZES)

    assert_refused(tables, lambda: tables.map_one(*extent), status, extent[0])


@pytest.mark.parametrize("name", BAD_EXTENTS)
@pytest.mark.parametrize("others", [3, MANY - 1])
def test_bad_extent_spoils_its_whole_list(name: str, others: int) -> None:
    extent, status = BAD_EXTENTS[name]
    tables = PageTables(memory_of(256), ALL_SIZES)
    listed = [*GOOD[: others // 2], extent, *GOOD[others // 2 : others]]

    assert_refused(tables, lambda: map_all(tables, *listed), status, extent[0])


@pytest.mark.parametrize("others", [2, MANY - 1])
@pytest.mark.parametrize("shift", [-PAGE_SIZE, 0, PAGE_SIZE])
def test_extents_that_overlap_each_other_are_refused(others: int, shift: int) -> None:
    tables = PageTables(memory_of(256), ALL_SIZES)
    pair = ((VA, 2 * PAGE_SIZE, local(0)), (VA + shift, 2 * PAGE_SIZE, local(0)))
    listed = [pair[0], *GOOD[:others], pair[1]]

    assert_refused(tables, lambda: map_all(tables, *listed), Status.OVERLAP, max(VA, VA + shift))


@pytest.mark.parametrize("others", [2, MANY - 1])
@pytest.mark.parametrize(
    ("there", "size", "wanted", "first"),
    [
        pytest.param(5 * PAGE_SIZE, PAGE_SIZE, (0, 16 * PAGE_SIZE), 5 * PAGE_SIZE, id="4K in 64K"),
        pytest.param(3 * MIB, 8 * KIB, (2 * MIB, 2 * MIB), 3 * MIB, id="4K in 2M"),
        pytest.param(3 * MIB, 8 * KIB, (0, GIB), 3 * MIB, id="4K in 1G"),
        pytest.param(0, 2 * MIB, (MIB, PAGE_SIZE), MIB, id="4K on 2M"),
        pytest.param(0, GIB, (MIB, PAGE_SIZE), MIB, id="4K on 1G"),
        pytest.param(0, GIB, (2 * MIB, 2 * MIB), 2 * MIB, id="2M on 1G"),
        pytest.param(0, GIB, (0, GIB), 0, id="1G on 1G"),
        pytest.param(2 * MIB, 2 * MIB, (0, GIB), 2 * MIB, id="2M in 1G"),
        pytest.param(2 * MIB, MIB, (MIB, 4 * MIB), 2 * MIB, id="middle"),
    ],
)
def test_mapping_over_a_mapping_is_refused_at_the_first_page(
    others: int, there: int, size: int, wanted: tuple[int, int], first: int
) -> None:
    tables = PageTables(memory_of(256), ALL_SIZES)
    tables.map_one(VA + there, size, bus(there))
    extent = (VA + wanted[0], wanted[1], bus(wanted[0]))
    far = [(va + 4 * GIB, size, entry) for va, size, entry in GOOD[:others]]

    assert_refused(tables, lambda: tables.map_one(*extent), Status.OVERLAP, VA + first)
    assert_refused(tables, lambda: map_all(tables, *far, extent), Status.OVERLAP, VA + first)


def test_large_list_is_refused_at_the_lowest_of_many_overlaps() -> None:
    tables = PageTables(memory_of(512), ALL_SIZES)
    map_all(tables, (VA + 8 * GIB, GIB, null()), (VA + 5 * GIB + 12 * KIB, PAGE_SIZE, local(0)))
    listed = [(VA + n * GIB // 4, 2 * MIB, bus(0)) for n in range(4, 60)]

    assert_refused(
        tables, lambda: map_all(tables, *listed), Status.OVERLAP, VA + 5 * GIB + 12 * KIB
    )


@pytest.mark.parametrize("free_frames", range(12))
def test_mapping_without_memory_for_tables_is_refused(free_frames: int) -> None:
    memory = memory_of(32)
    tables = PageTables(memory, SMALL)
    tables.map_one(VA, PAGE_SIZE, local(0))
    memory.allocate(memory.free_bytes - free_frames * PAGE_SIZE, 9)
    # Three level-0 tables more, and three levels of them elsewhere.
    extents = ((VA + MIB, 6 * MIB, bus(0)), (0, PAGE_SIZE, local(0)))

    if free_frames < 6:
        assert_refused(tables, lambda: map_all(tables, *extents), Status.OUT_OF_DEVICE_MEMORY)
    else:
        map_all(tables, *extents)
        tables.check()
        assert memory.free_bytes == (free_frames - 6) * PAGE_SIZE


def test_large_list_without_memory_for_tables_is_refused() -> None:
    memory = memory_of(32)
    tables = PageTables(memory, SMALL)

    assert_refused(tables, lambda: map_all(tables, *GOOD), Status.OUT_OF_DEVICE_MEMORY)


@pytest.mark.parametrize(("leaf", "needed"), [(2 * MIB, 1), (GIB, 2)])
def test_split_takes_its_tables_before_anything_is_written(leaf: int, needed: int) -> None:
    memory = memory_of(16)
    tables = PageTables(memory, ALL_SIZES)
    tables.map_one(VA, leaf, bus(0))
    memory.allocate(memory.free_bytes - (needed - 1) * PAGE_SIZE, 9)
    other = (VA + 512 * GIB - PAGE_SIZE, PAGE_SIZE)
    va, size = np.array([(VA, PAGE_SIZE), other], np.uint64).T

    full = Status.OUT_OF_DEVICE_MEMORY
    assert_refused(tables, lambda: tables.unmap(VA, PAGE_SIZE), full)
    assert_refused(tables, lambda: tables.unmap_list(va, size), full)
    assert_refused(tables, lambda: tables.protect(VA, PAGE_SIZE, Rights.READ), full)


def test_cutting_a_group_needs_no_memory() -> None:
    memory = memory_of(16)
    tables = PageTables(memory, ALL_SIZES)
    tables.map_one(VA, 64 * KIB, bus(0))
    memory.allocate(memory.free_bytes, 9)

    assert tables.unmap(VA, PAGE_SIZE) == 1
    tables.check()


@pytest.mark.parametrize(
    ("va", "size", "status"),
    [
        (VA + 1, PAGE_SIZE, Status.BAD_ALIGNMENT),
        (VA, 1, Status.BAD_ALIGNMENT),
        (VA, 0, Status.BAD_RANGE),
        (VA_LIMIT, PAGE_SIZE, Status.BAD_RANGE),
        (VA, VA_LIMIT, Status.BAD_RANGE),
    ],
)
def test_bad_ranges_are_refused_by_every_request(va: int, size: int, status: Status) -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)
    tables.map_one(VA, 64 * KIB, local(0))
    vas, sizes = np.array([(VA, PAGE_SIZE), (va, size)], np.uint64).T
    rights = np.full(2, Rights.READ, np.uint64)

    assert_refused(tables, lambda: tables.unmap(va, size), status, va)
    assert_refused(tables, lambda: tables.unmap_list(vas, sizes), status, va)
    assert_refused(tables, lambda: tables.protect(va, size, Rights.READ), status, va)
    assert_refused(tables, lambda: tables.protect_list(vas, sizes, rights), status, va)
    assert_refused(tables, lambda: tables.first_hole(va, size), status, va)
    assert_refused(tables, lambda: tables.first_mapped(va, size), status, va)


def test_protect_is_refused_at_the_first_hole() -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)
    map_all(tables, (VA, 4 * MIB, bus(0)), (VA + 4 * MIB + PAGE_SIZE, PAGE_SIZE, local(0)))
    hole = VA + 4 * MIB
    va = np.array([VA, hole - PAGE_SIZE], np.uint64)
    size = np.array([PAGE_SIZE, 3 * PAGE_SIZE], np.uint64)
    rights = np.full(2, Rights.READ, np.uint64)

    assert_refused(
        tables, lambda: tables.protect(VA, 8 * MIB, Rights.READ), Status.NOT_MAPPED, hole
    )
    assert_refused(tables, lambda: tables.protect_list(va, size, rights), Status.NOT_MAPPED, hole)


def test_ranges_of_a_protect_list_must_not_overlap() -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)
    tables.map_one(VA, 2 * MIB, bus(0))
    va = np.array([VA, VA], np.uint64)
    size = np.array([2 * MIB, PAGE_SIZE], np.uint64)
    rights = np.full(2, Rights.READ, np.uint64)

    assert_refused(tables, lambda: tables.protect_list(va, size, rights), Status.OVERLAP, VA)


@pytest.mark.parametrize(
    "entry",
    [
        0,
        local(0) & ~1,
        local(0) & ~2,
        local(0) | 1 << 9,
        local(0) | 1 << 63,
        int(leaf_entry(0, READ_WRITE, Aperture.LOCAL, contiguous=True)),
    ],
)
def test_entry_that_is_no_page_is_a_callers_mistake(entry: int) -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)

    with pytest.raises(InternalError, match="no 4 KiB leaf"):
        tables.map_one(VA, PAGE_SIZE, entry)
    with pytest.raises(InternalError, match="no 4 KiB leaf"):
        map_all(tables, (VA, PAGE_SIZE, local(0)), (VA + MIB, PAGE_SIZE, entry))


def test_lists_of_unequal_length_are_a_callers_mistake() -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)
    va, size, entry = columns(*GOOD[:3])

    with pytest.raises(InternalError, match="3 addresses for 2 sizes"):
        tables.map(va, size[:2], entry)
    with pytest.raises(InternalError, match="3 ranges for 2 entries"):
        tables.map(va, size, entry[:2])


def test_rights_that_do_not_exist_are_a_callers_mistake() -> None:
    tables = PageTables(memory_of(64), ALL_SIZES)
    tables.map_one(VA, PAGE_SIZE, local(0))

    with pytest.raises(InternalError, match="rights 0x8"):
        tables.protect(VA, PAGE_SIZE, 8)  # type: ignore[arg-type]
