"""Encoding and decoding of commands, beside `struct` with the same fields.

`struct` moves plain numbers; the codec also checks every reserved byte, opcode, enumeration and
flag, and makes a typed, immutable record. Decoders are bound once, as hot loops and the opcode
tables do.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.batch import decode_many, encode_many, valid_many
from firmware.abi.control import Map, ObjectFlags, ObjectKind, SegmentRegister
from firmware.abi.ids import READ_WRITE
from firmware.abi.work import Copy, WorkFlags
from scripts.benchmarks.report import Row, interleaved_medians

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.abi import Record

LOOPS = 2_000
FLAT, RICH = 2.0, 3.5
"""Bars: records of numbers, and records with enumerations and flags."""

COPY = Copy(
    flags=WorkFlags.NONE, tag=7, source=0x7F12_3456_0000, destination=0x4000_0000, size_bytes=4096
)
REGISTER = SegmentRegister(
    request=7,
    kind=ObjectKind.CLIENT_PAGES,
    flags=ObjectFlags.READ_ONLY,
    address=0x7F12_3456_0000,
    size_bytes=1 << 20,
)
MAP = Map(
    request=7,
    vmid=1,
    rights=READ_WRITE,
    va=0x4000_0000,
    size_bytes=1 << 20,
    object_id=3,
    object_offset=0,
)


class Case(NamedTuple):
    """One record and its bar."""

    record: Record
    bar: float


CASES = (Case(COPY, FLAT), Case(REGISTER, RICH), Case(MAP, RICH))


def plain_struct(record: Record) -> struct.Struct:
    """Return the `struct` format with the same fields, reserved ones included."""
    return struct.Struct("<" + "".join(part.scalar.struct_code for part in record.PARTS))


# Each call stands in a loop of its own: the interpreter adapts a call to what it finds there.


def repeat_struct_decode(packer: struct.Struct, data: bytes) -> None:
    """Decode the same bytes many times by `struct` alone."""
    unpack_from = packer.unpack_from
    for _ in range(LOOPS):
        unpack_from(data, 0)


def repeat_decode(record: Record, data: bytes) -> None:
    """Decode the same bytes many times."""
    unpack = record.unpack
    for _ in range(LOOPS):
        unpack(data, 0)


def repeat_struct_encode(packer: struct.Struct, values: tuple[int | bytes, ...]) -> None:
    """Encode the same numbers many times by `struct` alone."""
    pack = packer.pack
    for _ in range(LOOPS):
        pack(*values)


def repeat_encode(record: Record) -> None:
    """Encode the same record many times."""
    for _ in range(LOOPS):
        record.pack()


def run_case(case: Case) -> list[Row]:
    """Measure one record both ways, one at a time."""
    record, name = case.record, type(case.record).__name__
    data, packer = record.pack(), plain_struct(case.record)
    calls: list[Callable[[], object]] = [
        partial(repeat_struct_decode, packer, data),
        partial(repeat_decode, record, data),
        partial(repeat_struct_encode, packer, packer.unpack(data)),
        partial(repeat_encode, record),
    ]
    seconds = interleaved_medians(calls, rounds=31)
    plain_decode, decode, plain_encode, encode = (one / LOOPS * 1e9 for one in seconds)
    limit = "struct, same fields"
    return [
        Row(
            what=f"decode {name}",
            value=decode,
            unit="ns",
            limit=plain_decode,
            limit_is=limit,
            bar=case.bar,
        ),
        Row(
            what=f"encode {name}",
            value=encode,
            unit="ns",
            limit=plain_encode,
            limit_is=limit,
            bar=case.bar,
        ),
    ]


def decode_batch(data: bytes) -> None:
    """Decode and validate many copies at once."""
    rows = decode_many(Copy, data)
    if not valid_many(Copy, rows).all():
        raise AssertionError("a valid copy was found malformed")


def run_batch(count: int) -> Row:
    """Measure many copies at once against `struct` one by one."""
    columns = {"source": 0x1000, "destination": 0x2000, "size_bytes": 64}
    data = encode_many(Copy, count, flags=0, tag=0, **columns).tobytes()
    unpack_from = plain_struct(COPY).unpack_from

    def one_by_one() -> None:
        for at in range(0, len(data), Copy.SIZE):
            unpack_from(data, at)

    plain, batch = interleaved_medians([one_by_one, partial(decode_batch, data)], rounds=31)
    return Row(
        what=f"decode and validate {count} Copy with numpy",
        value=batch / count * 1e9,
        unit="ns",
        limit=plain / count * 1e9,
        limit_is="struct, one by one",
        bar=1.0,
        note="a command",
    )


def run() -> list[Row]:
    """Measure; return a row a figure."""
    rows = [row for case in CASES for row in run_case(case)]
    return [*rows, run_batch(256), run_batch(4096)]
