"""Families of records that an opcode tells apart."""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from firmware.abi._malformed import Malformed, Reason
from firmware.abi._record import Buffer, Record

RecordT = TypeVar("RecordT", bound=Record)
RecordT_co = TypeVar("RecordT_co", bound=Record, covariant=True)

_OPCODE_AT: Final = struct.Struct("<H").unpack_from
"""Every header begins with its opcode."""


class Decoder(Protocol[RecordT_co]):
    """Decodes one entry of a ring into the record of its opcode, or into `Malformed`."""

    def __call__(self, buffer: Buffer, offset: int = 0) -> RecordT_co | Malformed:
        """Decode the entry at `offset`."""
        ...


def opcode_table(header: type[RecordT]) -> Mapping[int, type[RecordT]]:
    """Return every record that was declared under `header`, in the order of opcodes.

    Raises:
        TypeError: two records with the same opcode.
    """
    table: dict[int, type[RecordT]] = {}
    for record in header.__subclasses__():
        opcode = int(record.FIELDS[0].constant or 0)
        if opcode in table:
            other = table[opcode].__name__
            raise TypeError(f"{record.__name__} and {other} share opcode {opcode:#x}")
        table[opcode] = record
    return MappingProxyType(dict(sorted(table.items())))


def opcode_decoder(family: str, table: Mapping[int, type[RecordT]]) -> Decoder[RecordT]:
    """Return the function that decodes an entry of the family by its first two bytes.

    `family` is the name under which it reports an entry without a known opcode.
    """
    decoders = {opcode: record.unpack for opcode, record in table.items()}

    def decode(buffer: Buffer, offset: int = 0) -> RecordT | Malformed:
        try:
            (opcode,) = _OPCODE_AT(buffer, offset)
        except struct.error:
            found = max(0, memoryview(buffer).nbytes - offset)
            return Malformed(
                family, "size", Reason.TRUNCATED, 0, found, f"an opcode at {offset:#x}"
            )
        try:
            unpack = decoders[opcode]
        except KeyError:
            wanted = "a known opcode"
            return Malformed(family, "opcode", Reason.UNKNOWN_OPCODE, 0, opcode, wanted)
        return unpack(buffer, offset)

    return decode
