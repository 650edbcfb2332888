"""Bytes of commands: what stands in them, and what rules make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.control import CONTROL_COMMANDS
from firmware.abi.control_kinds import ControlOpcode
from firmware.abi.work import WORK_COMMANDS, WorkOpcode
from firmware.inject.actions import BadLength, BadOpcode, Flip, Set
from firmware.inject.chance import chosen_bits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import IntEnum

    from firmware.abi import Record
    from firmware.abi._record import Field
    from firmware.inject import Hit

_ADDRESSES: Final = ("va", "destination", "address", "source")
_SIZES: Final = ("size_bytes", "width")
_NUMBERS: Final = ("object_id", "queue_id", "import_id")
_LENGTHS: Final = ("payload_size", *_SIZES)
_FIRST: Final = 8
"""Bytes that a mask without a field changes."""


class Family(NamedTuple):
    """The commands of one kind of ring."""

    opcodes: type[IntEnum]
    records: Mapping[int, type[Record]]


CONTROL: Final = Family(ControlOpcode, CONTROL_COMMANDS)
WORK: Final = Family(WorkOpcode, WORK_COMMANDS)


class Facts(NamedTuple):
    """What a command says of itself, as far as rules select by it."""

    opcode: str
    """Its name; a number in hexadecimal for one that nobody knows."""
    address: int
    size: int
    number: int
    """Number of the object, queue or import."""


def facts_of(entry: bytes, family: Family) -> Facts:
    """Return what an entry of a ring says, whatever its bytes are."""
    code = entry[0] | entry[1] << 8
    record = family.records.get(code)
    if record is None:
        return Facts(f"{code:#x}", -1, 0, 0)
    return Facts(
        family.opcodes(code).name,
        _first(entry, record, _ADDRESSES, -1),
        _first(entry, record, _SIZES, 0),
        _first(entry, record, _NUMBERS, 0),
    )


def altered(entry: bytes, hit: Hit, family: Family) -> bytes:
    """Return an entry with what a rule changes in it.

    A command that has no field of that name stays as it is. One without a length gets a byte behind
    its end instead, where there must be none.
    """
    record = family.records.get(entry[0] | entry[1] << 8)
    match hit.action:
        case Flip(field=name) if not name or _field(record, name) is not None:
            return _flipped(entry, _field(record, name), hit.action, hit.bits)
        case Set(field=name, value=value):
            return _stored(entry, _field(record, name), value)
        case BadOpcode(code=code):
            return (code & 0xFFFF).to_bytes(2, "little") + entry[2:]
        case BadLength(size=size):
            found = next((f for n in _LENGTHS if (f := _field(record, n)) is not None), None)
            return entry[:-1] + b"\xff" if found is None else _stored(entry, found, size)
        case _:
            return entry


def _flipped(entry: bytes, field: Field | None, flip: Flip, bits: int) -> bytes:
    """Return an entry in which bits of a field, or of any part, are turned over."""
    start, end = (0, len(entry)) if field is None else (field.offset, field.end)
    if field is None and flip.mask:
        end = _FIRST
    width = 8 * (end - start)
    mask = flip.mask or chosen_bits(bits, flip.bits, width)
    number = int.from_bytes(entry[start:end], "little") ^ mask & (1 << width) - 1
    return entry[:start] + number.to_bytes(end - start, "little") + entry[end:]


def _stored(entry: bytes, field: Field | None, value: int) -> bytes:
    """Return an entry with a value in a field; it is cut to what fits."""
    if field is None:
        return entry
    stored = (value & (1 << 8 * field.size) - 1).to_bytes(field.size, "little")
    return entry[: field.offset] + stored + entry[field.end :]


def _field(record: type[Record] | None, name: str) -> Field | None:
    fields = () if record is None else record.FIELDS
    return next((field for field in fields if field.name == name), None)


def _first(entry: bytes, record: type[Record], names: tuple[str, ...], missing: int) -> int:
    """Return the value of the first of these fields that the record has."""
    field = next((f for name in names if (f := _field(record, name)) is not None), None)
    if field is None:
        return missing
    return int.from_bytes(entry[field.offset : field.end], "little")
