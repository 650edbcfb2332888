"""Lists in the payload area are refused exactly where their records one by one would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.core.errors import DeviceError
from device.mcu.payload import read_rows
from firmware.abi._malformed import Malformed
from firmware.abi.control import MapExtent, RangeExtent
from firmware.abi.status import Status
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

if TYPE_CHECKING:
    from firmware.abi._record import Record

KINDS: list[type[Record]] = [MapExtent, RangeExtent]


def sparse(size: int) -> st.SearchStrategy[bytes]:
    """Return bytes that are mostly zero, so that some records are well-formed."""
    octet = st.sampled_from([0] * 30 + [1, 2, 7, 0x40, 0xFF])
    return st.lists(octet, min_size=size, max_size=size).map(bytes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), offset=st.integers(0, 99))
def test_the_first_malformed_field_is_told(
    kind: type[Record], data: st.DataObject, offset: int
) -> None:
    pair = DevicePair(vram_size=1 << 16, image=SMALL_IMAGE)
    raw = pair.attach()
    client = pair.device._state.clients[raw.client_id]
    entries = data.draw(st.lists(sparse(kind.SIZE), min_size=1, max_size=4))
    singles = [kind.unpack(entry) for entry in entries]
    raw.put_payload(b"".join(entries), offset)

    wrong = [
        number * kind.SIZE + single.offset
        for number, single in enumerate(singles)
        if isinstance(single, Malformed)
    ]

    if wrong:
        with pytest.raises(DeviceError) as refusal:
            read_rows(client, offset, len(entries), kind)
        assert (refusal.value.status, refusal.value.detail) == (Status.MALFORMED, wrong[0])
        return
    rows = read_rows(client, offset, len(entries), kind)
    for field in kind.FIELDS:
        assert rows[field.name].tolist() == [getattr(single, field.name) for single in singles]
