"""Copies, boxes and fills in lists: which bytes move, and what is refused."""

import ctypes

import pytest

from hostdriver import levelzero as ze
from hostdriver.core.commandlists_boxes import Extent, overlap
from tests.harness.levelzero import fails


def test_memory_of_malloc_is_copied_where_it_stands(
    context: ze.Context, immediate: ze.CommandList, memory: int
) -> None:
    source = ctypes.create_string_buffer(b"from the heap", 64)
    into = ctypes.create_string_buffer(64)

    immediate.append_memory_copy(memory, ctypes.addressof(source), 64)
    immediate.append_memory_copy(ctypes.addressof(into), memory, 64)
    immediate.append_memory_fill(ctypes.addressof(source), b"zz", 4)
    immediate.host_synchronize()

    assert into.value == b"from the heap"
    assert source.value == b"zzzz the heap"


@pytest.mark.parametrize("length", [1, 2, 16, 32, 256, 1024])
def test_patterns_of_any_power_of_two_fill_memory(
    context: ze.Context, immediate: ze.CommandList, memory: int, length: int
) -> None:
    pattern = bytes((7 * number + length) % 256 for number in range(length))

    immediate.append_memory_fill(memory, pattern, 5 * length)
    immediate.host_synchronize()

    assert context.memory_read(memory, 5 * length + 1) == pattern * 5 + b"\0"


def test_a_box_is_copied_with_its_pitches(
    context: ze.Context, immediate: ze.CommandList, memory: int
) -> None:
    context.memory_write(memory, bytes(range(64)))
    region = ze.CopyRegion(origin_x=1, origin_y=1, width=2, height=2)

    immediate.append_memory_copy_region(
        memory + 4096, ze.CopyRegion(width=2, height=2), 4, 0, memory, region, 8, 0
    )
    immediate.host_synchronize()

    assert context.memory_read(memory + 4096, 8) == bytes([9, 10, 0, 0, 17, 18, 0, 0])
    with fails("OVERLAPPING_REGIONS", "share bytes"):
        immediate.append_memory_copy_region(memory + 8, region, 8, 0, memory, region, 8, 0)


def test_wrong_fills_are_refused(immediate: ze.CommandList, memory: int) -> None:
    for pattern, size in ((b"abc", 6), (b"ab", 3), (b"", 0), (bytes(2048), 2048)):
        with fails("INVALID_SIZE", "pattern_size"):
            immediate.append_memory_fill(memory, pattern, size)
    with fails("UNSUPPORTED_ALIGNMENT", "multiple"):
        immediate.append_memory_fill(memory + 1, b"ab", 2)


def test_boxes_of_absurdly_many_rows_keep_nobody_waiting() -> None:
    even = Extent(0, 1, 1 << 31, 1, 2, 1 << 32)

    assert not overlap(even, Extent(1, 1, 1 << 30, 1, 4, 1 << 32))
    assert overlap(even, Extent(1 << 20, 1, 2, 1, 6, 12))
    assert overlap(Extent(1 << 20, 1, 2, 1, 6, 12), even)
    assert not overlap(Extent((1 << 20) + 1, 1, 2, 1, 6, 12), even)


def test_boxes_that_lie_between_each_others_rows_do_not_overlap() -> None:
    one = Extent(0, 4, 3, 1, 16, 48)

    assert not overlap(one, one._replace(start=4))
    assert overlap(one, one._replace(start=3))
    assert overlap(one, Extent(35, 1, 1, 1, 1, 1))
    assert not overlap(one, Extent(36, 1, 1, 1, 1, 1))
