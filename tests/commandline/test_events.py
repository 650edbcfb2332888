"""Messages between the processes of the demo are lines, whatever they hold."""

from __future__ import annotations

import msgspec
import pytest

from hostdriver.cli.demo.events import (
    Attached,
    Built,
    Call,
    Command,
    Exported,
    Extent,
    FileHash,
    Finish,
    Finished,
    Load,
    Loaded,
    Opened,
    Part,
    ReadReply,
    Replied,
    ReplySeen,
    Tables,
    Verified,
    decode_event,
    decode_order,
    encode,
)

EVENTS = [
    Attached(1, "device", 1 << 30),
    Call("zeInit", {"a": "1"}, "SUCCESS", [Command("control ring", "Nop", "Done")], 3),
    Built([Part(1, 2, 3, 4)], 5, 6),
    Loaded([FileHash("a\nb", 1, "00")], ["AB"]),
    Tables([Extent(1, 2, "LOCAL", 3, 0, 4096, "READ")], 1),
    Exported(bytes(range(64))),
    Opened(64, 1, 2),
    Verified([FileHash("a", 1, "00")], ["00"]),
    Replied("text\n"),
    ReplySeen("text", is_right=True),
    Finished(64),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_and_comes_back(event: Call) -> None:
    line = encode(event)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_event(line) == event


@pytest.mark.parametrize("order", [Load([b"/a\xff\n"]), ReadReply(), Finish()])
def test_an_order_comes_back(order: Load) -> None:
    assert encode(order).count(b"\n") == 1
    assert decode_order(encode(order)) == order


@pytest.mark.parametrize("line", [b"", b"hello", b"{}", b'{"type": "Nothing"}'])
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_event(line)
    with pytest.raises(msgspec.MsgspecError):
        decode_order(line)


def test_files_are_equal_only_when_every_hash_is() -> None:
    good, other = FileHash("a", 1, "00"), FileHash("b", 1, "11")

    assert Verified([good, other], ["00", "11"]).all_equal
    assert not Verified([good, other], ["00", "12"]).all_equal
    assert not Verified([good], ["00", "11"]).all_equal
