"""The trace tells every call with what it put on the rings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import ControlOpcode, ObjectCreate, ObjectFlags, ObjectKind
from firmware.abi.describe import describe
from firmware.abi.replies import Done, ObjectCreated, SpaceCreated
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags
from hostdriver.cli.demo.events import Call, Command
from hostdriver.cli.demo.trace import MOST_COMMANDS, Trace
from hostdriver.cli.records import hexadecimal, short_of
from hostdriver.core.failures import invalid_argument
from hostdriver.core.questions import Answer, Control, Pause, Submit

if TYPE_CHECKING:
    from hostdriver.cli.demo.events import Event

CREATE = ObjectCreate(
    request=7, kind=ObjectKind.VRAM, flags=ObjectFlags.NONE, size_bytes=0x20000, page_size=0x10000
)
CREATED = ObjectCreated(
    opcode=ControlOpcode.OBJECT_CREATE,
    status=Status.OK,
    request=7,
    object_id=3,
    size_bytes=0x20000,
    bus_address=0,
    page_size=0x10000,
    descriptors=0,
)
COPY = Copy(flags=WorkFlags.NONE, tag=0, source=0x1000, destination=0x2000, size_bytes=16)


def test_a_call_is_told_with_its_commands_when_it_returns() -> None:
    told: list[Event] = []
    trace = Trace(told.append)

    with trace.call("zePhysicalMemCreate", size="0x2_0000") as call:
        trace.observe(Control(0, CREATE), Answer(CREATED))
        call.result = "object A"
        assert told == []

    assert told == [
        Call(
            "zePhysicalMemCreate",
            {"size": "0x2_0000"},
            "object A",
            [
                Command(
                    "control ring",
                    "ObjectCreate kind=VRAM size_bytes=0x2_0000 page_size=0x1_0000",
                    "ObjectCreated object_id=3 size_bytes=0x2_0000 page_size=0x1_0000",
                )
            ],
        )
    ]


def test_work_commands_are_told_from_their_bytes() -> None:
    told: list[Event] = []
    trace = Trace(told.append)

    with trace.call("memory_write"):
        trace.observe(Submit(0, 5, (COPY.pack(), b"\xff" * 64)), 2)
        trace.observe(Pause(), None)

    (call,) = told
    assert isinstance(call, Call)
    assert call.commands[0] == Command(
        "copy ring 5", "Copy source=0x1000 destination=0x2000 size_bytes=0x10"
    )
    assert "malformed" in call.commands[1].text
    assert len(call.commands) == 2


def test_many_commands_are_counted_and_not_all_told() -> None:
    told: list[Event] = []
    trace = Trace(told.append)

    with trace.call("memory_write"):
        trace.observe(Submit(0, 1, (COPY.pack(),) * (MOST_COMMANDS + 9)), 0)
    with trace.call("zeInit"):
        pass

    first, second = told
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert (len(first.commands), first.more_commands) == (MOST_COMMANDS, 9)
    assert (second.commands, second.more_commands) == ([], 0)


def test_a_call_that_fails_is_told_with_its_code() -> None:
    told: list[Event] = []
    trace = Trace(told.append)

    with pytest.raises(type(invalid_argument(""))), trace.call("zeVirtualMemMap"):
        raise invalid_argument("no")

    (call,) = told
    assert isinstance(call, Call)
    assert call.result == "ZE_RESULT_ERROR_INVALID_ARGUMENT"


def test_what_says_nothing_is_left_out_but_a_root_at_zero_is_not() -> None:
    done = Done(opcode=ControlOpcode.NOP, status=Status.OK, request=9)
    space = SpaceCreated(
        opcode=ControlOpcode.SPACE_CREATE, status=Status.OK, request=1, vmid=1, root_address=0
    )

    assert short_of(describe(done)) == "Done"
    assert short_of(describe(space)) == "SpaceCreated vmid=1 root_address=0"


def test_numbers_are_grouped() -> None:
    assert hexadecimal(0x7FFF12345678) == "0x7fff_1234_5678"
