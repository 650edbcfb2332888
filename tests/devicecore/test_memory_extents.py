"""Extents are the same in both of their forms, and cut to the byte."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from device.core.errors import InternalError
from device.core.memory import Columns, Extent, Extents, FileWindow
from firmware.abi.ids import ALL_RIGHTS
from firmware.abi.paging import Aperture

ROWS = st.lists(
    st.builds(
        Extent,
        va=st.integers(0, 1 << 47),
        size=st.integers(1, 1 << 34),
        address=st.integers(0, 1 << 47),
        aperture=st.sampled_from([int(aperture) for aperture in Aperture]),
        rights=st.integers(0, int(ALL_RIGHTS)),
        null=st.booleans(),
    ),
    max_size=40,
)


def columns_of(rows: list[Extent]) -> Columns:
    return Columns(
        np.array([row.va for row in rows], np.uint64),
        np.array([row.size for row in rows], np.uint64),
        np.array([row.address for row in rows], np.uint64),
        np.array([row.aperture for row in rows], np.uint8),
        np.array([row.rights for row in rows], np.uint8),
        np.array([row.null for row in rows], np.bool_),
    )


@given(rows=ROWS)
def test_rows_and_columns_say_the_same(rows: list[Extent]) -> None:
    from_rows, from_columns = Extents.of(rows), Extents.from_columns(columns_of(rows))

    assert len(from_rows) == len(from_columns) == len(rows)
    assert from_rows.total == from_columns.total == sum(row.size for row in rows)
    assert list(from_columns) == list(from_rows) == rows
    for name in Columns._fields:
        column: list[int] = getattr(from_rows, name).tolist()
        assert column == [getattr(row, name) for row in rows]
        assert getattr(from_columns, name).dtype == getattr(from_rows, name).dtype
    assert from_rows.is_local == from_columns.is_local
    assert from_rows.single == from_columns.single


@given(rows=ROWS.filter(bool), data=st.data(), columns=st.booleans())
def test_cut_is_the_bytes_that_were_asked_for(
    rows: list[Extent], data: st.DataObject, columns: bool
) -> None:
    whole = Extents.from_columns(columns_of(rows)) if columns else Extents.of(rows)
    offset = data.draw(st.integers(0, whole.total))
    size = data.draw(st.integers(0, whole.total - offset))

    cut = whole.cut(offset, size)

    assert cut.total == size == sum(row.size for row in cut)
    expected: list[Extent] = []
    start = 0
    for row in rows:
        first, stop = max(start, offset), min(start + row.size, offset + size)
        if first < stop:
            skip = first - start
            kept = row._replace(va=row.va + skip, size=stop - first, address=row.address + skip)
            expected.append(kept)
        start += row.size
    assert list(cut) == expected
    assert list(whole) == rows, "cutting changed the whole"


@pytest.mark.parametrize(("offset", "size"), [(-1, 2), (0, 11), (10, 1), (3, -1)])
def test_cut_outside_is_an_internal_error(offset: int, size: int) -> None:
    with pytest.raises(InternalError, match="leaves extents of 0xa bytes"):
        Extents.one(0, 10, 0).cut(offset, size)


def test_extents_of_no_bytes_have_no_pieces() -> None:
    window = FileWindow(memoryview(bytearray(8)))

    for extents in (Extents.one(5, 0, 5), Extents.through(window, 5, 0), Extents.of(())):
        assert len(extents) == extents.total == 0
        assert list(extents) == []
        assert extents.va.tolist() == []


def test_single_is_told_for_one_extent_with_memory_in_an_aperture() -> None:
    row = Extent(0x1000, 16, 0x2000)
    window = FileWindow(memoryview(bytearray(8)))

    assert Extents.of([row]).single == row
    assert Extents.from_columns(columns_of([row])).single == row
    assert Extents.of([row, row]).single is None
    assert Extents.from_columns(columns_of([row, row])).single is None
    assert Extents.one(0, 16, 0, null=True).single is None
    assert Extents.through(window, 0, 8).single is None


def test_window_goes_along_with_a_cut() -> None:
    window = FileWindow(memoryview(bytearray(64)))

    cut = Extents.through(window, 8, 32).cut(4, 8)

    assert cut.window is window
    assert cut.rows[0].address == 12
    assert not cut.is_local


def test_extents_show_their_pieces() -> None:
    extents = Extents.of([Extent(0x1000, 16, 0x2000), Extent(0x1010, 8, 0, null=True)])

    assert repr(extents) == (
        "<Extents of 0x18 bytes in 2: va 0x1000: 0x10 bytes at 0:0x2000,"
        " va 0x1010: 0x8 bytes at 0:0x0 null>"
    )
