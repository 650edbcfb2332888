"""Appends that were recorded: carried out in their order, before what was posted behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.channel import (
    CHANNEL_APPENDS_OFFSET,
    CHANNEL_APPENDS_SIZE,
    CHANNEL_LONGEST_APPEND,
    CHANNEL_NO_APPEND,
    AppendsHeader,
    MessageKind,
)
from firmware.abi.work import Barrier, Fill, decode_work
from firmware.link.segment import Segment
from hostdriver import levelzero as ze
from hostdriver.api import command_list
from hostdriver.channel.arguments import read_arguments
from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.names import Names
from hostdriver.channel.recorded import Recorded
from hostdriver.channel.slots import CHANNEL_SIZE, Slots
from hostdriver.channel.specs import interface
from hostdriver.channel.streamrows import StreamRows
from hostdriver.channel.work import ListRecord
from hostdriver.core.results import ZeError
from hostdriver.testing.pair import pair
from tests.channel.test_slots import post
from tests.harness.program_channel import NUMBERS, items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.channel.arguments import Arguments
    from hostdriver.core.commandlists import CommandList
    from hostdriver.testing.pair import Pair

HEAD = CHANNEL_APPENDS_OFFSET
TAIL = CHANNEL_APPENDS_OFFSET + 0x40
RING = CHANNEL_APPENDS_OFFSET + AppendsHeader.SIZE
NO_EVENT = 1 << 30
DESC = ze.CommandListDesc()


class Program:
    """What a library puts into a channel, and the driver's half of it."""

    def __init__(self, world: Pair) -> None:
        self.segment = Segment.in_process(CHANNEL_SIZE)
        self.world = world
        self.state = world.driver.look(lambda state: state)
        self.names = Names(StreamRows(self.segment.words))
        self.slots = Slots(self.segment, 1)
        self.recorded = Recorded(self.slots)

    def make_list(self) -> tuple[int, CommandList]:
        made = command_list.create(self.state, None, 0, DESC)
        return self.names.add(ListRecord(made, DESC, 1, 1)), made

    def put(self, name: str, *arguments: int | bytes) -> None:
        self.put_raw(NUMBERS[name], items(*arguments))

    def put_raw(self, function: int, data: bytes, size: int | None = None) -> None:
        words = self.segment.words
        tail = words.load64(TAIL)
        at = tail % CHANNEL_APPENDS_SIZE
        rest = CHANNEL_APPENDS_SIZE - at
        if rest < len(data) + 8:
            words.store32(RING + at, rest)
            words.store32(RING + at + 4, CHANNEL_NO_APPEND)
            tail, at = tail + rest, 0
        words.store32(RING + at, len(data) + 8 if size is None else size)
        words.store32(RING + at + 4, function)
        words.u8[RING + at + 8 : RING + at + 8 + len(data)] = data
        words.store64(TAIL, tail + 8 + len(data))

    def fill(self, number: int, byte: int) -> None:
        self.put("zeCommandListAppendMemoryFill", number, 4096, 1, bytes([byte]), 1, 8, 0, 0, 0)

    def barrier(self, number: int, event: int = 0) -> None:
        self.put("zeCommandListAppendBarrier", number, event, 0, 0)

    def take(self) -> int:
        """Return how many turns a message had to wait."""
        post(self.segment, 1, MessageKind.CALL, 7, b"")
        for turns in range(10_000):
            if self.recorded.take(self.state, self.names):
                return turns
            assert self.recorded.is_behind
        pytest.fail("the message never has its turn")

    def call(self, name: str, number: int) -> Arguments:
        spec = interface().functions[NUMBERS[name]]
        return read_arguments(spec, items(number, 0, 0, 0))


@pytest.fixture(name="program")
def make_program() -> Iterator[Program]:
    with pair() as world:
        program = Program(world)
        yield program
        program.slots.close()


def bytes_filled(made: CommandList) -> list[int]:
    made.close()
    blob = made.recorded or b""
    commands = [decode_work(blob[at : at + 64]) for at in range(0, len(blob), 64)]
    return [command.pattern[0] for command in commands if isinstance(command, Fill)]


def test_nothing_is_looked_at_until_a_message_comes(program: Program) -> None:
    number, made = program.make_list()
    program.fill(number, 1)

    assert program.recorded.take(program.state, program.names) == []
    assert not program.recorded.is_behind
    assert made.size == 0

    assert program.take() == 0
    assert bytes_filled(made) == [1]
    assert program.segment.words.load64(HEAD) == program.segment.words.load64(TAIL)


def test_lists_have_what_was_recorded_for_them_in_its_order(program: Program) -> None:
    (one, first), (two, second) = program.make_list(), program.make_list()
    for byte in (1, 2, 3):
        program.fill(one, byte)
        program.fill(two, 16 * byte)
    program.take()
    program.fill(one, 4)
    program.take()

    assert bytes_filled(first) == [1, 2, 3, 4]
    assert bytes_filled(second) == [16, 32, 48]


