"""Slots: what the program posted is given out once, and what is put is there before its turn."""

from collections.abc import Generator

import pytest

from firmware.abi.channel import (
    CHANNEL_SLOT_SIZE,
    CHANNEL_SLOTS_OFFSET,
    ChannelHeader,
    MessageKind,
    SlotHeader,
)
from firmware.link.segment import Segment
from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.slots import CAPACITY, CHANNEL_SIZE, Slots

POSTED = 0x80


@pytest.fixture(name="segment")
def make_segment() -> Generator[Segment]:
    segment = Segment.in_process(CHANNEL_SIZE)
    yield segment
    segment.close()


def post(segment: Segment, slot: int, kind: int, what: int, data: bytes) -> None:
    """Do what a program's library does."""
    base = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
    words = segment.words
    words.u8[base + SlotHeader.SIZE : base + SlotHeader.SIZE + len(data)] = data
    words.store32(base + 8, kind)
    words.store32(base + 12, what)
    words.store32(base + 16, len(data))
    at = POSTED + 4 * slot
    words.store32(at, (words.load32(at) + 1) & 0xFFFF_FFFF)


def header_of(segment: Segment, slot: int) -> SlotHeader:
    base = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
    header = SlotHeader.unpack(segment.view, base)
    assert isinstance(header, SlotHeader)
    return header


def test_the_channel_tells_its_shape(segment: Segment) -> None:
    Slots(segment, 2)

    header = ChannelHeader.unpack(segment.view, 0)
    assert isinstance(header, ChannelHeader)
    assert (header.device_count, header.asleep, header.lost) == (2, 1, 0)


def test_each_message_is_given_out_once(segment: Segment) -> None:
    slots = Slots(segment, 1)
    assert not slots.has_work()

    post(segment, 3, MessageKind.CALL, 7, b"hello")
    post(segment, 63, MessageKind.CALL, 8, b"")

    assert slots.has_work()
    assert [(m.slot, m.what, m.data) for m in slots.take()] == [(3, 7, b"hello"), (63, 8, b"")]
    assert slots.take() == []
    assert not slots.has_work()


def test_a_reply_stands_in_the_slot_with_its_text_and_its_turn(segment: Segment) -> None:
    slots = Slots(segment, 1)
    post(segment, 1, MessageKind.CALL, 7, b"")
    slots.take()

    slots.put(1, MessageKind.REPLY, 0, b"12345678", 0x7800_0004, b"why")

    header = header_of(segment, 1)
    assert (header.kind, header.size, header.result) == (MessageKind.REPLY, 8, 0x7800_0004)
    assert (header.turn, header.text_size) == (1, 3)


def test_a_size_that_lies_is_cut_to_the_slot(segment: Segment) -> None:
    slots = Slots(segment, 1)
    post(segment, 0, MessageKind.CALL, 1, b"")
    segment.words.store32(CHANNEL_SLOTS_OFFSET + 16, 0xFFFF_FFFF)

    (message,) = slots.take()

    assert len(message.data) == CAPACITY


def test_a_message_larger_than_a_slot_is_refused(segment: Segment) -> None:
    slots = Slots(segment, 1)

    with pytest.raises(MalformedMessageError):
        slots.put(0, MessageKind.REPLY, 0, bytes(CAPACITY), 0, b"x")


def test_turns_wrap_around(segment: Segment) -> None:
    slots = Slots(segment, 1)
    segment.words.store32(POSTED, 0xFFFF_FFFF)
    slots.take()

    post(segment, 0, MessageKind.CALL, 5, b"")
    (message,) = slots.take()
    slots.put(message.slot, MessageKind.REPLY, 0, b"")

    assert message.what == 5
    assert header_of(segment, 0).turn == 0
