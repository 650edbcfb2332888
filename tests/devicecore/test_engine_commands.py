"""What each work command does to memory, seen from its address space."""

from __future__ import annotations

import pytest

from device.core.memory import FileWindow
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access, Rights
from firmware.abi.paging import Aperture, leaf_entry
from firmware.abi.work import (
    Advice,
    Advise,
    Barrier,
    MemoryWrite,
    Prefetch,
    TimestampWrite,
    WorkFlags,
)
from tests.harness.engine import NONE, Lane, Rig, RigClient, copy, fill, nop, store

A = 0x10_0000
B = 0x20_0000
CLIENT = 0x7F00_0000_0000


def pattern(size: int, seed: int = 1) -> bytes:
    """Return bytes that repeat only after 251."""
    return bytes((index * seed + seed) % 251 for index in range(size))


@pytest.fixture
def client() -> RigClient:
    return Rig().client()


@pytest.fixture
def lane(client: RigClient) -> Lane:
    return client.queue()


@pytest.mark.parametrize(
    ("source", "destination", "size"),
    [
        (0, 0, PAGE_SIZE),
        (0, 0, 1),
        (1, 2, 77),
        (PAGE_SIZE - 3, 5, 3 * PAGE_SIZE),
        (8, PAGE_SIZE - 1, 2 * PAGE_SIZE + 1),
    ],
)
@pytest.mark.parametrize("scattered", [False, True])
def test_copy_moves_any_size_at_any_alignment(
    client: RigClient, lane: Lane, source: int, destination: int, size: int, *, scattered: bool
) -> None:
    if scattered:
        client.map_scattered(A, 5)
        client.map_scattered(B, 5)
    else:
        client.map(A, 5 * PAGE_SIZE)
        client.map(B, 5 * PAGE_SIZE)
    client.poke(A, pattern(5 * PAGE_SIZE))
    before = bytearray(5 * PAGE_SIZE)

    lane.submit(copy(A + source, B + destination, size))
    client.rig.run()

    before[destination : destination + size] = pattern(5 * PAGE_SIZE)[source : source + size]
    assert client.peek(B, 5 * PAGE_SIZE) == bytes(before)
    assert client.peek(A, 5 * PAGE_SIZE) == pattern(5 * PAGE_SIZE)
    assert lane.completed == 1


@pytest.mark.parametrize("distance", [-PAGE_SIZE, -1, 0, 1, 100, PAGE_SIZE])
@pytest.mark.parametrize("scattered", [False, True])
def test_copy_of_overlapping_ranges_is_memmove(
    client: RigClient, lane: Lane, distance: int, *, scattered: bool
) -> None:
    if scattered:
        client.map_scattered(A, 8)
    else:
        client.map(A, 8 * PAGE_SIZE)
    expected = bytearray(pattern(8 * PAGE_SIZE))
    client.poke(A, bytes(expected))
    start, size = 2 * PAGE_SIZE, 3 * PAGE_SIZE

    lane.submit(copy(A + start, A + start + distance, size))
    client.rig.run()

    expected[start + distance : start + distance + size] = expected[start : start + size]
    assert client.peek(A, 8 * PAGE_SIZE) == bytes(expected)


def test_copy_of_nothing_needs_no_mapping(lane: Lane) -> None:
    lane.submit(copy(A, B, 0))
    lane.rig.run()

    assert lane.completed == 1
    assert lane.client.faults() == []