def test_a_message_waits_for_all_that_was_recorded_before_it(program: Program) -> None:
    number, made = program.make_list()
    for index in range(500):
        program.fill(number, index % 251)

    assert program.take() > 5
    assert bytes_filled(made) == [index % 251 for index in range(500)]


def test_the_ring_goes_round(program: Program) -> None:
    number, made = program.make_list()
    filled: list[int] = []
    while program.segment.words.load64(TAIL) < 2.5 * CHANNEL_APPENDS_SIZE:
        for index in range(300):
            program.fill(number, index % 251)
            filled.append(index % 251)
        program.barrier(number)
        program.take()

    assert bytes_filled(made) == filled


def test_an_append_that_fails_is_told_by_appends_and_close_until_the_list_is_reset(
    program: Program,
) -> None:
    (number, made), (other, _) = program.make_list(), program.make_list()
    program.fill(number, 1)
    program.barrier(number, NO_EVENT)
    program.fill(number, 2)
    program.fill(other, 3)
    program.take()

    for name in ("zeCommandListAppendBarrier", "zeCommandListClose", "zeCommandListClose"):
        with pytest.raises(ZeError, match="an append before: handle 1073741824") as raised:
            program.recorded.check(program.call(name, number))
        assert raised.value.result is ze.ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
    program.recorded.check(program.call("zeCommandListIsImmediate", number))
    program.recorded.check(program.call("zeCommandListClose", other))
    program.recorded.check(program.call("zeCommandQueueDestroy", number))
    program.recorded.check(program.call("zeCommandListReset", number))
    program.recorded.check(program.call("zeCommandListClose", number))
    program.fill(number, 4)
    program.take()
    assert bytes_filled(made) == [1, 4]


def test_what_is_recorded_for_a_list_that_is_gone_is_dropped(program: Program) -> None:
    number, _ = program.make_list()
    other, made = program.make_list()
    program.fill(number, 1)
    program.fill(other, 2)
    program.names.drop(ListRecord, number)

    program.take()

    assert bytes_filled(made) == [2]


def test_a_bug_of_an_append_is_its_lists_failure(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, _ = program.make_list()
    program.barrier(number)
    with monkeypatch.context() as patch:
        patch.setattr(Barrier, "pack", None)
        patch.setattr(command_list, "around", None)
        program.take()

    with pytest.raises(ZeError, match="the driver failed in zeCommandListAppendBarrier"):
        program.recorded.check(program.call("zeCommandListClose", number))


def test_nothing_is_recorded_for_immediate_lists(program: Program) -> None:
    with program.world.driver.create_context() as context:
        (device, *_) = program.world.driver.devices
        immediate = context.command_list_create_immediate(device, ze.CommandQueueDesc())
        stream = next(iter(program.state.streams.values()))
        program.barrier(program.names.add(ListRecord(stream, ze.CommandQueueDesc(), 1, 1)))

        with pytest.raises(MalformedMessageError, match="which is immediate"):
            program.take()
        immediate.destroy()


@pytest.mark.parametrize(
    ("function", "size"),
    [
        (NUMBERS["zeMemFree"], None),
        (NUMBERS["zeCommandListClose"], None),
        (CHANNEL_NO_APPEND - 1, None),
        (NUMBERS["zeCommandListAppendBarrier"], 0),
        (NUMBERS["zeCommandListAppendBarrier"], 12),
        (NUMBERS["zeCommandListAppendBarrier"], 1 << 31),
        (NUMBERS["zeCommandListAppendBarrier"], 16),
        (CHANNEL_NO_APPEND, 0),
    ],
)
def test_a_record_that_is_none_ends_the_session(
    function: int, size: int | None, program: Program
) -> None:
    number, _ = program.make_list()
    program.put_raw(function, items(number, 0, 0, 0), size)

    with pytest.raises(MalformedMessageError):
        program.take()


def test_a_record_that_is_too_long_ends_the_session(program: Program) -> None:
    program.put_raw(NUMBERS["zeCommandListAppendBarrier"], bytes(CHANNEL_LONGEST_APPEND))

    with pytest.raises(MalformedMessageError, match="0x408 bytes"):
        program.take()


@pytest.mark.parametrize("tail", [4, CHANNEL_APPENDS_SIZE + 8, (1 << 64) - 8])
def test_a_tail_that_is_nowhere_ends_the_session(tail: int, program: Program) -> None:
    program.segment.words.store64(TAIL, tail)

    with pytest.raises(MalformedMessageError, match="in the ring"):
        program.take()


def test_nothing_is_recorded_before_the_begin(program: Program) -> None:
    program.barrier(2)
    post(program.segment, 1, MessageKind.CALL, 7, b"")

    with pytest.raises(MalformedMessageError):
        program.recorded.take(None, program.names)
