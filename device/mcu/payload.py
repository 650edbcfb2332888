"""The payload area of a client's segment: copied once, bounded always."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.errors import DeviceError
from firmware.abi.batch import decode_many, problems_of, valid_many
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.clients import Client
    from firmware.abi._record import Record
    from firmware.abi.batch import Rows


def read_rows(client: Client, offset: int, count: int, record: type[Record]) -> Rows:
    """Return `count` records that a client put into its payload area, decoded and checked.

    The bytes are copied before anything looks at them: what was checked is what is used.

    Raises:
        DeviceError: BAD_RANGE when there are none; BAD_PAYLOAD (detail: size of the payload area)
            when they leave it; MALFORMED (detail: offset from the first record on).
    """
    if count == 0:
        raise DeviceError(Status.BAD_RANGE)
    area = room(client, offset, count * record.SIZE)
    rows = decode_many(record, area.tobytes())
    valid = valid_many(record, rows)
    if not valid.all():
        row, malformed = next(problems_of(record, rows, valid))
        raise DeviceError(Status.MALFORMED, row * record.SIZE + malformed.offset)
    return rows


def room(client: Client, offset: int, size: int) -> memoryview:
    """Return part of a client's payload area, to be written.

    Raises:
        DeviceError: BAD_PAYLOAD (detail: size of the payload area) when it leaves the area.
    """
    area = client.payload(offset, size)
    if area is None:
        raise DeviceError(Status.BAD_PAYLOAD, client.plan.payload_size, offset + size)
    return area


def write_records(area: memoryview, records: Sequence[Record], size: int) -> int:
    """Store as many records of `size` bytes as fit; return how many."""
    count = min(len(records), len(area) // size)
    area[: count * size] = b"".join(record.pack() for record in records[:count])
    return count
