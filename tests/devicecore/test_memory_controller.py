"""The controller as a whole: what it counts, how it divides memory, what it finds wrong."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError, InternalError, InvariantError
from device.core.memory import Bank, FileWindow, MemoryController
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.status import Status
from tests.harness.memory import BUS, LOCAL, at, memory_of, scattered


@pytest.mark.parametrize("size", [0, 1, PAGE_SIZE + 8])
def test_memory_must_be_whole_frames(size: int) -> None:
    with pytest.raises(InternalError, match=f"VRAM of {size} bytes is no multiple of 4096"):
        MemoryController(memoryview(bytearray(size)))


def test_views_are_the_same_bytes() -> None:
    memory = memory_of(1)

    memory.view[8] = 1
    memory.words[2] = 2
    memory.array[24] = 3
    memory.entries[4] = 4

    assert memory.words[1] == 1
    assert memory.entries[2] == 2
    assert memory.view[24] == 3
    assert memory.read(LOCAL, 32, 8) == (4).to_bytes(8, "little")


def test_free_bytes_are_exact_at_all_times() -> None:
    memory = memory_of(1000)
    total = memory.size

    odd = memory.allocate(3 * PAGE_SIZE - 5, 1)
    assert memory.free_bytes == total - 3 * PAGE_SIZE
    table = memory.allocate_table()
    assert memory.free_bytes == total - 4 * PAGE_SIZE
    assert memory.table_bytes == PAGE_SIZE
    memory.retire(500)
    assert memory.free_bytes == total - 5 * PAGE_SIZE
    memory.free(odd)
    memory.free_table(table)

    memory.check()
    assert memory.free_bytes == total - PAGE_SIZE == memory.statistics().free_bytes


def test_allocation_beyond_what_is_free_tells_what_is_free() -> None:
    memory = memory_of(10)
    memory.allocate(4 * PAGE_SIZE, 1)

    for refused in (
        lambda: memory.allocate(6 * PAGE_SIZE + 1, 1),
        lambda: memory.allocate_tables(7),
    ):
        with pytest.raises(DeviceError) as refusal:
            refused()
        assert refusal.value.status is Status.OUT_OF_DEVICE_MEMORY
        assert refusal.value.detail == memory.free_bytes == 6 * PAGE_SIZE
    assert memory.table_bytes == 0


def test_memory_can_be_used_up_by_tables() -> None:
    memory = memory_of(3)
    tables = [memory.allocate_table() for _ in range(3)]

    with pytest.raises(DeviceError):
        memory.allocate_table()

    assert sorted(tables) == [0, PAGE_SIZE, 2 * PAGE_SIZE]
    assert memory.statistics().table_bytes == memory.size


def test_page_size_asks_for_alignment() -> None:
    memory = memory_of(2048)
    memory.allocate(PAGE_SIZE, 1)

    assert memory.allocate(PAGE_SIZE, 1, 1 << 21)[0].first % 512 == 0
    assert memory.allocate(3 << 16, 1, 1 << 16)[0].first % 16 == 0


def test_addresses_go_round_channels_and_then_banks() -> None:
    memory = MemoryController(
        memoryview(bytearray(PAGE_SIZE)), channels=4, banks=2, interleave_bytes=256
    )

    assert [memory.bank_of(256 * piece + 255) for piece in range(4)] == [
        Bank(channel, 0) for channel in range(4)
    ]
    assert memory.bank_of(1024) == Bank(0, 1)
    assert memory.bank_of(2048) == Bank(0, 0)


def test_whole_stripes_count_evenly_for_all_channels() -> None:
    memory = memory_of(4)

    memory.transfer(at(0, PAGE_SIZE), at(PAGE_SIZE, PAGE_SIZE))
    memory.read(LOCAL, 128, 2048)

    traffic = memory.statistics().traffic
    assert traffic.bytes_read == PAGE_SIZE + 2048
    assert traffic.bytes_written == PAGE_SIZE
    assert traffic.channel_bytes_read == ((PAGE_SIZE + 2048) // 8,) * 8
    assert traffic.channel_bytes_written == (PAGE_SIZE // 8,) * 8


def test_short_accesses_count_for_the_channel_of_their_first_byte() -> None:
    memory = memory_of(4)

    memory.write(LOCAL, 256, b"abc")
    memory.local.copy(3 * 256, 0, 100)
    memory.local.store_word(7 * 256, 1)
    memory.read(LOCAL, 2 * 256, 10)

    traffic = memory.statistics().traffic
    assert traffic.channel_bytes_written == (0, 3, 0, 100, 0, 0, 0, 8)
    assert traffic.channel_bytes_read == (100, 0, 10, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_totals_are_exact_however_a_transfer_is_cut(pieces: int) -> None:
    memory = memory_of(8)
    window = FileWindow(memoryview(bytearray(pieces * 77)))
    bus = memory.bus.register(window, 1)
    local = scattered([(100 * piece, 77) for piece in range(pieces)])
    remote = scattered([(bus + 77 * piece, 77) for piece in range(pieces)], aperture=BUS)
    total = 77 * pieces

    memory.transfer(scattered([(16384 + 80 * piece, 77) for piece in range(pieces)]), local)
    memory.transfer(remote, local)
    memory.transfer(local, remote)
    memory.plan_chunks(local, remote, 50)

    traffic = memory.statistics().traffic
    assert (traffic.bytes_read, traffic.bytes_written) == (2 * total, 3 * total)
    assert (traffic.bus_bytes_read, traffic.bus_bytes_written) == (2 * total, total)
    assert sum(traffic.channel_bytes_read) == traffic.bytes_read
    assert sum(traffic.channel_bytes_written) == traffic.bytes_written


def test_statistics_say_what_is_in_use() -> None:
    memory = memory_of(64)
    memory.allocate(10 * PAGE_SIZE, 1)
    memory.allocate_table()
    memory.retire(63)
    memory.bus.register(FileWindow(memoryview(bytearray(100))), 1)

    found = memory.statistics()

    assert (found.size_bytes, found.free_bytes) == (64 * PAGE_SIZE, 52 * PAGE_SIZE)
    assert (found.table_bytes, found.retired_bytes) == (PAGE_SIZE, PAGE_SIZE)
    assert (found.frames.used, found.frames.free, found.frames.retired) == (11, 52, 1)
    assert found.bus.registered_bytes == 100


def test_check_finds_more_tables_than_frames() -> None:
    memory = memory_of(4)
    memory.allocate_table()
    memory.check()
    memory._tables = 2

    with pytest.raises(InvariantError, match="2 page tables in 1 used frames"):
        memory.check()
