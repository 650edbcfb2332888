"""The bytes of every record and word are those of the golden file, which no generator writes."""

import pytest

from firmware.abi import Record, Word
from firmware.abi.catalogue import RECORDS, WORDS
from tests.harness.golden import block_of, data_of, read_golden, typed

GOLDEN = read_golden()
DECLARED: dict[str, type[Record | Word]] = {
    **RECORDS,
    **{f"word {word.__name__}": word for word in WORDS},
}


def golden_record(name: str) -> Record:
    """Return the record that the golden values make."""
    record = RECORDS[name]
    values: dict[str, object] = {}
    for field, line in ((field, line) for field in record.FIELDS for line in GOLDEN[name]):
        if field.constant is None and field.name == line.name:
            values[field.name] = line.data if line.value is None else typed(field, line.value)
    return record(**values)


def explain(name: str, found: bytes) -> str:
    """Return which byte of which field differs from the golden ones."""
    expected = data_of(GOLDEN[name])
    if len(found) != len(expected):
        return f"{name} has {len(found)} bytes, golden {len(expected)}"
    at = next((i for i, byte in enumerate(found) if byte != expected[i]), None)
    if at is None:
        return ""
    line = next(line for line in GOLDEN[name] if line.offset <= at < line.offset + len(line.data))
    return f"{name}.{line.name}: byte {at:#04x} is {found[at]:#04x}, golden {expected[at]:#04x}"


def test_every_declaration_has_golden_bytes_and_nothing_else_has() -> None:
    missing = "\n\n".join(block_of(n, kind) for n, kind in DECLARED.items() if n not in GOLDEN)

    assert not missing, f"look at these, then paste them into golden.txt:\n\n{missing}"
    assert sorted(GOLDEN) == sorted(DECLARED)


@pytest.mark.parametrize("name", RECORDS)
def test_every_part_stands_where_the_golden_file_says(name: str) -> None:
    golden = [(line.name, line.offset, len(line.data)) for line in GOLDEN[name]]

    assert [(part.name, part.offset, part.size) for part in RECORDS[name].PARTS] == golden


@pytest.mark.parametrize("name", RECORDS)
def test_golden_values_give_golden_bytes(name: str) -> None:
    assert explain(name, golden_record(name).pack()) == ""


@pytest.mark.parametrize("name", RECORDS)
def test_golden_bytes_give_golden_values(name: str) -> None:
    assert RECORDS[name].unpack(data_of(GOLDEN[name])) == golden_record(name)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_golden_bits_give_golden_bytes(word: type[Word]) -> None:
    *bits, whole = GOLDEN[f"word {word.__name__}"]
    values = {line.name: line.value or 0 for line in bits}

    built = word.build(**values)

    assert built.to_bytes(word.WIDTH // 8, "little") == whole.data
    assert {field.name: field.low for field in word.FIELDS} == {b.name: b.offset for b in bits}
    assert {name: int(getattr(built, name)) for name in values} == values


def test_a_changed_byte_is_named() -> None:
    data = bytearray(golden_record("work.Copy").pack())
    data[0x12] ^= 0xFF

    assert (
        explain("work.Copy", bytes(data)) == "work.Copy.destination: byte 0x12 is 0xec, golden 0x13"
    )
