"""Where the demo puts things: three objects, an odd window across them, files inside."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdriver.cli.demo.content import HEADER_SIZE, REPLY_SIZE
from hostdriver.cli.demo.window import plan
from hostdriver.core.physical import page_size_for

SIZES = st.one_of(
    st.integers(0, 10), st.integers(0, 1 << 17), st.integers(0, 1 << 23), st.integers(0, 5 << 30)
)


@given(st.integers(2, 1 << 16), st.lists(SIZES, min_size=1, max_size=5))
def test_every_layout_obeys_the_rules(manifest_size: int, file_sizes: list[int]) -> None:
    layout = plan(manifest_size, file_sizes, page_size_for)
    first, _, last = layout.pieces
    end = layout.window_offset + layout.window_size

    # The window begins and ends at odd bytes inside the first and the last object.
    assert layout.window_offset % 2 == end % 2 == 1
    assert 0 < layout.window_offset < first.size
    assert last.va_offset < end < last.va_offset + last.size
    # Objects have different sizes, and are mapped from an offset on, side by side.
    assert len({piece.object_size for piece in layout.pieces}) == 3
    assert all(a.va_offset + a.size == b.va_offset for a, b in pairwise(layout.pieces))
    for piece in layout.pieces:
        page = page_size_for(piece.object_size)
        assert 0 < piece.object_offset < piece.object_offset + piece.size == piece.object_size
        numbers = (piece.object_size, piece.object_offset, piece.size, piece.va_offset)
        assert all(number % page == 0 for number in numbers)
    # Header, manifest, files and reply do not touch each other.
    ends = [HEADER_SIZE + manifest_size]
    for offset, size in zip(layout.file_offsets, file_sizes, strict=True):
        assert offset >= ends[-1]
        ends.append(offset + size)
    assert ends[-1] <= layout.reply_offset == layout.window_size - REPLY_SIZE


@pytest.mark.parametrize("count", [2, 3, 10])
def test_small_files_lie_in_all_objects(count: int) -> None:
    layout = plan(300, [5000] * count, page_size_for)
    first, middle, last = layout.pieces
    begins = [layout.window_offset + offset for offset in layout.file_offsets]

    assert begins[0] < middle.va_offset < begins[0] + 5000
    assert begins[-1] < last.va_offset < begins[-1] + 5000
    assert first.size + middle.size == last.va_offset


def test_memory_grows_with_the_files_and_little_more() -> None:
    layout = plan(300, [1 << 30], page_size_for)

    assert layout.page_size == 2 << 20
    assert 1 << 30 < layout.memory_size < (1 << 30) + (20 << 20)
