"""No byte of one owner reaches another, and memory that nobody wrote is not touched."""

from __future__ import annotations

import mmap
import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from device.core.memory import DEVICE, MemoryController, Run
from firmware.abi.ids import PAGE_SIZE
from tests.harness.memory import LOCAL, at, frames_of, memory_of, pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

SECRET = 0xA5
ALICE, BOB = 1, 2


def write(memory: MemoryController, runs: Iterable[Run]) -> None:
    """Fill frames with the secret."""
    for first, count in runs:
        memory.write(LOCAL, first * PAGE_SIZE, bytes([SECRET]) * (count * PAGE_SIZE))


def content(memory: MemoryController, runs: Iterable[Run]) -> set[int]:
    """Return the byte values that frames hold."""
    return {
        byte for frame in frames_of(runs) for byte in memory.view[frame * PAGE_SIZE :][:PAGE_SIZE]
    }


@pytest.mark.parametrize("size", [1, 5, 64])
def test_another_owner_gets_zeros(size: int) -> None:
    memory = memory_of(64)
    runs = memory.allocate(size * PAGE_SIZE, ALICE)
    write(memory, runs)
    memory.free(runs)

    assert content(memory, memory.allocate(64 * PAGE_SIZE, BOB)) == {0}
    assert memory.statistics().scrubbed_bytes == size * PAGE_SIZE


def test_owner_gets_its_own_frames_back_unscrubbed() -> None:
    memory = memory_of(16)
    runs = memory.allocate(16 * PAGE_SIZE, ALICE)
    write(memory, runs)
    memory.free(runs)

    assert content(memory, memory.allocate(16 * PAGE_SIZE, ALICE)) == {SECRET}
    assert memory.statistics().scrubbed_bytes == 0


def test_only_foreign_frames_of_an_allocation_are_scrubbed() -> None:
    memory = memory_of(8)
    mine = memory.allocate(4 * PAGE_SIZE, ALICE)
    theirs = memory.allocate(4 * PAGE_SIZE, BOB)
    write(memory, mine)
    write(memory, theirs)
    memory.free(mine)
    memory.free(theirs)

    memory.allocate(8 * PAGE_SIZE, ALICE)

    assert content(memory, mine) == {SECRET}
    assert content(memory, theirs) == {0}
    assert memory.statistics().scrubbed_bytes == 4 * PAGE_SIZE


def test_frames_that_nobody_wrote_change_hands_unscrubbed() -> None:
    memory = memory_of(1)
    for owner in (ALICE, BOB):
        runs = memory.allocate(PAGE_SIZE, owner)
        memory.free(runs)

    assert memory.statistics().scrubbed_bytes == 0


def test_device_gets_zeros_even_of_its_own() -> None:
    memory = memory_of(4)
    runs = memory.allocate(4 * PAGE_SIZE, DEVICE)
    memory.array[:] = SECRET
    memory.free(runs)

    assert content(memory, memory.allocate(4 * PAGE_SIZE, DEVICE)) == {0}


def test_page_table_is_zero_whatever_was_there_before() -> None:
    memory = memory_of(1)
    for _ in range(3):
        table = memory.allocate_table()
        assert not memory.array.any()
        # Tables are written as bare bytes.
        memory.entries[:] = 7
        memory.free_table(table)

    runs = memory.allocate(PAGE_SIZE, ALICE)

    assert content(memory, runs) == {0}
    assert memory.statistics().scrubbed_bytes == 3 * PAGE_SIZE


def test_many_page_tables_are_zero_and_taken_all_or_none() -> None:
    memory = memory_of(8)
    write(memory, [Run(0, 8)])

    tables = memory.allocate_tables(5)

    assert sorted(tables) == [frame * PAGE_SIZE for frame in range(5)]
    assert content(memory, [Run(0, 5)]) == {0}
    assert memory.table_bytes == 5 * PAGE_SIZE
    assert memory.allocate_tables(0) == []
    memory.free_tables([Run(0, 2), Run(2, 3)])
    assert memory.table_bytes == 0


def test_shared_frames_come_back_scrubbed_even_to_their_owner() -> None:
    memory = memory_of(2)
    runs = memory.allocate(2 * PAGE_SIZE, ALICE)
    write(memory, runs)
    memory.share(runs)
    memory.free(runs)

    assert content(memory, memory.allocate(2 * PAGE_SIZE, ALICE)) == {0}


