"""Both ends of a ring: order, bounds, and what the peer may get wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest

from firmware.abi.rings import (
    HEAD,
    HEAD_EVENT,
    STATE,
    TAIL,
    TAIL_EVENT,
    U32_MASK,
    RingHeader,
    RingState,
    needs_notify,
)
from firmware.link.errors import (
    BadHead,
    BadTail,
    ContractError,
    InvariantError,
    RingEmpty,
    RingFull,
)
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import RingShape, format_ring, read_shape
from firmware.link.words import Words

SHAPE = RingShape(8, 16)
AT = 64


def memory(shape: RingShape = SHAPE) -> memoryview:
    view = memoryview(bytearray(AT + shape.size))
    format_ring(view, AT, shape)
    return view


def ends(start: int = 0) -> tuple[Producer, Consumer]:
    view = memory()
    return Producer(view, AT, start=start), Consumer(view, AT, SHAPE, start=start)


def entry(number: int) -> bytes:
    return number.to_bytes(16, "little")


def word(end: Producer | Consumer, offset: int) -> int:
    return end.words.load32(AT + offset)


# Shape and header


def test_a_formatted_ring_is_empty_runs_and_is_armed_for_its_first_entry() -> None:
    header = RingHeader.unpack(memory(), AT)

    assert isinstance(header, RingHeader)
    assert (header.tail, header.head) == (0, 0)
    assert header.state is RingState.RUNNING
    assert needs_notify(header.tail_event, 1, 0)
    assert not needs_notify(header.head_event, 1, 0)


def test_a_ring_can_be_formatted_in_another_state() -> None:
    view = memory()

    format_ring(view, AT, SHAPE, RingState.UNUSED)

    assert Words(view).load32(AT + STATE) == RingState.UNUSED


def test_a_driver_reads_the_shape_from_the_header() -> None:
    assert read_shape(memory(), AT) == SHAPE
    assert Producer(memory(), AT).shape == SHAPE


@pytest.mark.parametrize(
    ("offset", "value", "text"),
    [
        (0x80, 12, "ring of 12 entries, expected a power of two"),
        (0x80, 0, "ring of 0 entries"),
        (0x80, 1 << 21, "ring of 2097152 entries"),
        (0x80, 16, "behind the end of its memory"),
        (0x84, 12, "ring entries of 12 bytes"),
        (0x84, 0, "ring entries of 0 bytes"),
        (0x88, 9, r"RingHeader\.state"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(offset: int, value: int, text: str) -> None:
    view = memory()
    Words(view).store32(AT + offset, value)

    with pytest.raises(ContractError, match=text):
        Producer(view, AT)


def test_a_device_never_reads_the_shape_that_a_client_could_have_changed() -> None:
    view = memory()
    Words(view).store32(AT + 0x80, 1 << 20)

    assert Consumer(view, AT, SHAPE).shape == SHAPE


# Entries


@pytest.mark.parametrize("start", [0, 5, U32_MASK - 2])
def test_entries_come_out_in_the_order_in_which_they_went_in(start: int) -> None:
    producer, consumer = ends(start)
    seen: list[bytes] = []

    for number in range(20):
        producer.put(entry(number))
        producer.publish()
        assert consumer.available() == 1
        seen.append(consumer.fetch())
        consumer.publish_head()

    assert seen == [entry(number) for number in range(20)]
    producer.check()
    consumer.check()


@pytest.mark.parametrize("start", [0, 5, U32_MASK - 2])
def test_many_entries_go_in_and_out_at_once_across_the_end(start: int) -> None:
    producer, consumer = ends(start)

    assert producer.put_many(b"".join(entry(number) for number in range(8))) == 8
    assert producer.publish() == (start, (start + 8) & U32_MASK)
    assert consumer.available() == 8

    assert consumer.peek(8) == b"".join(entry(number) for number in range(8))
    consumer.retire(3)
    assert consumer.peek() == entry(3)
    assert consumer.peek(5) == b"".join(entry(number) for number in range(3, 8))


def test_entries_are_not_seen_before_they_are_published() -> None:
    producer, consumer = ends()

    producer.put(entry(1))

    assert consumer.available() == 0
    assert producer.statistics().published == 0
    assert producer.statistics().index == 1


def test_a_peek_takes_nothing() -> None:
    producer, consumer = ends()
    producer.put(entry(1))
    producer.publish()
    consumer.available()

    assert consumer.peek() == consumer.peek() == consumer.fetch() == entry(1)


def test_what_was_copied_out_does_not_change_any_more() -> None:
    producer, consumer = ends()
    producer.put(entry(1))
    producer.publish()
    consumer.available()

    copy = consumer.peek()
    producer.words.u8[AT + RingHeader.SIZE] = 0xFF

    assert copy == entry(1)


# Full and empty


def test_a_full_ring_takes_no_entry_and_stays_as_it_is() -> None:
    producer, consumer = ends()
    producer.put_many(bytes(8 * 16))
    producer.publish()
    assert producer.free == 0

    with pytest.raises(RingFull, match="1 entries asked for, 0 of 8 free"):
        producer.put(entry(9))
    with pytest.raises(RingFull):
        producer.put_many(entry(9))

    assert producer.tail == 8
    consumer.available()
    assert consumer.peek(8) == bytes(8 * 16)


def test_all_or_none_of_many_entries_go_in() -> None:
    producer, _ = ends()
    producer.put_many(bytes(6 * 16))

    with pytest.raises(RingFull, match="3 entries asked for, 2 of 8 free"):
        producer.put_many(bytes(3 * 16))

    assert producer.tail == 6
    producer.reserve(2)


def test_room_comes_back_when_the_consumer_publishes_its_head() -> None:
    producer, consumer = ends()
    producer.put_many(bytes(8 * 16))
    producer.publish()
    consumer.available()
    consumer.retire(2)
    assert producer.free == 0

    assert consumer.publish_head() == (0, 2)

    assert producer.free == 2


def test_an_entry_of_another_size_is_refused_and_nothing_is_put() -> None:
    producer, _ = ends()

    with pytest.raises(ValueError, match="different structures"):
        producer.put(bytes(15))
    with pytest.raises(ValueError, match="15 bytes are no multiple of 16"):
        producer.put_many(bytes(15))

    assert producer.tail == 0
    producer.check()


@pytest.mark.parametrize("take", ["fetch", "peek", "retire"])
def test_no_more_is_taken_than_was_seen(take: str) -> None:
    producer, consumer = ends()
    producer.put(entry(1))
    producer.publish()
    arguments = () if take == "fetch" else (1,)

    with pytest.raises(RingEmpty):
        getattr(consumer, take)(*arguments)


# What the peer may get wrong


@pytest.mark.parametrize("tail", [9, 1000, U32_MASK])
def test_a_tail_too_far_ahead_is_refused_and_nothing_is_taken(tail: int) -> None:
    _, consumer = ends()
    consumer.words.store32(AT + TAIL, tail)

    with pytest.raises(BadTail) as caught:
        consumer.available()

    assert (caught.value.tail, caught.value.head, caught.value.entry_count) == (tail, 0, 8)
    assert consumer.head == 0
    consumer.check()


@pytest.mark.parametrize("head", [4, 100, U32_MASK])
def test_a_head_that_was_never_reached_is_refused(head: int) -> None:
    producer, _ = ends()
    producer.put_many(bytes(3 * 16))
    producer.publish()
    producer.words.store32(AT + HEAD, head)

    with pytest.raises(BadHead) as caught:
        _ = producer.free

    assert (caught.value.head, caught.value.tail, caught.value.waiting) == (head, 3, 3)


def test_a_head_that_goes_back_is_refused() -> None:
    producer, consumer = ends()
    producer.put_many(bytes(3 * 16))
    producer.publish()
    consumer.available()
    consumer.retire(2)
    consumer.publish_head()
    assert producer.free == 7

    producer.words.store32(AT + HEAD, 1)

    with pytest.raises(BadHead, match="head 0x1 is not within the 1 entries"):
        _ = producer.free


def test_neither_end_reads_its_own_index_back() -> None:
    producer, consumer = ends()
    producer.words.store32(AT + TAIL, 77)
    producer.put(entry(1))
    assert producer.publish() == (0, 1)
    consumer.words.store32(AT + HEAD, 77)
    consumer.available()
    consumer.fetch()

    assert consumer.publish_head() == (0, 1)


# Event indices


@pytest.mark.parametrize("start", [0, U32_MASK])
def test_an_armed_consumer_is_told_of_the_next_entry_only(start: int) -> None:
    producer, consumer = ends(start)
    consumer.arm()
    told: list[bool] = []

    for number in range(3):
        producer.put(entry(number))
        old, new = producer.publish()
        told.append(needs_notify(word(producer, TAIL_EVENT), new, old))

    assert told == [True, False, False]


def test_a_consumer_that_disarmed_is_not_told() -> None:
    producer, consumer = ends()
    consumer.disarm()
    told: list[bool] = []

    for number in range(8):
        producer.put(entry(number))
        old, new = producer.publish()
        told.append(needs_notify(word(producer, TAIL_EVENT), new, old))

    assert not any(told)


@pytest.mark.parametrize("room", [1, 2, 8])
@pytest.mark.parametrize("start", [0, U32_MASK - 3])
def test_an_armed_producer_is_told_once_there_is_the_room_it_asked_for(
    room: int, start: int
) -> None:
    producer, consumer = ends(start)
    producer.put_many(bytes(8 * 16))
    producer.publish()
    producer.arm(room)
    told: list[bool] = []

    consumer.available()
    for _ in range(8):
        consumer.fetch()
        old, new = consumer.publish_head()
        told.append(needs_notify(word(consumer, HEAD_EVENT), new, old))

    assert told == [taken == room for taken in range(1, 9)]


def test_a_producer_that_disarmed_is_not_told() -> None:
    producer, consumer = ends()
    producer.put_many(bytes(8 * 16))
    producer.publish()
    producer.disarm()

    consumer.available()
    heads = [0]
    for _ in range(8):
        consumer.fetch()
        heads.append(consumer.publish_head()[1])

    event = word(consumer, HEAD_EVENT)
    assert not any(needs_notify(event, new, old) for old, new in pairwise(heads))


# Begin again


def test_both_ends_begin_again_at_zero() -> None:
    producer, consumer = ends()
    producer.put_many(bytes(5 * 16))
    producer.publish()
    consumer.available()
    consumer.retire(2)
    consumer.publish_head()

    producer.restart()
    consumer.restart()

    assert (word(producer, TAIL), word(consumer, HEAD)) == (0, 0)
    assert producer.free == 8
    assert consumer.available() == 0
    producer.put(entry(1))
    producer.publish()
    assert consumer.available() == 1
    assert consumer.fetch() == entry(1)
    assert consumer.statistics().index == 1


def test_check_finds_an_index_that_ran_away() -> None:
    producer, consumer = ends()
    producer.tail += 1
    consumer.head += 9

    with pytest.raises(InvariantError, match="tail 0x1, published 0x0"):
        producer.check()
    with pytest.raises(InvariantError, match="head 0x9, published 0x0"):
        consumer.check()
