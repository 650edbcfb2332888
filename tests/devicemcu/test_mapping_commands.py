"""Address spaces; MAP and MAP_LIST."""

from __future__ import annotations

import pytest

from device.mcu.payload import read_rows
from firmware.abi.control import (
    MapExtent,
    MapList,
    ProtectList,
    SpaceCreate,
    SpaceDestroy,
    Unmap,
    UnmapList,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT
from firmware.abi.paging import FRAME_MASK, Aperture
from firmware.abi.replies import Mapped
from firmware.abi.status import Status
from tests.harness.mapbench import NO_HOLE, READ, VA, Bench
from tests.harness.stepped_client import is_done

# --- address spaces ----------------------------------------------------------------------------


def test_a_space_costs_its_root_table_and_gives_it_back() -> None:
    bench = Bench()
    memory = bench.pair.device.memory
    before = memory.free_bytes
    vmid = bench.client.space()
    assert memory.free_bytes == before - PAGE_SIZE

    command = SpaceDestroy(request=bench.client.request(), vmid=vmid)

    assert is_done(bench.client.call(command))
    assert memory.free_bytes == before


def test_a_space_goes_with_its_mappings_and_leaves_the_objects() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 16 * PAGE_SIZE), Mapped)
    used = bench.pair.device.memory.free_bytes

    command = SpaceDestroy(request=bench.client.request(), vmid=bench.vmid)

    assert is_done(bench.client.call(command))
    assert bench.pair.device.memory.free_bytes > used
    assert is_done(bench.client.destroy(bench.object))
    bench.pair.device.check()


def test_the_number_of_spaces_is_limited() -> None:
    bench = Bench()
    limit = bench.pair.device.spec.max_spaces
    for _ in range(limit - 1):
        bench.client.space()

    refused = bench.client.refused(SpaceCreate(request=bench.client.request()))

    assert (refused.status, refused.detail) == (Status.LIMIT, limit)


def test_spaces_belong_to_their_client() -> None:
    bench = Bench()
    other = bench.pair.attach()

    for command in (
        SpaceDestroy(request=other.request(), vmid=bench.vmid),
        other.map_command(bench.vmid, VA, PAGE_SIZE, 0),
        Unmap(request=other.request(), vmid=bench.vmid, va=VA, size_bytes=PAGE_SIZE),
    ):
        assert other.refused(command).status is Status.BAD_SPACE


# --- MAP and MAP_LIST --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("va", "size", "offset", "status", "detail"),
    [
        (VA + 1, PAGE_SIZE, 0, Status.BAD_ALIGNMENT, VA + 1),
        (VA, 100, 0, Status.BAD_ALIGNMENT, 100),
        (VA, PAGE_SIZE, 8, Status.BAD_ALIGNMENT, 8),
        (VA, 0, 0, Status.BAD_RANGE, VA),
        (VA_LIMIT - PAGE_SIZE, 2 * PAGE_SIZE, 0, Status.BAD_RANGE, VA_LIMIT - PAGE_SIZE),
        (1 << 63, 1 << 63, 0, Status.BAD_RANGE, 1 << 63),
        (VA, 17 * PAGE_SIZE, 0, Status.BAD_RANGE, VA),
        (VA, PAGE_SIZE, 16 * PAGE_SIZE, Status.BAD_RANGE, VA),
        (VA, PAGE_SIZE, (1 << 64) - PAGE_SIZE, Status.BAD_RANGE, VA),
    ],
)
def test_a_mapping_that_cannot_be_is_refused_alone_and_in_a_list(
    va: int, size: int, offset: int, status: Status, detail: int
) -> None:
    bench = Bench()

    alone = bench.client.refused(bench.map(va, size, offset=offset))
    good = bench.extent(2 * VA, PAGE_SIZE)
    listed = bench.client.refused(
        bench.map_list(good, bench.extent(va, size, object_offset=offset))
    )

    assert (alone.status, alone.detail) == (status, detail)
    assert (listed.status, listed.detail) == (status, detail)
    _, found = bench.query(2 * VA, PAGE_SIZE)
    assert found.first_hole == 2 * VA
    bench.pair.device.check()


def test_an_unknown_object_is_refused_alone_and_in_a_list() -> None:
    bench = Bench()

    alone = bench.client.refused(bench.map(VA, PAGE_SIZE, 99))
    listed = bench.client.refused(
        bench.map_list(bench.extent(VA, PAGE_SIZE), bench.extent(2 * VA, PAGE_SIZE, object_id=99))
    )

    assert (alone.status, alone.detail) == (Status.BAD_OBJECT, 99)
    assert (listed.status, listed.detail) == (Status.BAD_OBJECT, 99)


def test_what_is_mapped_is_not_mapped_over() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA + 4 * PAGE_SIZE, PAGE_SIZE), Mapped)

    alone = bench.client.refused(bench.map(VA, 16 * PAGE_SIZE))
    listed = bench.client.refused(
        bench.map_list(bench.extent(2 * VA, PAGE_SIZE), bench.extent(VA, 16 * PAGE_SIZE))
    )
    itself = bench.client.refused(
        bench.map_list(bench.extent(2 * VA, 4 * PAGE_SIZE), bench.extent(2 * VA, PAGE_SIZE))
    )

    assert (alone.status, alone.detail) == (Status.OVERLAP, VA + 4 * PAGE_SIZE)
    assert (listed.status, listed.detail) == (Status.OVERLAP, VA + 4 * PAGE_SIZE)
    assert itself.status is Status.OVERLAP
    assert bench.client.ask(bench.unmap(0, 4 * VA), Mapped).page_count == 1
    bench.pair.device.check()


