"""The codec is right for any declaration, not only for those that the contract has today."""

from enum import IntEnum, IntFlag
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Field, Malformed, Record, Word
from firmware.abi._codec import examine
from firmware.abi._record import RecordMeta, constant, open_flags, wire
from firmware.abi._wire import I32, U8, U16, U32, U64, raw
from firmware.abi._word import bit, bits, choice
from firmware.abi.batch import decode_many, encode_many, problems_of, valid_many
from firmware.abi.reference.markdown import word_section
from tests.harness.strategies import damaged, records, words


class Few(IntEnum):
    ONE = 1
    FOUR = 4
    LAST = 0xFE


class Small(IntFlag):
    A = 1
    B = 2
    C = 0x40


class Large(IntFlag):
    """More bits than are listed."""

    A, B, C, D, E, F, G, H = (1 << shift for shift in range(8))


class Bits(Word, width=32):
    flag = bit(31, ".")
    few = choice(15, 8, Few, ".")
    low = bits(5, 2, ".")


NUMBERS = [U8, U16, U32, U64]


def one_field() -> st.SearchStrategy[Any]:
    """Return what `wire` and its kin return for one field of any kind."""
    number = st.sampled_from(NUMBERS)
    sizes = st.integers(1, 12)
    flagged = st.tuples(number, st.sampled_from([Small, Large]))
    return st.one_of(
        number.map(lambda scalar: wire(scalar, ".")),
        st.just(I32).map(lambda scalar: wire(scalar, ".")),
        sizes.map(lambda size: wire(raw(size), ".")),
        number.map(lambda scalar: wire(scalar, ".", kinds=Few)),
        flagged.map(lambda pair: wire(pair[0], ".", flags=pair[1])),
        flagged.map(lambda pair: open_flags(pair[0], ".", flags=pair[1])),
        st.just(wire(U32, ".", word=Bits)),
        st.just(constant(I32, 5, ".")),
        st.tuples(number, st.integers(0, 255)).map(lambda p: constant(p[0], p[1], ".")),
        st.binary(min_size=1, max_size=9).map(lambda data: constant(raw(len(data)), data, ".")),
    )


@st.composite
def declarations(draw: st.DrawFn) -> type[Record]:
    """Return a record of any fields, with gaps here and there."""
    fields: dict[str, Any] = {}
    end = 0
    for index in range(draw(st.integers(0, 7))):
        field = cast("Field", draw(one_field()))
        alignment = 1 if field.is_bytes else field.size
        at = end + draw(st.sampled_from([0, 0, 0, 1, 4, 40]))
        at += -at % alignment
        fields[f"f{index}"] = msgspec.structs.replace(field, at=at)
        end = at + field.size
    size = end + -end % 8 + draw(st.sampled_from([0, 8, 24]))
    annotations = dict.fromkeys(fields, int)
    namespace = {**fields, "__annotations__": annotations, "__module__": __name__}
    made: type[Record] = RecordMeta("Made", (Record,), namespace, size=size or 8)
    return made


@given(data=st.data())
def test_values_of_any_record_survive(data: st.DataObject) -> None:
    record = data.draw(declarations())
    value = data.draw(records(record))
    fields = {f.name: getattr(value, f.name) for f in record.FIELDS if f.constant is None}

    packed = value.pack()

    assert packed == record.LAYOUT.build(fields)
    assert packed == encode_many(record, 1, **fields).tobytes()
    assert record.unpack(packed) == value
    assert valid_many(record, decode_many(record, packed)).all()


@given(data=st.data())
def test_any_bytes_are_judged_alike_by_both_paths_and_numpy(data: st.DataObject) -> None:
    record = data.draw(declarations())
    packed = data.draw(
        st.one_of(
            damaged(record, cut_off=False),
            st.binary(min_size=record.SIZE, max_size=record.SIZE),
        )
    )

    decoded = record.unpack(packed)

    assert decoded == examine(record, packed)
    if isinstance(decoded, Malformed):
        assert 0 <= decoded.found < 1 << 64
    rows = decode_many(record, packed)
    valid = valid_many(record, rows)
    assert valid.tolist() == [not isinstance(decoded, Malformed)]
    assert [problem.malformed for problem in problems_of(record, rows, valid)] == [decoded] * (
        not valid.all()
    )


@given(value=words(Bits))
def test_a_word_with_gaps_agrees_with_construct(value: Bits) -> None:
    layout = Bits.layout()

    parsed = layout.parse(value.to_bytes(4, "little"))

    assert [parsed[name] for name in ("flag", "few", "low")] == [value.flag, value.few, value.low]
    assert layout.build(parsed) == value.to_bytes(4, "little")


def test_gaps_of_a_word_have_rows_in_its_table() -> None:
    text = word_section(Bits, {})

    bits_told = [line.split(" ")[1] for line in text.splitlines() if line.startswith("| ")]
    assert bits_told[2:] == ["31", "30:16", "15:8", "7:6", "5:2", "1:0"]


def test_fields_that_can_be_read_as_one_number_are() -> None:
    class Fused(Record, size=24):
        opcode: int = constant(U16, 0x0102, ".")
        kind: Few = wire(U16, ".", kinds=Few)
        zero: int = constant(U8, 0, ".")
        small: Small = open_flags(U8, ".", flags=Small)
        number: int = wire(U64, ".", at=8)
        rest: bytes = constant(raw(3), b"abc", ".")

    value = Fused(kind=Few.FOUR, small=Small.A | Small.C, number=1 << 63)

    packed = value.pack()

    assert (
        packed.hex(" ") == "02 01 04 00 00 41 00 00 00 00 00 00 00 00 00 80 61 62 63 00 00 00 00 00"
    )
    assert Fused.unpack(packed) == value
    changed = bytearray(packed)
    changed[5] = 0xFF
    assert Fused.unpack(changed) == Fused(kind=Few.FOUR, small=Small(0x43), number=1 << 63)
    changed[2] = 2
    assert isinstance(Fused.unpack(changed), Malformed)