def test_null_pages_read_as_zero_and_swallow_stores(client: RigClient, lane: Lane) -> None:
    client.map(A, PAGE_SIZE, null=True)
    client.map(B, PAGE_SIZE)
    client.poke(B, pattern(PAGE_SIZE))

    lane.submit(copy(B, A, PAGE_SIZE), store(A, 7), copy(A, B, 100))
    client.rig.run()

    assert client.peek(B, PAGE_SIZE) == bytes(100) + pattern(PAGE_SIZE)[100:]
    assert lane.completed == 3


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("length", [1, 15, 4096, 70_001])
def test_fill_repeats_its_pattern_and_cuts_the_last(
    client: RigClient, lane: Lane, size: int, length: int
) -> None:
    client.map(A, 20 * PAGE_SIZE)
    mark = pattern(size, seed=7)

    lane.submit(fill(A + 3, length, mark))
    client.rig.run()

    whole = (mark * (length // size + 1))[:length]
    assert client.peek(A, length + 8) == bytes(3) + whole + bytes(5)


@pytest.mark.parametrize("size", [0, 3, 5, 17, 1 << 31])
def test_fill_with_a_pattern_size_that_does_not_exist_is_refused(
    client: RigClient, lane: Lane, size: int
) -> None:
    client.map(A, PAGE_SIZE)
    raw = bytearray(fill(A, 16, b"x").pack())
    raw[40:44] = size.to_bytes(4, "little")

    lane.submit(bytes(raw))
    client.rig.run()

    (record,) = client.faults()
    assert record.reason is FaultReason.BAD_COMMAND
    assert record.detail == 40
    assert client.peek(A, 16) == bytes(16)


def test_fill_with_bytes_behind_its_pattern_is_refused(client: RigClient, lane: Lane) -> None:
    client.map(A, PAGE_SIZE)
    raw = bytearray(fill(A, 16, b"x").pack())
    raw[25] = 1

    lane.submit(bytes(raw))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.detail) == (FaultReason.BAD_COMMAND, 24)


def test_memory_write_stores_one_word(client: RigClient, lane: Lane) -> None:
    client.map(A, PAGE_SIZE)

    lane.submit(store(A + 8, 0x0102_0304_0506_0708))
    client.rig.run()

    assert client.peek(A, 24) == bytes(8) + bytes([8, 7, 6, 5, 4, 3, 2, 1]) + bytes(8)


def test_timestamp_write_stores_the_device_clock(client: RigClient, lane: Lane) -> None:
    client.map(A, PAGE_SIZE)
    client.rig.now = 0x1234_5678_9ABC

    lane.submit(TimestampWrite(flags=NONE, tag=0, destination=A))
    client.rig.run()

    assert int.from_bytes(client.peek(A, 8), "little") == 0x1234_5678_9ABC


@pytest.mark.parametrize("offset", [1, 4, 7])
def test_words_must_be_aligned(client: RigClient, lane: Lane, offset: int) -> None:
    client.map(A, PAGE_SIZE)

    lane.submit(store(A + offset, 1))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.va, record.detail) == (FaultReason.BAD_COMMAND, A + offset, 8)


def test_prefetch_fills_the_tlb_whatever_the_rights(client: RigClient, lane: Lane) -> None:
    client.map(A, 3 * PAGE_SIZE, Rights.WRITE)

    lane.submit(Prefetch(flags=NONE, tag=0, address=A + 1, size_bytes=2 * PAGE_SIZE))
    client.rig.run()

    assert lane.completed == 1
    assert client.space.tlb.statistics().entries == 3


def test_prefetch_faults_at_the_first_hole(client: RigClient, lane: Lane) -> None:
    client.map(A, 2 * PAGE_SIZE)

    lane.submit(Prefetch(flags=NONE, tag=0, address=A, size_bytes=4 * PAGE_SIZE))
    client.rig.run()

    (record,) = client.faults()
    assert record.reason is FaultReason.NOT_PRESENT
    assert record.va == A + 2 * PAGE_SIZE
    assert record.access is Access.READ


def test_advice_is_counted_and_changes_nothing(client: RigClient, lane: Lane) -> None:
    advice = Advise(flags=NONE, tag=0, address=A, size_bytes=1 << 30, advice=Advice.SET_READ_MOSTLY)

    lane.submit(advice, advice)
    client.rig.run()

    counted = client.rig.scheduler.statistics().executor.advice
    assert counted[Advice.SET_READ_MOSTLY] == 2 << 30
    assert counted[Advice.CLEAR_READ_MOSTLY] == 0
    assert client.faults() == []


def test_nop_and_barrier_complete_in_order(client: RigClient, lane: Lane) -> None:
    client.map(A, PAGE_SIZE)

    lane.submit(nop(), store(A, 1), Barrier(flags=NONE, tag=0), copy(A, A + 8, 8), nop())
    client.rig.run()

    assert lane.completed == 5
    assert client.peek(A + 8, 1) == b"\x01"


def test_copy_reads_the_clients_own_memory(client: RigClient, lane: Lane) -> None:
    client.map_scattered(A, 3)
    client.pages.data[:] = pattern(len(client.pages.data))

    lane.submit(copy(CLIENT + 5, A + 1, 2 * PAGE_SIZE, WorkFlags.CLIENT_SOURCE))
    client.rig.run()

    assert client.peek(A + 1, 2 * PAGE_SIZE) == pattern(3 * PAGE_SIZE)[5 : 5 + 2 * PAGE_SIZE]


def test_copy_writes_the_clients_own_memory(client: RigClient, lane: Lane) -> None:
    client.map_scattered(A, 3)
    client.poke(A, pattern(3 * PAGE_SIZE))

    lane.submit(copy(A + 7, CLIENT + 1, 2 * PAGE_SIZE, WorkFlags.CLIENT_DESTINATION))
    client.rig.run()

    assert client.pages.data[1 : 1 + 2 * PAGE_SIZE] == pattern(3 * PAGE_SIZE)[7 : 7 + 8192]
    assert client.pages.data[0] == 0


