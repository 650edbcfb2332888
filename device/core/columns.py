"""Lists of records as numpy columns: thousands are decoded and checked together."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from device.core.errors import DeviceError
from firmware.abi.status import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from firmware.abi._record import Record
    from firmware.abi._wire import Field


@cache
def column_type(record: type[Record]) -> np.dtype[np.void]:
    """Return the numpy type of a record: one column a field, reserved bytes skipped."""
    return np.dtype(
        {
            "names": [field.name for field in record.FIELDS],
            "formats": [field.scalar.numpy_code for field in record.FIELDS],
            "offsets": [field.offset for field in record.FIELDS],
            "itemsize": record.SIZE,
        }
    )


def decode_columns(record: type[Record], data: bytes) -> NDArray[np.void]:
    """Decode consecutive records.

    Raises:
        DeviceError: MALFORMED (detail: offset in `data` of the first field that is): a reserved
            byte that is not zero, an unknown flag or value.
    """
    rows = np.frombuffer(data, column_type(record))
    octets = np.frombuffer(data, np.uint8).reshape(-1, record.SIZE)
    found: list[int] = []
    for part in record.PARTS:
        wrong = _wrong_rows(part, rows, octets)
        if wrong is not None and wrong.any():
            found.append(int(np.argmax(wrong)) * record.SIZE + part.offset)
    if found:
        raise DeviceError(Status.MALFORMED, min(found))
    return rows


def _wrong_rows(
    part: Field, rows: NDArray[np.void], octets: NDArray[np.uint8]
) -> NDArray[np.bool_] | None:
    """Return which rows break the contract in one field; None when none can."""
    wrong: NDArray[np.bool_]
    if part.constant is not None:
        wanted = part.constant
        if isinstance(wanted, int):
            wanted = wanted.to_bytes(part.size, "little")
        found = octets[:, part.offset : part.end]
        wrong = np.any(found != np.frombuffer(wanted, np.uint8), axis=1)
        return wrong
    if part.flags is not None:
        known = 0
        for member in part.flags:
            known |= int(member)
        values: NDArray[np.uint64] = rows[part.name].astype(np.uint64)
        wrong = (values & ~np.uint64(known)) != np.uint64(0)
        return wrong
    if part.kinds is not None:
        wrong = ~np.isin(rows[part.name], [int(member) for member in part.kinds])
        return wrong
    return None