def test_a_list_maps_objects_null_pages_and_rights_in_one_step() -> None:
    bench = Bench()

    reply = bench.client.ask(
        bench.map_list(
            bench.extent(VA, 2 * PAGE_SIZE, object_offset=PAGE_SIZE, rights=READ),
            bench.extent(VA + 2 * PAGE_SIZE, PAGE_SIZE, object_id=0, object_offset=PAGE_SIZE),
            bench.extent(VA + (1 << 21), PAGE_SIZE, rights=READ_WRITE),
        ),
        Mapped,
    )

    assert reply.page_count == 4
    extents, queried = bench.query(VA, 3 * PAGE_SIZE)
    assert [(e.size_bytes, e.aperture, e.rights) for e in extents] == [
        (2 * PAGE_SIZE, Aperture.LOCAL, READ),
        (PAGE_SIZE, 0xFFFF, READ_WRITE),
    ]
    assert queried.first_hole == NO_HOLE
    assert extents[1].entry & FRAME_MASK == 0
    bench.pair.device.check()


def test_what_was_checked_is_what_is_used() -> None:
    bench = Bench()
    bench.client.put_payload(bench.extent(VA, PAGE_SIZE).pack())
    client = bench.pair.device._state.clients[bench.client.client_id]

    rows = read_rows(client, 0, 1, MapExtent)
    bench.client.put_payload(bench.extent(2 * VA, 5).pack())

    assert rows["va"].tolist() == [VA]


def test_objects_in_pieces_are_mapped_by_lists() -> None:
    bench = Bench(vram_size=128 * PAGE_SIZE)
    client = bench.client
    singles = [client.object(PAGE_SIZE) for _ in range(40)]
    for object_id in singles[::2]:
        client.destroy(object_id)
    size = bench.pair.device.memory.free_bytes - 8 * PAGE_SIZE
    pieces = client.object(size)

    client.ask(
        bench.map_list(
            bench.extent(VA, 4 * PAGE_SIZE, rights=READ),
            bench.extent(2 * VA, size, object_id=pieces, rights=READ_WRITE),
        ),
        Mapped,
    )

    extents, _ = bench.query(2 * VA, size)
    assert len(extents) > 1
    assert {extent.rights for extent in extents} == {READ_WRITE}
    bench.pair.device.check()


@pytest.mark.parametrize(
    ("offset", "count", "status"),
    [
        (0, 0, Status.BAD_RANGE),
        (0, 1 << 31, Status.BAD_PAYLOAD),
        (0xFFFF_FFFF, 1, Status.BAD_PAYLOAD),
        (4 << 20, 1, Status.BAD_PAYLOAD),
        ((4 << 20) - 23, 1, Status.BAD_PAYLOAD),
    ],
)
def test_lists_stand_in_the_payload_area(offset: int, count: int, status: Status) -> None:
    bench = Bench()
    for kind in (MapList, UnmapList, ProtectList):
        command = kind(
            request=bench.client.request(), vmid=bench.vmid, count=count, payload_offset=offset
        )
        refused = bench.client.refused(command)
        assert refused.status is status
        if status is Status.BAD_PAYLOAD:
            assert refused.detail == bench.client.layout.payload_size


def test_the_last_bytes_of_the_payload_area_can_be_used() -> None:
    bench = Bench()
    offset = bench.client.layout.payload_size - MapExtent.SIZE
    bench.client.put_payload(bench.extent(VA, PAGE_SIZE).pack(), offset)

    command = MapList(
        request=bench.client.request(), vmid=bench.vmid, count=1, payload_offset=offset
    )

    assert bench.client.ask(command, Mapped).page_count == 1


@pytest.mark.parametrize(("at", "detail"), [(40 + 32, 40 + 32), (40 + 36, 40 + 36), (39, 36)])
def test_malformed_extents_are_refused_where_they_are(at: int, detail: int) -> None:
    bench = Bench()
    command = bench.map_list(bench.extent(VA, PAGE_SIZE), bench.extent(2 * VA, PAGE_SIZE))
    bench.client.put_payload(b"\x80", at)

    refused = bench.client.refused(command)

    assert (refused.status, refused.detail) == (Status.MALFORMED, detail)
    assert bench.query(VA, PAGE_SIZE)[1].first_hole == VA


def test_no_table_memory_refuses_the_whole_list() -> None:
    bench = Bench(vram_size=64 * PAGE_SIZE)
    free = bench.pair.device.memory.free_bytes
    bench.client.object(free - 4 * PAGE_SIZE)

    refused = bench.client.refused(
        bench.map_list(*(bench.extent(n << 39, PAGE_SIZE) for n in range(1, 5)))
    )

    assert refused.status is Status.OUT_OF_DEVICE_MEMORY
    assert bench.pair.device.memory.free_bytes == 4 * PAGE_SIZE
    bench.pair.device.check()