@pytest.mark.parametrize("way", ["write", "word", "copy", "long copy", "transfer", "fill", "chunk"])
def test_every_way_to_write_marks_the_frames(way: str) -> None:
    memory = memory_of(16)
    memory.allocate(8 * PAGE_SIZE, BOB)
    runs = memory.allocate(8 * PAGE_SIZE, ALICE)
    memory.view[:PAGE_SIZE] = pattern(PAGE_SIZE)
    target = runs[0].first * PAGE_SIZE
    match way:
        case "write":
            memory.write(LOCAL, target + 5, b"secret")
        case "word":
            memory.local.store_word(target, 0x5EC2E7)
        case "copy":
            memory.local.copy(target, 0, 100)
        case "long copy":
            memory.local.copy(target + 3, 0, PAGE_SIZE)
        case "transfer":
            memory.transfer(at(target, 100), at(0, 100))
        case "fill":
            memory.fill(at(target + PAGE_SIZE - 1, 2), b"\1")
        case _:
            for chunk in memory.plan_chunks(at(target, 2 * PAGE_SIZE), at(0, 2 * PAGE_SIZE), 512):
                chunk.run()
    memory.free(runs)

    assert content(memory, memory.allocate(8 * PAGE_SIZE, BOB)) == {0}


def test_background_scrub_keeps_to_its_budget_and_ends() -> None:
    memory = memory_of(64)
    runs = memory.allocate(64 * PAGE_SIZE, ALICE)
    write(memory, [Run(3, 40)])
    memory.free(runs)

    assert memory.scrub_some(PAGE_SIZE - 1) == 0
    assert memory.scrub_some(10 * PAGE_SIZE + 5) == 10 * PAGE_SIZE
    assert memory.scrub_some(1 << 30) == 30 * PAGE_SIZE
    assert memory.scrub_some(1 << 30) == 0
    assert not memory.array.any()


def test_background_scrub_leaves_used_frames_alone() -> None:
    memory = memory_of(8)
    kept, gone = memory.allocate(4 * PAGE_SIZE, ALICE), memory.allocate(4 * PAGE_SIZE, ALICE)
    write(memory, kept)
    write(memory, gone)
    memory.free(gone)

    assert memory.scrub_some(1 << 30) == 4 * PAGE_SIZE
    assert content(memory, kept) == {SECRET}
    assert content(memory, gone) == {0}


def test_background_scrub_goes_around_all_frames() -> None:
    # More frames than one step looks at, dirty in the first and in the last.
    frames = (1 << 17) + 100
    with closing(mmap.mmap(-1, frames * PAGE_SIZE)) as sparse:
        memory = MemoryController(memoryview(sparse))
        runs = memory.allocate(frames * PAGE_SIZE, ALICE)
        write(memory, [Run(1, 1), Run(frames - 1, 1)])
        memory.free(runs)

        assert memory.scrub_some(PAGE_SIZE) == PAGE_SIZE
        assert memory.scrub_some(1 << 20) == PAGE_SIZE
        memory.free(memory.allocate(2 * PAGE_SIZE, ALICE))
        assert memory.scrub_some(1 << 20) == 0
        assert memory.statistics().scrubbed_bytes == 2 * PAGE_SIZE
        del memory


def test_scrubbed_frames_are_not_scrubbed_again() -> None:
    memory = memory_of(4)
    runs = memory.allocate(4 * PAGE_SIZE, ALICE)
    write(memory, runs)
    memory.free(runs)
    memory.scrub_some(1 << 30)

    memory.allocate(4 * PAGE_SIZE, BOB)

    assert memory.statistics().scrubbed_bytes == 4 * PAGE_SIZE


def test_frames_that_were_never_written_cost_no_memory() -> None:
    size = 8 << 30
    file = os.memfd_create("vram")
    try:
        os.ftruncate(file, size)
        with closing(mmap.mmap(file, size)) as sparse:
            memory = MemoryController(memoryview(sparse))
            for owner in (ALICE, BOB, ALICE):
                runs = memory.allocate(size, owner, 1 << 30)
                memory.write(LOCAL, 5 << 30, b"x")
                memory.free(runs)
            memory.scrub_some(size)
            memory.check()

            # In blocks of 512 bytes: one page was ever written.
            assert os.fstat(file).st_blocks * 512 <= PAGE_SIZE
            del memory
    finally:
        os.close(file)
