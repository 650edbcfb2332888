"""Any bytes can be shown to people; what breaks the contract is shown too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Malformed, Record
from firmware.abi.catalogue import RECORDS
from firmware.abi.control import ControlOpcode, MapExtent
from firmware.abi.describe import (
    Description,
    describe,
    describe_as,
    describe_control,
    describe_fault,
    describe_handle,
    describe_registers,
    describe_reply,
    describe_work,
    flags_text,
    hexdump,
    number_text,
)
from firmware.abi.faults import NO_LEVEL, FaultReason, FaultRecord
from firmware.abi.ids import READ_WRITE, Access, PageSizes, Rights
from firmware.abi.ipc import IPC_MAGIC, IPC_VERSION, ExportKind, IpcHandle, check_word
from firmware.abi.paging import leaf_entry
from firmware.abi.registers import REGISTER_PAGE_SIZE, STATUS, DeviceStatus, Phase
from firmware.abi.replies import Mapped, Refused
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags, WorkOpcode
from tests.harness.strategies import PER_RECORD, any_record, raw_bytes

COPY = Copy(
    flags=WorkFlags.INTERRUPT, tag=7, source=0x7F12_3456_0000, destination=0x1000, size_bytes=4096
)
FAULT = FaultRecord(
    time_ticks=5,
    seqno=3,
    va=0x20_0000,
    entry=leaf_entry(0x5000, Rights.READ),
    queue_id=1,
    vmid=2,
    tag=0,
    reason=FaultReason.RIGHTS,
    access=Access.WRITE,
    level=0,
    opcode=WorkOpcode.COPY,
    detail=0,
)


def handle(**changes: int) -> bytes:
    """Return a handle whose check word is right unless it is given."""
    values = {"descriptor": 3, "magic": IPC_MAGIC, "emulator_id": 9, "check": 0}
    made = IpcHandle(
        **{**values, **changes},
        version=IPC_VERSION,
        kind=ExportKind.RANGE,
        device_index=0,
        descriptor_copy=3,
        token=bytes(range(16)),
        offset=0,
        size_bytes=1 << 20,
        pid=42,
    ).pack()
    if "check" in changes:
        return made
    return made[:60] + check_word(made).to_bytes(4, "little")


def row_of(description: Description, name: str) -> str:
    return next(row.value for row in description.rows if row.name == name)


def test_a_record_in_one_line() -> None:
    assert describe(COPY).line == (
        "Copy flags=INTERRUPT tag=7 source=0x7f12_3456_0000 destination=0x1000 (4096)"
        " size_bytes=0x1000 (4096)"
    )


def test_a_record_as_a_table() -> None:
    lines = str(describe_work(COPY.pack())).splitlines()

    assert lines[0] == "Copy"
    assert lines[1] == f"  0000  {'01 00':<47}  opcode       COPY"
    assert lines[4] == f"  0008  {'00 00 56 34 12 7f 00 00':<47}  source       0x7f12_3456_0000"
    assert [line[:6].strip() for line in lines[-2:]] == ["0020", "0030"]
    assert len(lines) == 9


def test_everything_wrong_is_marked_and_the_first_is_said() -> None:
    data = bytearray(COPY.pack())
    data[2], data[40] = 0x81, 1

    described = describe_work(data)

    assert described.line.startswith("malformed Copy: Copy.flags at 0x2: unknown value, found 0x81")
    assert [row.name for row in described.rows if row.wrong] == ["flags", "reserved_20"]
    assert row_of(described, "flags") == "INTERRUPT|0x80"
    assert row_of(described, "reserved_20") == "not zero"
    assert [line[0] for line in str(described).splitlines()[1:]].count("!") == 3


def test_an_unknown_opcode_shows_the_header_and_the_rest() -> None:
    described = describe_work(b"\xee\x00\x01\x00" + bytes(60))

    assert "unknown opcode, found 0xee" in described.line
    assert [row.name for row in described.rows] == ["opcode", "flags", "tag", "(more bytes)"]


def test_what_is_cut_off_is_shown_as_such() -> None:
    described = describe_work(COPY.pack()[:20])

    assert [row.value for row in described.rows if row.wrong] == ["(cut off)"] * 3
    assert described.problem is not None


def test_a_fault_shows_the_bits_of_its_entry() -> None:
    described = describe_fault(FAULT.pack())

    assert "read aperture=LOCAL frame=0x5 peer=0x0" in row_of(described, "entry")
    assert row_of(described, "opcode") == "COPY"
    assert row_of(described, "access") == "WRITE"
    assert number_text(NO_LEVEL) == "0xff (255)"


def test_a_reply_is_named_by_its_status() -> None:
    refused = Refused(opcode=0x30, status=Status.BAD_SPACE, request=1, detail=0, expected=0)

    described = describe_reply(refused.pack())

    assert described.line == "Refused opcode=MAP status=BAD_SPACE request=1 detail=0 expected=0"


@pytest.mark.parametrize(
    ("opcode", "name"),
    [
        (ControlOpcode.MAP, "Mapped"),
        (ControlOpcode.MAP_LIST, "Mapped"),
        (ControlOpcode.UNMAP, "Unmapped"),
        (ControlOpcode.UNMAP_LIST, "Unmapped"),
        (ControlOpcode.PROTECT, "Protected"),
        (ControlOpcode.PROTECT_LIST, "Protected"),
    ],
)
def test_a_reply_to_several_commands_is_named_by_what_was_done(
    opcode: ControlOpcode, name: str
) -> None:
    reply = Mapped(opcode=opcode, status=Status.OK, request=1, page_count=16)

    assert describe(reply).title == name
    assert describe_reply(reply.pack()).title == name


def test_a_malformed_reply_is_named_by_the_record_it_should_be() -> None:
    described = describe_reply(b"\x30\x00\x00\x00" + bytes(4) + bytes(8) + b"\x01" + bytes(47))

    assert described.title == "Mapped"
    assert described.problem is not None


def test_a_handle_tells_whether_its_check_word_is_right() -> None:
    assert "(check word is right)" in describe_handle(handle()).line
    assert "check word 0x00000005, expected 0x" in str(describe_handle(handle(check=5)))
    assert describe_handle(b"short").note == ""


def test_registers_show_their_bits() -> None:
    page = bytearray(REGISTER_PAGE_SIZE)
    status = DeviceStatus.build(phase=Phase.HALTED, poison=1)
    page[STATUS.offset : STATUS.offset + 4] = status.to_bytes(4, "little")

    described = describe_registers(page)

    assert row_of(described, "STATUS") == "0x00002004 (phase=HALTED boot_error=NONE poison)"
    assert row_of(describe_registers(b""), "STATUS") == ""


def test_a_malformed_value_describes_itself() -> None:
    wrong = Copy.unpack(b"")
    assert isinstance(wrong, Malformed)

    assert describe(wrong).line == f"malformed Copy: {wrong}"


def test_a_value_that_does_not_fit_is_described() -> None:
    extent = MapExtent(va=1 << 64, size_bytes=0, object_id=0, object_offset=0, rights=READ_WRITE)

    assert "MapExtent: " in describe(extent).line
    assert "18446744073709551616" in str(describe(extent))


def test_hexdump_shows_offsets_bytes_and_text() -> None:
    assert hexdump(b"emuzero\0" * 2 + b"\xff", 0x100) == (
        "00000100  65 6d 75 7a 65 72 6f 00 65 6d 75 7a 65 72 6f 00  |emuzero.emuzero.|\n"
        "00000110  ff" + " " * 45 + "  |.|"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0, "none"), (0x1000, "SMALL"), (0x20_1001, "SMALL|LARGE|0x1")]
)
def test_flags_are_named(value: int, text: str) -> None:
    assert flags_text(PageSizes, value) == text


@given(record=any_record(RECORDS))
def test_every_value_describes_as_its_bytes_do(record: Record) -> None:
    described = describe(record)

    assert described == describe_as(type(record), record.pack())
    assert described.problem is None
    assert "\n" not in described.line
    assert not any(row.wrong for row in described.rows)


@pytest.mark.parametrize("record", RECORDS.values(), ids=list(RECORDS))
@PER_RECORD
@given(data=st.data())
def test_any_bytes_can_be_described(record: type[Record], data: st.DataObject) -> None:
    raw = data.draw(raw_bytes(record))

    for show in (describe_control, describe_work, describe_reply, describe_fault, describe_handle):
        assert str(show(raw))
        assert show(raw).line
    described = describe_as(record, raw)
    assert (described.problem is None) == isinstance(record.unpack(raw), record)
    assert b"".join(row.data for row in described.rows) == raw
    assert str(described)


@given(data=st.binary(max_size=200))
def test_any_register_page_can_be_described(data: bytes) -> None:
    assert str(describe_registers(data))
    assert hexdump(data).count("\n") == max(0, (len(data) - 1) // 16)
