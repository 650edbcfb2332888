"""Ring entries decode by opcode; replies by status, then opcode."""

import pytest
from hypothesis import given

from firmware.abi import Decoder, Malformed, Reason, Record
from firmware.abi.control import CONTROL_COMMANDS, ControlCommand, ControlOpcode, decode_control
from firmware.abi.replies import REPLIES, Done, Mapped, Refused, Reply, decode_reply
from firmware.abi.status import Status
from firmware.abi.work import PATTERN_SIZES, WORK_COMMANDS, WorkCommand, WorkOpcode, decode_work
from tests.harness.strategies import any_record, records


@given(command=any_record(CONTROL_COMMANDS))
def test_control_commands_decode_by_their_opcode(command: ControlCommand) -> None:
    assert decode_control(command.pack()) == command
    assert decode_control(b"before" + command.pack(), 6) == command


@given(command=any_record(WORK_COMMANDS))
def test_work_commands_decode_by_their_opcode(command: WorkCommand) -> None:
    assert decode_work(command.pack()) == command
    assert decode_work(memoryview(b"12345678" + command.pack()), 8) == command


@pytest.mark.parametrize(
    ("decode", "table", "family"),
    [
        (decode_control, CONTROL_COMMANDS, "ControlCommand"),
        (decode_work, WORK_COMMANDS, "WorkCommand"),
    ],
)
def test_every_unknown_opcode_is_malformed(
    decode: Decoder[Record], table: dict[int, type[Record]], family: str
) -> None:
    unknown = [opcode for opcode in range(1 << 16) if opcode not in table]

    for opcode in unknown:
        decoded = decode(opcode.to_bytes(2, "little") + bytes(62))

        assert isinstance(decoded, Malformed)
        assert (decoded.record, decoded.field) == (family, "opcode")
        assert (decoded.reason, decoded.found) == (Reason.UNKNOWN_OPCODE, opcode)


def test_a_place_of_a_work_ring_that_nobody_has_written_holds_no_command() -> None:
    assert isinstance(decode_work(bytes(64)), Malformed)


@pytest.mark.parametrize(
    ("decode", "opcode"),
    [(decode_control, 0), (decode_work, WorkOpcode.COPY), (decode_reply, 0)],
)
def test_every_truncated_entry_is_malformed(decode: Decoder[Record], opcode: int) -> None:
    entry = opcode.to_bytes(2, "little") + bytes(62)
    for size in range(64):
        decoded = decode(entry[:size])

        assert isinstance(decoded, Malformed)
        assert (decoded.reason, decoded.found) == (Reason.TRUNCATED, size)


def test_every_command_has_an_answer() -> None:
    assert set(REPLIES) == set(ControlOpcode)
    assert set(REPLIES.values()) | {Refused} == set(Reply.__subclasses__())


@pytest.mark.parametrize("opcode", ControlOpcode)
def test_an_answer_decodes_as_the_record_of_its_command(opcode: ControlOpcode) -> None:
    data = Done(opcode=opcode, status=Status.OK, request=9).pack()

    decoded = decode_reply(data)

    assert type(decoded) is REPLIES[opcode]
    assert isinstance(decoded, Reply)
    assert decoded.request == 9


@given(refused=records(Refused))
def test_any_opcode_can_be_refused(refused: Refused) -> None:
    if refused.status is Status.OK:
        return

    assert decode_reply(refused.pack()) == refused


def test_an_unknown_opcode_cannot_be_answered_with_ok() -> None:
    decoded = decode_reply(Done(opcode=0x7777, status=Status.OK, request=1).pack())

    assert isinstance(decoded, Malformed)
    assert (decoded.field, decoded.found) == ("opcode", 0x7777)


def test_an_unknown_status_is_malformed() -> None:
    data = bytearray(Mapped(opcode=0x30, status=Status.OK, request=1, page_count=1).pack())
    data[2:4] = b"\xff\xff"

    decoded = decode_reply(data)

    assert isinstance(decoded, Malformed)
    assert (decoded.field, decoded.found) == ("status", 0xFFFF)


def test_pattern_sizes_are_powers_of_two_up_to_the_field() -> None:
    assert sorted(PATTERN_SIZES) == [1 << shift for shift in range(5)]
