"""Records decoded by the thousand are refused exactly where one by one they would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.core.columns import decode_columns
from device.core.errors import DeviceError
from firmware.abi._malformed import Malformed
from firmware.abi.control import MapExtent, QueueCreate, RangeExtent
from firmware.abi.ids import READ_WRITE
from firmware.abi.status import Status

if TYPE_CHECKING:
    from firmware.abi._record import Record

KINDS: list[type[Record]] = [MapExtent, RangeExtent, QueueCreate]


def sparse(size: int) -> st.SearchStrategy[bytes]:
    """Return bytes that are mostly zero, so that some records are well-formed."""
    octet = st.sampled_from([0] * 30 + [1, 2, 7, 0x40, 0xFF])
    return st.lists(octet, min_size=size, max_size=size).map(bytes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_first_malformed_field_is_the_same(kind: type[Record], data: st.DataObject) -> None:
    rows = data.draw(st.lists(sparse(kind.SIZE), min_size=1, max_size=4))
    joined = b"".join(rows)
    singles = [kind.unpack(row) for row in rows]

    wrong = [
        number * kind.SIZE + single.offset
        for number, single in enumerate(singles)
        if isinstance(single, Malformed)
    ]
    if wrong:
        with pytest.raises(DeviceError) as refusal:
            decode_columns(kind, joined)
        assert (refusal.value.status, refusal.value.detail) == (Status.MALFORMED, wrong[0])
        return
    columns = decode_columns(kind, joined)
    for field in kind.FIELDS:
        if field.constant is None:
            values = [getattr(single, field.name) for single in singles]
            assert columns[field.name].tolist() == values


def test_all_fields_stand_in_columns() -> None:
    extents = [
        MapExtent(va=va, size_bytes=2, object_id=3, object_offset=4, rights=READ_WRITE)
        for va in (1, 1 << 63)
    ]

    columns = decode_columns(MapExtent, b"".join(extent.pack() for extent in extents))

    assert columns["va"].tolist() == [1, 1 << 63]
    assert columns["rights"].tolist() == [3, 3]
