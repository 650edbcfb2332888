"""All codecs of a record say the same: compiled, construct's own, numpy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Malformed, Record, Word
from firmware.abi._codec import codec_source
from firmware.abi.batch import decode_many, dtype_of, encode_many
from firmware.abi.catalogue import RECORDS, WORDS
from firmware.abi.segment import SpecBlock
from firmware.abi.work import Copy, Fill, WorkFlags
from tests.harness.strategies import PER_RECORD, raw_bytes, records, words

ALL = pytest.mark.parametrize("record", RECORDS.values(), ids=list(RECORDS))


def values_of(record: Record) -> dict[str, object]:
    return {f.name: getattr(record, f.name) for f in record.FIELDS if f.constant is None}


@ALL
@PER_RECORD
@given(data=st.data())
def test_every_codec_writes_and_reads_the_same(record: type[Record], data: st.DataObject) -> None:
    value = data.draw(records(record))
    fields = values_of(value)
    before = data.draw(st.binary(max_size=20))

    packed = value.pack()

    assert packed == record.LAYOUT.build(fields)
    assert packed == encode_many(record, 1, **fields).tobytes()  # type: ignore[arg-type]
    for buffer in (bytes, bytearray, memoryview):
        unpacked = record.unpack(buffer(before + packed + b"rest"), len(before))
        assert unpacked == value
        assert {n: type(getattr(unpacked, n)) for n in fields} == {
            name: type(field) for name, field in fields.items()
        }


@ALL
@PER_RECORD
@given(data=st.data())
def test_any_bytes_are_malformed_or_what_construct_and_numpy_read(
    record: type[Record], data: st.DataObject
) -> None:
    raw = data.draw(raw_bytes(record))
    offset = data.draw(st.sampled_from([0, 0, 0, 1, 64, 1000]))

    unpacked = record.unpack(raw, offset)

    if isinstance(unpacked, Malformed):
        assert unpacked.field in {"size", *(part.name for part in record.PARTS)}
        assert 0 <= unpacked.found < 1 << 64
        assert str(unpacked)
        return
    parsed = record.LAYOUT.parse(raw[offset:])
    row = decode_many(record, raw, 1, offset)[0]
    for field in record.FIELDS:
        value = getattr(unpacked, field.name)
        known = field.flag_mask if field.extensible else -1
        if isinstance(value, bytes):
            assert value == parsed[field.name] == row[field.name].tobytes()
        else:
            read = parsed[field.name]
            assert isinstance(read, int)
            assert value == read & known == int(row[field.name]) & known


@ALL
def test_generated_code_reads_the_buffer_once(record: type[Record]) -> None:
    # A peer may change the buffer between two reads; the error path looks at what was read.
    source = codec_source(record)

    rest = source.replace("def unpack(buffer, offset=0):", "")
    rest = rest.replace("_unpack_from(buffer, offset)", "", 1)
    assert "buffer" not in rest.replace("_truncated(_record, buffer, offset)", "", 1)


@ALL
def test_every_declaration_of_the_size_is_the_same(record: type[Record]) -> None:
    assert record.LAYOUT.sizeof() == record.SIZE
    assert dtype_of(record).itemsize == record.SIZE
    assert sum(part.size for part in record.PARTS) == record.SIZE


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
@given(data=st.data())
def test_words_agree_with_construct(word: type[Word], data: st.DataObject) -> None:
    value = data.draw(words(word))

    layout = word.layout()

    raw = value.to_bytes(word.WIDTH // 8, "little")
    parsed = layout.parse(raw)
    assert {bits.name: int(getattr(value, bits.name)) for bits in word.FIELDS} == {
        bits.name: parsed[bits.name] for bits in word.FIELDS
    }
    assert layout.build(parsed) == raw
    assert value.malformed() is None


def test_a_number_that_does_not_fit_is_refused_by_name() -> None:
    copy = Copy(flags=WorkFlags.NONE, tag=1 << 32, source=0, destination=0, size_bytes=0)

    with pytest.raises(ValueError, match=r"^Copy: .*tag=4294967296"):
        copy.pack()


def test_short_byte_strings_are_padded_and_long_ones_refused() -> None:
    fill = Fill(
        flags=WorkFlags.NONE, tag=0, destination=0, size_bytes=0, pattern=b"abc", pattern_size=4
    )
    too_long = Fill(
        flags=WorkFlags.NONE, tag=0, destination=0, size_bytes=0, pattern=bytes(17), pattern_size=4
    )

    assert Fill.unpack(fill.pack()).pattern == b"abc" + bytes(13)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="pattern has more than 16 bytes"):
        too_long.pack()


def test_records_are_values() -> None:
    one = Copy(flags=WorkFlags.NONE, tag=1, source=2, destination=3, size_bytes=4)
    same = Copy(flags=WorkFlags.NONE, tag=1, source=2, destination=3, size_bytes=4)

    assert one == same
    assert hash(one) == hash(same)
    with pytest.raises(AttributeError):
        one.tag = 5  # type: ignore[misc]


def test_constants_are_read_but_not_given() -> None:
    copy = Copy(flags=WorkFlags.NONE, tag=1, source=2, destination=3, size_bytes=4)

    assert copy.opcode == Copy.OPCODE
    assert "opcode" not in Copy.__struct_fields__
    assert SpecBlock.SIZE == 512
