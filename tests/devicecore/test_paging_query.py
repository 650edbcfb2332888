"""Queries: what a range holds, as the walker sees it."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError
from device.core.paging import PageTables
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Rights
from firmware.abi.paging import Aperture, leaf_entry
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import ALL_SIZES, GIB, KIB, MIB, bus, local, map_all, null

VA = 0x7000_0000_0000


def make() -> PageTables:
    return PageTables(memory_of(1024), ALL_SIZES)


def test_query_tells_extents_level_and_first_hole() -> None:
    tables = make()
    map_all(
        tables,
        (VA, 2 * MIB, bus(4 * MIB)),
        (VA + 2 * MIB, 64 * KIB, bus(6 * MIB)),
        (VA + 3 * MIB, PAGE_SIZE, null(Rights.READ)),
        (VA + 4 * MIB, 2 * PAGE_SIZE, local(0, Rights.READ)),
    )

    found = tables.query(VA + 5, 8 * MIB, 10)

    assert found.total == len(found.extents) == 3
    assert found.first_hole == VA + 2 * MIB + 64 * KIB
    first, second, third = found.extents
    assert (first.va, first.size_bytes) == (VA + 5, 2 * MIB + 64 * KIB - 5)
    assert (first.address, first.aperture, first.level) == (4 * MIB + 5, Aperture.BUS, 1)
    assert (second.aperture, second.address, second.rights) == (0xFFFF, 0, Rights.READ)
    assert (third.va, third.size_bytes, third.level) == (VA + 4 * MIB, 2 * PAGE_SIZE, 0)
    assert third.entry == local(0, Rights.READ)


def test_query_of_one_byte_walks_one_address() -> None:
    tables = make()
    tables.map_one(VA, GIB, bus(0))

    found = tables.query(VA + 12345, 1, 1)

    assert [(extent.va, extent.size_bytes) for extent in found.extents] == [(VA + 12345, 1)]
    assert found.extents[0].level == 2
    assert found.first_hole is None


def test_query_counts_what_does_not_fit() -> None:
    tables = make()
    map_all(tables, *((VA + 2 * n * PAGE_SIZE, PAGE_SIZE, bus(0)) for n in range(100)))

    found = tables.query(VA, MIB, 7)

    assert (len(found.extents), found.total) == (7, 100)


def test_query_of_nothing_is_refused() -> None:
    tables = make()

    for va, size in ((VA, 0), (VA_LIMIT - 1, 2), (VA_LIMIT, 1)):
        with pytest.raises(DeviceError) as refusal:
            tables.query(va, size, 1)
        assert refusal.value.status is Status.BAD_RANGE


def test_query_of_more_entries_than_are_looked_at_together() -> None:
    tables = make()
    tables.map_one(VA, GIB // 2, bus(PAGE_SIZE))
    tables.unmap(VA + GIB // 4 + 5 * PAGE_SIZE, PAGE_SIZE)

    found = tables.query(VA, GIB // 2, 10)

    sizes = [extent.size_bytes for extent in found.extents]
    assert sizes == [GIB // 4 + 5 * PAGE_SIZE, GIB // 4 - 6 * PAGE_SIZE]
    assert found.first_hole == VA + GIB // 4 + 5 * PAGE_SIZE


def test_neighbouring_peers_are_two_extents() -> None:
    tables = make()
    last = int(leaf_entry(VA_LIMIT - PAGE_SIZE, READ_WRITE, Aperture.PEER, peer=1))
    first = int(leaf_entry(0, READ_WRITE, Aperture.PEER, peer=2))
    map_all(tables, (VA, PAGE_SIZE, last), (VA + PAGE_SIZE, PAGE_SIZE, first))

    assert tables.query(VA, MIB, 10).total == 2
