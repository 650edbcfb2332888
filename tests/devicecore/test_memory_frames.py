"""The frame allocator: exact, indifferent to fragmentation, and quick to forgive."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError, InternalError, InvariantError
from device.core.memory import BuddyAllocator, Run
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.status import Status
from tests.harness.memory import frames_of


def test_new_allocator_has_every_frame_free() -> None:
    for count in (1, 2, 3, 7, 16, 1000, 4097):
        frames = BuddyAllocator(count)

        frames.check()
        assert frames.free_count == count


def test_memory_without_frames_is_refused() -> None:
    with pytest.raises(InternalError, match="0 frames"):
        BuddyAllocator(0)


def test_two_million_frames_are_not_split_before_they_are_needed() -> None:
    frames = BuddyAllocator(2 << 20)

    assert frames.statistics().block_count == 1
    assert frames.statistics().largest_block == 2 << 20


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 100, 1000])
def test_allocation_has_exactly_the_frames_asked_for(count: int) -> None:
    frames = BuddyAllocator(1000)

    runs = frames.allocate(count)

    frames.check()
    assert len(set(frames_of(runs))) == count
    assert frames.free_count == 1000 - count


def test_allocation_is_one_run_where_memory_is_whole() -> None:
    frames = BuddyAllocator(4096)

    assert len(frames.allocate(17)) == len(frames.allocate(1000)) == 1


def test_frames_behind_an_odd_allocation_stay_free() -> None:
    frames = BuddyAllocator(1024)

    frames.allocate(513)

    frames.check()
    assert frames.free_count == 511
    assert frames_of(frames.allocate(511))
    assert frames.free_count == 0


@pytest.mark.parametrize("align", [1, 16, 512])
def test_first_frame_is_aligned_where_a_block_is_free(align: int) -> None:
    frames = BuddyAllocator(4096)
    frames.allocate(1)

    for count in (1, 3, align, align + 1):
        assert frames.allocate(count, align)[0].first % align == 0


def test_alignment_is_given_up_before_the_allocation_is() -> None:
    frames = BuddyAllocator(64)
    runs = frames.allocate(64)
    frames.free([Run(first, 1) for first in range(1, 64, 2)])

    scattered = frames.allocate(32, 32)

    assert frames_of(scattered) == list(range(1, 64, 2))
    assert len(runs) == 1


def test_allocation_is_gathered_down_to_single_frames() -> None:
    frames = BuddyAllocator(4096)
    frames.allocate(4096)
    frames.free([Run(first, 1) for first in range(0, 4096, 2)])

    runs = frames.allocate(2048)

    frames.check()
    assert frames.free_count == 0
    assert frames_of(runs) == list(range(0, 4096, 2))


def test_gathered_blocks_stand_at_multiples_of_their_size_in_the_answer() -> None:
    frames = BuddyAllocator(1024)
    frames.allocate(1024)
    frames.free([Run(0, 1), Run(16, 16), Run(64, 64), Run(255, 1), Run(512, 256)])

    runs = frames.allocate(64 + 256 + 16 + 2)

    offset = 0
    for first, count in runs:
        largest = count & -count
        assert offset % min(largest, first & -first or largest) == 0
        offset += count
    assert runs[0] == Run(512, 256)


def test_neighbours_are_joined_in_a_gathered_answer() -> None:
    frames = BuddyAllocator(96)
    frames.allocate(96)
    # Blocks 32 to 63 and 64 to 95 are neighbours, but no buddies.
    frames.free([Run(64, 32), Run(32, 32)])

    assert frames.allocate(64) == [Run(32, 64)]


def test_too_large_an_allocation_is_refused_and_changes_nothing() -> None:
    frames = BuddyAllocator(100)
    frames.allocate(40)
    before = frames.statistics()

    with pytest.raises(DeviceError) as refusal:
        frames.allocate(61)

    assert refusal.value.status is Status.OUT_OF_DEVICE_MEMORY
    assert refusal.value.detail == 60 * PAGE_SIZE
    assert frames.statistics() == before


def test_allocation_of_nothing_is_an_internal_error() -> None:
    frames = BuddyAllocator(8)

    for count in (0, -1):
        with pytest.raises(InternalError, match="frames asked for"):
            frames.allocate(count)

    frames.check()
    assert frames.free_count == 8


def test_freed_buddies_are_merged_again() -> None:
    frames = BuddyAllocator(1024)
    runs = [frames.allocate(1)[0] for _ in range(1024)]

    frames.free(runs)

    frames.check()
    assert frames.allocate(1024) == [Run(0, 1024)]


def test_same_size_freed_and_allocated_again_is_the_same_memory() -> None:
    frames = BuddyAllocator(1 << 20)
    runs = frames.allocate(16)

    for _ in range(3):
        frames.free(runs)
        assert frames.allocate(16) == runs


def test_parts_of_an_allocation_can_be_freed_in_any_cut() -> None:
    frames = BuddyAllocator(64)
    frames.allocate(64)

    frames.free([Run(3, 10), Run(40, 24)])
    frames.check()
    frames.free([Run(13, 27)])
    frames.free([Run(0, 3)])

    frames.check()
    assert frames.allocate(64) == [Run(0, 64)]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([Run(0, 4), Run(0, 4)], "frame 0 freed, which is not in use"),
        ([Run(6, 4)], "frame 8 freed, which is not in use"),
        ([Run(62, 4)], "frames 62 to 66 freed; there are 64"),
        ([Run(-1, 1)], "frames -1 to 0 freed"),
        ([Run(2, 0)], "frames 2 to 2 freed"),
    ],
)
def test_freeing_what_is_not_in_use_is_an_internal_error(runs: list[Run], text: str) -> None:
    frames = BuddyAllocator(64)
    frames.allocate(8)

    with pytest.raises(InternalError, match=text):
        frames.free(runs)

    frames.check()


def test_free_frame_is_retired_at_once() -> None:
    frames = BuddyAllocator(64)

    assert frames.retire(37)

    frames.check()
    assert (frames.free_count, frames.retired_count) == (63, 1)
    assert 37 not in frames_of(frames.allocate(63))


def test_used_frame_is_retired_when_it_is_freed() -> None:
    frames = BuddyAllocator(64)
    runs = frames.allocate(64)

    assert not frames.retire(5)
    assert not frames.retire(6)
    assert frames.retired_count == 0
    retired = frames.free(runs)

    frames.check()
    assert retired == [5, 6]
    assert (frames.free_count, frames.retired_count) == (62, 2)
    assert {5, 6}.isdisjoint(frames_of(frames.allocate(62)))


def test_retiring_twice_retires_once() -> None:
    frames = BuddyAllocator(8)
    runs = frames.allocate(4)
    frames.retire(0)
    frames.retire(0)
    frames.retire(7)

    assert frames.retire(7)

    frames.free(runs)
    frames.check()
    assert frames.retired_count == 2


def test_retired_frame_cannot_be_freed() -> None:
    frames = BuddyAllocator(8)
    frames.retire(3)

    with pytest.raises(InternalError, match="frame 3 freed"):
        frames.free([Run(3, 1)])


def test_frame_that_does_not_exist_cannot_be_retired() -> None:
    for frame in (-1, 8):
        with pytest.raises(InternalError, match="there are 8"):
            BuddyAllocator(8).retire(frame)


def test_waiting_block_is_merged_when_a_larger_one_is_needed() -> None:
    frames = BuddyAllocator(2)
    first, second = frames.allocate(1), frames.allocate(1)
    frames.free(first)
    frames.free(second)

    assert frames.allocate(2) == [Run(0, 2)]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("frames._used[3] = 1", "is not free alone"),
        ("frames._used[0] = 0", "neither free nor used nor retired"),
        ("frames._free_count -= 1", "counted as free"),
        ("frames._retired.add(3)", "retired frame 3 is free or in use"),
        ("frames._leaving.add(3)", "waits for a free"),
        ("frames._blocks._blocks[1][9] = None", "out of its place"),
        ("frames._blocks._blocks[3][12] = None", "out of its place"),
        ("frames._blocks._blocks[0].clear()", "neither free"),
        ("frames._blocks._spare[0] = 1", "is not free alone"),
    ],
)
def test_check_finds_damage(damage: str, text: str) -> None:
    frames = BuddyAllocator(16)
    frames.allocate(1)
    frames.check()

    exec(damage, {"frames": frames})  # noqa: S102 - the damage is the case's parameter

    with pytest.raises(InvariantError, match=text):
        frames.check()


def test_check_finds_buddies_that_were_not_merged() -> None:
    frames = BuddyAllocator(16)
    blocks = frames._blocks._blocks
    blocks[4].clear()
    blocks[3].update({0: None, 8: None})

    with pytest.raises(InvariantError, match="were not merged"):
        frames.check()


def test_block_that_is_lost_is_an_invariant_error() -> None:
    frames = BuddyAllocator(16)
    frames._blocks._blocks[4].clear()

    with pytest.raises(InvariantError, match="in no free block"):
        frames.retire(3)
