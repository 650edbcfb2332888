"""Bytes that break the contract give a `Malformed` that names the field, never an exception."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Field, Malformed, Reason, Record, Word
from firmware.abi.catalogue import RECORDS, WORDS
from firmware.abi.control import decode_control
from firmware.abi.replies import decode_reply
from firmware.abi.statistics import DeviceStatistics
from firmware.abi.work import Copy, decode_work
from tests.harness.golden import data_of, read_golden

GOLDEN = read_golden()
ALL = pytest.mark.parametrize("name", RECORDS)


def changed(name: str, part: Field, value: int) -> bytes:
    """Return the golden bytes of a record with another number in one field."""
    data = bytearray(data_of(GOLDEN[name]))
    data[part.offset : part.end] = value.to_bytes(part.size, "little")
    return bytes(data)


def unknown_numbers(part: Field) -> Iterator[int]:
    """Yield numbers that an enumeration does not name: near the members, and each single bit."""
    members = {int(member) for member in part.kinds or ()}
    candidates = {number + step for number in members for step in (-1, 1)}
    candidates |= {1 << bit for bit in range(part.size * 8)} | {(1 << part.size * 8) - 1}
    yield from sorted(number for number in candidates - members if number >= 0)


def expect(decoded: object, field: str, reason: Reason, offset: int, found: int) -> None:
    assert isinstance(decoded, Malformed)
    assert (decoded.field, decoded.reason) == (field, reason)
    assert (decoded.offset, decoded.found) == (offset, found)
    assert f"{field} at {offset:#x}" in str(decoded)


@ALL
def test_every_truncation_is_malformed(name: str) -> None:
    record, data = RECORDS[name], data_of(GOLDEN[name])

    for size in range(record.SIZE):
        expect(record.unpack(data[:size]), "size", Reason.TRUNCATED, 0, size)
        expect(record.unpack(b"123" + data[:size], 3), "size", Reason.TRUNCATED, 0, size)
    expect(record.unpack(data, record.SIZE + 5), "size", Reason.TRUNCATED, 0, 0)


@ALL
def test_a_packet_that_is_too_long_is_malformed(name: str) -> None:
    record, data = RECORDS[name], data_of(GOLDEN[name])

    assert record.unpack_packet(data) == record.unpack(data)
    expect(record.unpack_packet(data[:-1]), "size", Reason.TRUNCATED, 0, record.SIZE - 1)
    found = record.unpack_packet(data + b"x")
    expect(found, "size", Reason.OVERSIZED, record.SIZE, record.SIZE + 1)


@ALL
def test_every_bit_of_every_reserved_byte_is_checked(name: str) -> None:
    for part in (part for part in RECORDS[name].PARTS if part.reserved):
        for bit in range(part.size * 8):
            decoded = RECORDS[name].unpack(changed(name, part, 1 << bit))

            expect(decoded, part.name, Reason.RESERVED, part.offset, 1 << bit % 8)


@ALL
def test_every_bit_of_every_constant_is_checked(name: str) -> None:
    for part in RECORDS[name].PARTS:
        if part.constant is None or part.reserved:
            continue
        for bit in range(part.size * 8):
            number = int(part.constant) ^ (1 << bit)

            decoded = RECORDS[name].unpack(changed(name, part, number))

            expect(decoded, part.name, Reason.CONSTANT, part.offset, number)


@ALL
def test_unknown_members_of_enumerations_are_malformed(name: str) -> None:
    for part in (part for part in RECORDS[name].PARTS if part.kinds is not None):
        for number in unknown_numbers(part):
            decoded = RECORDS[name].unpack(changed(name, part, number))

            expect(decoded, part.name, Reason.UNKNOWN_VALUE, part.offset, number)


@ALL
def test_every_unknown_flag_is_malformed_or_dropped(name: str) -> None:
    for part in (part for part in RECORDS[name].PARTS if part.flags is not None):
        for number in (1 << bit for bit in range(part.size * 8)):
            decoded = RECORDS[name].unpack(changed(name, part, number))

            if part.extensible or number & part.flag_mask:
                assert getattr(decoded, part.name) == number & part.flag_mask
            else:
                expect(decoded, part.name, Reason.UNKNOWN_VALUE, part.offset, number)


def test_a_word_inside_a_record_is_checked_bit_by_bit() -> None:
    (part,) = (part for part in DeviceStatistics.PARTS if part.word is not None)

    reserved = DeviceStatistics.unpack(changed("DeviceStatistics", part, 1 << 31))
    unknown = DeviceStatistics.unpack(changed("DeviceStatistics", part, 0xF))

    expect(reserved, "status", Reason.RESERVED, part.offset, 1 << 31)
    expect(unknown, "status", Reason.UNKNOWN_VALUE, part.offset, 0xF)
    assert "phase" in str(unknown)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_every_reserved_bit_of_a_word_is_checked(word: type[Word]) -> None:
    for bit in range(word.WIDTH + 4):
        wrong = word(1 << bit).malformed()

        if word.USED >> bit & 1:
            assert wrong is None or wrong.reason is Reason.UNKNOWN_VALUE
        else:
            expect(wrong, "reserved", Reason.RESERVED, 0, 1 << bit & 0xFFFF_FFFF_FFFF_FFFF)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_unknown_choices_of_a_word_are_malformed(word: type[Word]) -> None:
    for bits in (bits for bits in word.FIELDS if bits.members):
        for value in range(1 << bits.width):
            wrong = word(value << bits.low).malformed()

            if value in bits.members:
                assert wrong is None
            else:
                expect(wrong, bits.name, Reason.UNKNOWN_VALUE, 0, value)


@pytest.mark.parametrize("decode", [decode_control, decode_work, decode_reply])
@given(data=st.binary(max_size=80), offset=st.integers(0, 90))
def test_arbitrary_ring_entries_never_raise(decode: object, data: bytes, offset: int) -> None:
    decoded = decode(data, offset)  # type: ignore[operator]

    assert isinstance(decoded, Record | Malformed)


@given(data=st.binary(min_size=64, max_size=64))
def test_what_is_found_always_fits_a_reply(data: bytes) -> None:
    for decode in (decode_control, decode_work, Copy.unpack):
        decoded = decode(data)

        if isinstance(decoded, Malformed):
            assert 0 <= decoded.found < 1 << 64
            assert 0 <= decoded.offset < 1 << 32
