"""Which commands of a queue, taken or waiting, name addresses of a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from device.core.engine.steps import Activity
from firmware.abi.batch import decode_many
from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.work import WORK_COMMANDS, FenceTimes, WorkCommand, WorkFlags
from firmware.link.errors import BadTail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from device.core.engine.queue import WorkQueue
    from firmware.abi.batch import Rows

MOST_SCANNED: Final = 4096
"""Commands of one queue that are looked at; of more than that, all count as if they named it."""
_WORD: Final = 8
_FIXED: Final[dict[type[WorkCommand], int]] = {FenceTimes: 32}
"""Sizes of operands that are no word and stand in no field."""
_CLIENT_FLAG: Final = {
    "source": np.uint16(WorkFlags.CLIENT_SOURCE),
    "destination": np.uint16(WorkFlags.CLIENT_DESTINATION),
}


class _Side(NamedTuple):
    """One operand of a kind of command."""

    field: str
    size: str | int
    """Field of its size, or its size."""


def _sides_of(record: type[WorkCommand]) -> Iterator[_Side]:
    fields = {field.name for field in record.FIELDS}
    fixed = _FIXED.get(record, _WORD)
    size = next((name for name in ("size_bytes", "width") if name in fields), fixed)
    for field in ("source", "destination", "address"):
        if field in fields:
            yield _Side(field, size)


_SIDES: Final = {
    opcode: (record, sides)
    for opcode, record in WORK_COMMANDS.items()
    if (sides := tuple(_sides_of(record)))
}
"""Record and operands of each kind of command, by its opcode, which fits into one byte."""


def last_naming(queue: WorkQueue, va: int, size: int) -> int:
    """Return the seqno of the last command of a queue that names an address of a range.

    Returns:
        A seqno above `queue.completed`; or 0 when no command that will still run names one.
    """
    if queue.activity in (Activity.STOPPED, Activity.GONE):
        return 0
    try:
        waiting = queue.consumer.available()
    except BadTail:
        # Its next turn stops it.
        return 0
    in_hand = queue.taken - queue.completed
    if not waiting and not in_hand:
        return 0
    if waiting > MOST_SCANNED:
        return queue.taken + waiting
    entries = queue.consumer.peek(waiting) if waiting else b""
    if queue.command is not None:
        entries = queue.command.pack() + entries
    named = np.flatnonzero(_names(entries, va, va + size))
    return queue.completed + int(named[-1]) + 1 if len(named) else 0


def _names(entries: bytes, first: int, end: int) -> NDArray[np.bool_]:
    """Return for each entry whether it names an address of [first, end)."""
    named = np.zeros(len(entries) // WORK_COMMAND_SIZE, np.bool_)
    # Rings hold a kind or two, and each step below takes a microsecond: no others are looked for.
    for opcode in _SIDES.keys() & set(entries[::WORK_COMMAND_SIZE]):
        record, sides = _SIDES[opcode]
        rows = decode_many(record, entries)
        which = rows["opcode"] == opcode
        for side in sides:
            named |= which & _side_names(rows, side, first, end)
    return named


def _side_names(rows: Rows, side: _Side, first: int, end: int) -> NDArray[np.bool_]:
    """Return for each row whether one of its operands has an address of [first, end)."""
    start = rows[side.field]
    length = _length(rows, side)
    behind = start + length
    # What passes the end of the addresses faults; it counts as naming everything from there on.
    reaches = (behind > np.uint64(first)) | (behind < start)
    named = (start < np.uint64(end)) & reaches & (length > 0)
    if side.field in _CLIENT_FLAG:
        # The client's own addresses, which no page table maps.
        named &= rows["flags"] & _CLIENT_FLAG[side.field] == 0
    return named


def _length(rows: Rows, side: _Side) -> NDArray[np.uint64]:
    """Return how many bytes from the address of an operand on belong to it."""
    if isinstance(side.size, int):
        return np.full(len(rows), side.size, np.uint64)
    if side.size != "width":
        return np.asarray(rows[side.size], np.uint64)
    one = np.uint64(1)
    columns = ("width", "height", "depth", f"{side.field}_row_pitch", f"{side.field}_slice_pitch")
    width, height, depth, row, piece = (rows[name].astype(np.uint64) for name in columns)
    # No rows or slices is a command that faults; whatever it then seems to name does not matter.
    return np.asarray(width + (height - one) * row + (depth - one) * piece, np.uint64)
