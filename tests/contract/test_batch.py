"""Many records at once: the same verdicts and bytes as one by one."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Malformed, Reason, Record
from firmware.abi.batch import (
    decode_many,
    dtype_of,
    encode_many,
    problems_of,
    valid_entries,
    valid_many,
)
from firmware.abi.catalogue import RECORDS
from firmware.abi.control import CONTROL_COMMANDS, decode_control
from firmware.abi.ipc import IpcHandle
from firmware.abi.work import WORK_COMMANDS, Copy, Fill, Nop, WorkFlags, decode_work
from tests.harness.strategies import PER_RECORD, any_record, damaged, records

COPY = {"flags": 0, "tag": 0, "source": 0x1000, "destination": 0x2000, "size_bytes": 64}


def verdicts(record: type[Record], data: bytes) -> list[bool]:
    """Return which of the records behind each other decode one by one."""
    starts = range(0, len(data), record.SIZE)
    return [not isinstance(record.unpack(data, at), Malformed) for at in starts]


@pytest.mark.parametrize("record", RECORDS.values(), ids=list(RECORDS))
@PER_RECORD
@given(data=st.data())
def test_validation_agrees_with_the_compiled_codec(
    record: type[Record], data: st.DataObject
) -> None:
    valid = records(record).map(lambda value: value.pack())
    some = st.lists(st.one_of(damaged(record, cut_off=False), valid), max_size=4)
    raw = b"".join(data.draw(some))

    rows = decode_many(record, raw)
    found = valid_many(record, rows)

    assert found.tolist() == verdicts(record, raw)
    for problem in problems_of(record, rows, found):
        assert problem.malformed == record.unpack(raw, problem.row * record.SIZE)
    assert len(list(problems_of(record, rows, found))) == np.count_nonzero(~found)


def test_validation_sees_reserved_bytes_of_rows_that_were_copied_or_skipped() -> None:
    rows = encode_many(Copy, 6, **COPY)
    raw = bytearray(rows.tobytes())
    raw[4 * 64 + 63] = 1
    rows = decode_many(Copy, raw)

    assert valid_many(Copy, rows[::2]).tolist() == [True, True, False]
    assert valid_many(Copy, rows[[0, 4]]).tolist() == [True, False]
    assert valid_many(Copy, rows.copy()).tolist() == [True, True, True, True, False, True]


@pytest.mark.parametrize(
    ("table", "decode"), [(WORK_COMMANDS, decode_work), (CONTROL_COMMANDS, decode_control)]
)
@given(data=st.data())
def test_ring_entries_of_any_opcode_are_validated_together(
    table: dict[int, type[Record]], decode: object, data: st.DataObject
) -> None:
    valid = any_record(table).map(lambda value: value.pack())
    noise = st.binary(min_size=64, max_size=64)
    entries = data.draw(st.lists(st.one_of(valid, noise), max_size=8))

    found = valid_entries(table, b"".join(entries), 64)

    expected = [not isinstance(decode(entry), Malformed) for entry in entries]  # type: ignore[operator]
    assert found.tolist() == expected


def test_half_an_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="0x3 bytes behind 1 entries of 0x40 bytes"):
        valid_entries(WORK_COMMANDS, bytes(67), 64)


def test_what_is_wrong_is_told_for_each_row() -> None:
    rows = encode_many(Copy, 4, **COPY)
    raw = bytearray(rows.tobytes())
    raw[0] = 0x7F
    raw[2 * 64 + 3] = 0x80
    rows = decode_many(Copy, raw)

    problems = list(problems_of(Copy, rows, valid_many(Copy, rows)))

    assert [(p.row, p.malformed.field, p.malformed.reason) for p in problems] == [
        (0, "opcode", Reason.CONSTANT),
        (2, "flags", Reason.UNKNOWN_VALUE),
    ]


def test_rows_that_are_right_after_all_have_no_problem() -> None:
    rows = encode_many(Copy, 2, **COPY)

    assert list(problems_of(Copy, rows, np.zeros(2, np.bool_))) == []


def test_decoding_is_a_view_and_stays_inside_the_buffer() -> None:
    buffer = bytearray(3 * 64 + 10)

    rows = decode_many(Copy, buffer, offset=10)
    buffer[10 + 64 + 4] = 9

    assert len(rows) == 3
    assert rows["tag"].tolist() == [0, 9, 0]
    assert len(decode_many(Copy, b"")) == 0
    with pytest.raises(ValueError, match="4 Copy at 0xa need more than 0xc0 bytes"):
        decode_many(Copy, buffer, 4, 10)
    with pytest.raises(ValueError, match="need more"):
        decode_many(Copy, buffer, -1)


def test_encoding_takes_one_value_or_one_a_row() -> None:
    columns = {**COPY, "tag": [7, 8, 9], "size_bytes": np.arange(3)}

    rows = encode_many(Copy, 3, **columns)  # type: ignore[arg-type]

    expected = [
        Copy(flags=WorkFlags.NONE, tag=7 + i, source=0x1000, destination=0x2000, size_bytes=i)
        for i in range(3)
    ]
    assert rows.tobytes() == b"".join(copy.pack() for copy in expected)


def test_encoding_of_byte_strings_pads_them() -> None:
    fields = {"flags": 0, "tag": 0, "destination": 0, "size_bytes": 1, "pattern_size": 2}

    same = encode_many(Fill, 2, pattern=b"ab", **fields)
    each = encode_many(Fill, 2, pattern=[b"ab", b"c"], **fields)
    again = encode_many(Fill, 2, pattern=each["pattern"], **fields)

    assert same["pattern"][1].tobytes() == b"ab" + bytes(14)
    assert each["pattern"][1].tobytes() == b"c" + bytes(15)
    assert again.tobytes() == each.tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"tag": 1 << 32},
        {"tag": -1},
        {"tag": 1.5},
        {"tag": "one"},
        {"size_bytes": 1 << 64},
        {"tag": [1, 2, 1 << 40]},
        {"tag": [1, 2]},
    ],
    ids=str,
)
def test_encoding_refuses_what_does_not_fit(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"Copy\.|broadcast"):
        encode_many(Copy, 3, **{**COPY, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [bytes(17), [b"a", "b"], np.zeros(2, "u1")], ids=str)
def test_encoding_refuses_byte_strings_that_do_not_fit(pattern: object) -> None:
    fields = {"flags": 0, "tag": 0, "destination": 0, "size_bytes": 1, "pattern_size": 2}

    with pytest.raises(ValueError, match=r"Fill\.pattern"):
        encode_many(Fill, 2, pattern=pattern, **fields)  # type: ignore[arg-type]


def test_encoding_names_fields_that_are_missing_or_unknown() -> None:
    with pytest.raises(TypeError, match="Nop: missing or unknown fields: colour, flags, tag"):
        encode_many(Nop, 1, colour=1)


def test_signed_fields_keep_their_sign() -> None:
    assert dtype_of(IpcHandle)["descriptor"] == np.dtype("<i4")


def test_the_contract_needs_no_numpy_without_this_module() -> None:
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "import firmware.abi.catalogue, firmware.abi.describe, firmware.abi.c_header\n"
        "import firmware.abi.reference\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr.decode()
