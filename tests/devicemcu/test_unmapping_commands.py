"""UNMAP, PROTECT and their lists; QUERY; TLB_INVALIDATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import (
    InvalidateScope,
    ProtectList,
    Query,
    TlbInvalidate,
    UnmapList,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Rights
from firmware.abi.replies import Invalidated, Mapped, Refused
from firmware.abi.status import Status
from firmware.abi.work import MemoryWrite, WorkFlags
from tests.harness.mapbench import NO_HOLE, READ, VA, Bench, row

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

# --- UNMAP and UNMAP_LIST ----------------------------------------------------------------------


def test_unmapping_skips_holes_and_counts_pages() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 2 * PAGE_SIZE), Mapped)
    bench.client.ask(bench.map(VA + 5 * PAGE_SIZE, 3 * PAGE_SIZE), Mapped)

    reply = bench.client.ask(bench.unmap(VA - PAGE_SIZE, 8 * PAGE_SIZE), Mapped)

    assert reply.page_count == 4
    assert bench.query(VA, 16 * PAGE_SIZE)[0][0].va == VA + 7 * PAGE_SIZE
    bench.pair.device.check()


@pytest.mark.parametrize(
    ("va", "size", "status"),
    [
        (VA + 1, PAGE_SIZE, Status.BAD_ALIGNMENT),
        (VA, 1, Status.BAD_ALIGNMENT),
        (VA, 0, Status.BAD_RANGE),
        (VA_LIMIT, PAGE_SIZE, Status.BAD_RANGE),
    ],
)
def test_ranges_that_cannot_be_are_refused(va: int, size: int, status: Status) -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, PAGE_SIZE), Mapped)

    assert bench.client.refused(bench.unmap(va, size)).status is status
    assert bench.client.refused(bench.protect(va, size, READ)).status is status
    for kind in (UnmapList, ProtectList):
        command = bench.ranges(kind, row(VA, PAGE_SIZE), row(va, size))
        assert bench.client.refused(command).status is status

    assert bench.query(VA, PAGE_SIZE)[0][0].rights == READ_WRITE


def test_a_list_of_ranges_is_unmapped_together() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 16 * PAGE_SIZE), Mapped)

    command = bench.ranges(UnmapList, *(row(VA + n * PAGE_SIZE, PAGE_SIZE) for n in (0, 5, 9)))

    assert bench.client.ask(command, Mapped).page_count == 3
    assert [extent.size_bytes // PAGE_SIZE for extent in bench.query(VA, 1 << 16)[0]] == [4, 3, 6]
    bench.pair.device.check()


def test_many_ranges_are_unmapped_and_forgotten() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 16 * PAGE_SIZE), Mapped)
    bench.client.ask(bench.map(2 * VA, 16 * PAGE_SIZE), Mapped)
    state = bench.pair.device._state.clients[bench.client.client_id]
    space = state.spaces[bench.vmid].space
    for page in range(16):
        space.translate_page(VA + page * PAGE_SIZE, 0)

    rows = [row(base + n * PAGE_SIZE, PAGE_SIZE) for base in (VA, 2 * VA) for n in range(16)]
    assert bench.client.ask(bench.ranges(UnmapList, *rows), Mapped).page_count == 32

    assert space.tlb.statistics().entries == 0
    bench.pair.device.check()


def test_rights_in_a_list_of_ranges_to_unmap_are_malformed() -> None:
    bench = Bench()
    command = bench.ranges(UnmapList, row(VA, PAGE_SIZE), row(VA, PAGE_SIZE, READ))

    refused = bench.client.refused(command)

    assert (refused.status, refused.detail) == (Status.MALFORMED, 24 + 16)


def touch(bench: Bench, va: int) -> list[FaultReason]:
    """Let an engine write a word and return the faults that it met."""
    queue = bench.client.queue(bench.vmid)
    bench.client.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=va, value=va))
    bench.pair.step()
    return [fault.reason for fault in bench.client.faults()]


def test_engines_forget_what_was_unmapped() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, PAGE_SIZE), Mapped)
    assert touch(bench, VA) == []

    bench.client.ask(bench.unmap(VA, PAGE_SIZE), Mapped)

    assert touch(bench, VA) == [FaultReason.NOT_PRESENT]


def test_engines_forget_rights_that_were_taken_away() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 2 * PAGE_SIZE), Mapped)
    assert touch(bench, VA) == []

    bench.client.ask(bench.protect(VA, PAGE_SIZE, READ), Mapped)

    assert touch(bench, VA) == [FaultReason.RIGHTS]
    assert touch(bench, VA + PAGE_SIZE) == []


def test_part_of_a_large_page_is_unmapped() -> None:
    bench = Bench(vram_size=8 << 20)
    large = bench.client.create(2 << 20, page_size=2 << 20).object_id
    bench.client.ask(bench.map(VA, 2 << 20, large), Mapped)
    assert bench.query(VA, 1)[0][0].level == 1

    assert bench.client.ask(bench.unmap(VA + PAGE_SIZE, PAGE_SIZE), Mapped).page_count == 1

    assert [e.size_bytes for e in bench.query(VA, 2 << 20)[0]] == [
        PAGE_SIZE,
        (2 << 20) - 2 * PAGE_SIZE,
    ]
    bench.pair.device.check()


def test_a_split_without_a_table_is_refused_and_changes_nothing() -> None:
    bench = Bench(vram_size=8 << 20)
    large = bench.client.create(2 << 20, page_size=2 << 20).object_id
    bench.client.ask(bench.map(VA, 2 << 20, large), Mapped)
    bench.client.object(bench.pair.device.memory.free_bytes)

    refused = bench.client.refused(bench.unmap(VA, PAGE_SIZE))

    assert refused.status is Status.OUT_OF_DEVICE_MEMORY
    assert bench.query(VA, 2 << 20)[1].first_hole == NO_HOLE
    bench.pair.device.check()


# --- PROTECT and PROTECT_LIST --------------------------------------------------------------------


def test_rights_change_for_the_range_alone() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 4 * PAGE_SIZE), Mapped)

    assert bench.client.ask(bench.protect(VA + PAGE_SIZE, PAGE_SIZE, READ), Mapped).page_count == 1

    rights = [extent.rights for extent in bench.query(VA, 4 * PAGE_SIZE)[0]]
    assert rights == [READ_WRITE, READ, READ_WRITE]
    bench.pair.device.check()


def test_rights_cannot_change_in_a_hole() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 2 * PAGE_SIZE), Mapped)

    alone = bench.client.refused(bench.protect(VA, 3 * PAGE_SIZE, READ))
    listed = bench.client.refused(
        bench.ranges(ProtectList, row(VA, PAGE_SIZE, READ), row(VA + PAGE_SIZE, 2 * PAGE_SIZE))
    )

    for refused in (alone, listed):
        assert (refused.status, refused.detail) == (Status.NOT_MAPPED, VA + 2 * PAGE_SIZE)
    assert {extent.rights for extent in bench.query(VA, 2 * PAGE_SIZE)[0]} == {READ_WRITE}


def test_a_list_gives_each_range_its_rights() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 4 * PAGE_SIZE), Mapped)

    command = bench.ranges(
        ProtectList, row(VA, PAGE_SIZE, READ), row(VA + 2 * PAGE_SIZE, PAGE_SIZE, Rights.NONE)
    )

    assert bench.client.ask(command, Mapped).page_count == 2
    rights = [extent.rights for extent in bench.query(VA, 4 * PAGE_SIZE)[0]]
    assert rights == [READ, READ_WRITE, Rights.NONE, READ_WRITE]


def test_ranges_to_protect_must_not_overlap() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 4 * PAGE_SIZE), Mapped)

    command = bench.ranges(
        ProtectList, row(VA, 2 * PAGE_SIZE, READ), row(VA + PAGE_SIZE, PAGE_SIZE, READ)
    )

    assert bench.client.refused(command).status is Status.OVERLAP


# --- QUERY and TLB_INVALIDATE ------------------------------------------------------------------


def test_a_query_tells_more_than_fits() -> None:
    bench = Bench()
    for page in range(0, 8, 2):
        bench.client.ask(bench.map(VA + page * PAGE_SIZE, PAGE_SIZE), Mapped)

    extents, reply = bench.query(VA, 8 * PAGE_SIZE, capacity=3)

    assert (reply.count, reply.total, reply.first_hole) == (3, 4, VA + PAGE_SIZE)
    assert [extent.va for extent in extents] == [VA, VA + 2 * PAGE_SIZE, VA + 4 * PAGE_SIZE]


def test_a_query_of_one_byte_walks_one_address() -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 16 * PAGE_SIZE), Mapped)

    extents, reply = bench.query(VA + 5, 1)

    assert (reply.count, reply.first_hole) == (1, NO_HOLE)
    assert extents[0].va == VA + 5


@pytest.mark.parametrize(
    ("va", "size", "capacity", "status"),
    [
        (VA, 0, 1, Status.BAD_RANGE),
        (VA_LIMIT, 1, 1, Status.BAD_RANGE),
        (0, 1 << 37, 1, Status.LIMIT),
        (VA, PAGE_SIZE, 1 << 30, Status.BAD_PAYLOAD),
    ],
)
def test_queries_that_cannot_be_are_refused(
    va: int, size: int, capacity: int, status: Status
) -> None:
    bench = Bench()
    command = Query(
        request=bench.client.request(),
        vmid=bench.vmid,
        payload_offset=0,
        va=va,
        size_bytes=size,
        capacity=capacity,
    )

    assert bench.client.refused(command).status is status


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        (InvalidateScope.PAGE, 7),
        (InvalidateScope.RANGE, 5),
        (InvalidateScope.SPACE, 0),
        (InvalidateScope.ALL, 0),
    ],
)
def test_translations_are_forgotten_by_scope(scope: InvalidateScope, left: int) -> None:
    bench = Bench()
    bench.client.ask(bench.map(VA, 8 * PAGE_SIZE), Mapped)
    state = bench.pair.device._state.clients[bench.client.client_id]
    space = state.spaces[bench.vmid].space
    for page in range(8):
        space.translate_page(VA + page * PAGE_SIZE, 0)

    command = TlbInvalidate(
        request=bench.client.request(),
        vmid=0 if scope is InvalidateScope.ALL else bench.vmid,
        scope=scope,
        va=VA + 100,
        size_bytes=2 * PAGE_SIZE,
    )

    assert bench.client.ask(command, Invalidated).entry_count == 8 - left
    assert space.tlb.statistics().entries == left


def test_ranges_to_forget_have_to_exist() -> None:
    client: RawClient = Bench().client
    command = TlbInvalidate(
        request=client.request(), vmid=1, scope=InvalidateScope.RANGE, va=VA, size_bytes=0
    )

    refused = client.call(command)

    assert isinstance(refused, Refused)
    assert refused.status is Status.BAD_RANGE