def test_fill_and_words_reach_the_clients_own_memory(client: RigClient, lane: Lane) -> None:
    flags = WorkFlags.CLIENT_DESTINATION
    word = MemoryWrite(flags=flags, tag=0, destination=CLIENT + 64, value=0xABCD)

    lane.submit(fill(CLIENT, 10, b"xyzw", flags), word)
    client.rig.run()

    assert client.pages.data[:10] == b"xyzwxyzwxy"
    assert client.pages.data[64:72] == (0xABCD).to_bytes(8, "little")


def test_client_memory_that_ends_faults_at_its_first_missing_byte(
    client: RigClient, lane: Lane
) -> None:
    client.map(A, 2 * PAGE_SIZE)
    end = CLIENT + len(client.pages.data)

    lane.submit(copy(end - 100, A, 200, WorkFlags.CLIENT_SOURCE), nop())
    client.rig.run()

    (record,) = client.faults()
    assert record.reason is FaultReason.CLIENT_MEMORY
    assert (record.va, record.access) == (end, Access.READ)
    assert lane.completed == 0


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (nop(), 2),
        (Barrier(flags=WorkFlags.CLIENT_SOURCE, tag=0), 2),
        (fill(A, 8, b"x", WorkFlags.CLIENT_SOURCE), 2),
    ],
)
def test_client_flags_need_an_operand(
    client: RigClient, lane: Lane, command: Barrier, field: int
) -> None:
    client.map(A, PAGE_SIZE)
    raw = bytearray(command.pack())
    raw[2] |= 2

    lane.submit(bytes(raw))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.detail) == (FaultReason.BAD_COMMAND, field)


def test_overlapping_copy_out_of_null_pages_reads_before_it_writes(
    client: RigClient, lane: Lane
) -> None:
    client.map(A, PAGE_SIZE, null=True)
    client.map(A + PAGE_SIZE, PAGE_SIZE)
    client.poke(A + PAGE_SIZE, pattern(PAGE_SIZE, seed=5))

    lane.submit(copy(A, A + 1, PAGE_SIZE + 1))
    client.rig.run()

    assert client.peek(A + PAGE_SIZE, 2) == b"\0" + pattern(1, seed=5)


def test_nothing_is_asked_of_empty_fills_and_prefetches(client: RigClient, lane: Lane) -> None:
    lane.submit(
        fill(A, 0, b"x"),
        Prefetch(flags=NONE, tag=0, address=A, size_bytes=0),
        copy(A, CLIENT, 0, WorkFlags.CLIENT_DESTINATION),
    )
    client.rig.run()

    assert lane.completed == 3


def test_fill_of_client_memory_that_ends(client: RigClient, lane: Lane) -> None:
    end = CLIENT + len(client.pages.data)

    lane.submit(fill(end - 6, 16, b"xy", WorkFlags.CLIENT_DESTINATION))
    client.rig.run()

    (record,) = client.faults()
    assert record.reason is FaultReason.CLIENT_MEMORY
    assert (record.va, record.access) == (end, Access.WRITE)
    assert client.pages.data[-8:] == b"\0\0xyxyxy"


def test_copy_between_two_places_of_client_memory(client: RigClient, lane: Lane) -> None:
    client.pages.data[:10] = b"0123456789"
    both = WorkFlags.CLIENT_SOURCE | WorkFlags.CLIENT_DESTINATION

    lane.submit(copy(CLIENT, CLIENT + 3, 10, both))
    client.rig.run()

    assert client.pages.data[:13] == b"0120123456789"


def test_memory_on_the_bus_is_copied_filled_and_stored_to(client: RigClient, lane: Lane) -> None:
    file = bytearray(pattern(2 * PAGE_SIZE))
    address = client.rig.memory.bus.register(FileWindow(memoryview(file)), owner=1)
    entry = leaf_entry(address, Rights.READ | Rights.WRITE, Aperture.BUS)
    client.space.tables.map_one(B, 2 * PAGE_SIZE, entry)
    client.map(A, 2 * PAGE_SIZE)

    lane.submit(copy(B + 5, A, 5000), fill(B, 16, b"ab"), store(B + 16, 0xEE), copy(A, B + 32, 8))
    client.rig.run()

    assert client.peek(A, 5000) == pattern(2 * PAGE_SIZE)[5:5005]
    assert file[:24] == b"ab" * 8 + (0xEE).to_bytes(8, "little")
    assert file[32:40] == pattern(13)[5:]
