"""What every link does, whatever it is made of.

A subclass gives the fixture `pair`. Everything here holds for the link between processes and for
the twin inside one thread; what only one of them does is tested elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.abi.handshake import DescriptorNote
from firmware.abi.registers import STATUS, DeviceStatus, Phase
from firmware.abi.rings import (
    COMPLETED,
    COMPLETION_SLEEPERS,
    COMPLETION_STATUS,
    CONSUMER_SLEEPERS,
    CONTROL_QUEUE,
    TAIL,
    TAIL_EVENT,
)
from firmware.link.errors import BadHead, BadTail, ContractError, LinkLost
from firmware.link.rings import Consumer, Producer
from firmware.link.sealed import create_sealed
from firmware.link.waiting import WordWait
from tests.harness.link_pairs import CLIENT_ID, EMULATOR_ID, PLAN, store_asleep

if TYPE_CHECKING:
    from tests.harness.link_pairs import LinkPair


@dataclass(frozen=True)
class Stored:
    """A notice as the device makes it."""

    word: int
    sleepers: int
    event: int = 0
    old: int = 0
    new: int = 0
    force: bool = False


def entry(number: int) -> bytes:
    return number.to_bytes(8, "little") * 8


class LinkConformance:
    """Behaviour of a link."""

    # What was agreed

    def test_the_driver_finds_the_plan_of_the_device_in_the_superblock(
        self, pair: LinkPair
    ) -> None:
        block = pair.host.superblock

        assert block.client_id == pair.host.welcome.client_id == CLIENT_ID
        assert block.emulator_id == EMULATOR_ID
        assert block.segment_size == pair.host.segment.size == PLAN.size
        assert block.control_ring_offset == PLAN.control_ring_offset

    # Segment

    def test_bytes_that_one_side_stores_are_seen_by_the_other(self, pair: LinkPair) -> None:
        there, here = pair.device.segment, pair.host.segment

        there.words.store64(PLAN.fences_offset, 0x1122_3344_5566_7788)
        here.view[PLAN.payload_offset : PLAN.payload_offset + 5] = b"hello"

        assert here.words.load64(PLAN.fences_offset) == 0x1122_3344_5566_7788
        assert bytes(there.view[PLAN.payload_offset : PLAN.payload_offset + 5]) == b"hello"

    def test_a_closed_end_refuses_its_words_and_the_other_goes_on(self, pair: LinkPair) -> None:
        words = pair.host.segment.words

        pair.host.close()

        with pytest.raises(ValueError, match="released"):
            words.load32(0)
        pair.device.segment.words.store32(PLAN.fences_offset, 1)

    # Rings and bells

    def test_commands_and_replies_cross_in_order_and_wrap(self, pair: LinkPair) -> None:
        commands = Producer(pair.host.segment.view, PLAN.control_ring_offset)
        taken = Consumer(pair.device.segment.words, PLAN.control_ring_offset, PLAN.control_ring)
        answers = Producer(pair.device.segment.words, PLAN.reply_ring_offset, PLAN.reply_ring)
        replies = Consumer(pair.host.segment.view, PLAN.reply_ring_offset)

        for number in range(3 * PLAN.control_ring.entry_count):
            commands.put(entry(number))
            commands.publish()
            assert taken.available() == 1
            answers.put(taken.fetch())
            taken.publish_head()
            answers.publish()
            assert replies.available() == 1
            assert replies.fetch() == entry(number)
            replies.publish_head()

    def test_a_tail_out_of_range_is_found_by_the_device_and_changes_nothing(
        self, pair: LinkPair
    ) -> None:
        consumer = Consumer(pair.device.segment.words, PLAN.control_ring_offset, PLAN.control_ring)

        pair.host.segment.words.store32(PLAN.control_ring_offset + TAIL, 17)

        with pytest.raises(BadTail, match="tail 0x11 is more than 16 entries ahead of head 0x0"):
            consumer.available()
        assert consumer.head == 0

    def test_a_head_out_of_range_is_found_by_the_producer(self, pair: LinkPair) -> None:
        producer = Producer(pair.host.segment.view, PLAN.control_ring_offset)
        consumer = Consumer(pair.device.segment.words, PLAN.control_ring_offset, PLAN.control_ring)
        consumer.head = 1

        consumer.publish_head()

        with pytest.raises(BadHead, match="head 0x1"):
            _ = producer.free

    def test_a_doorbell_reaches_a_device_that_sleeps(self, pair: LinkPair) -> None:
        commands = Producer(pair.host.segment.view, PLAN.control_ring_offset)
        store_asleep(pair.device.segment.words, asleep=True)
        commands.put(entry(1))
        old, new = commands.publish()

        rang = pair.host.doorbells.ring(CONTROL_QUEUE, PLAN.control_ring_offset, old, new)

        assert rang
        assert pair.device.doorbell.clear()
        assert not pair.device.doorbell.clear()
        assert pair.device.segment.words.load32(PLAN.doorbells_offset) == new

    def test_a_device_that_polls_is_told_by_the_doorbell_word_alone(self, pair: LinkPair) -> None:
        commands = Producer(pair.host.segment.view, PLAN.control_ring_offset)
        taken = Consumer(pair.device.segment.words, PLAN.control_ring_offset, PLAN.control_ring)
        taken.disarm()
        commands.put(entry(1))
        old, new = commands.publish()

        rang = pair.host.doorbells.ring(CONTROL_QUEUE, PLAN.control_ring_offset, old, new)

        assert not rang
        assert not pair.device.doorbell.clear()
        assert pair.device.segment.words.load32(PLAN.doorbells_offset) == new

    def test_a_ring_that_was_armed_rings_the_bell_once(self, pair: LinkPair) -> None:
        commands = Producer(pair.host.segment.view, PLAN.control_ring_offset)
        taken = Consumer(pair.device.segment.words, PLAN.control_ring_offset, PLAN.control_ring)
        taken.arm()
        rang: list[bool] = []

        for number in range(3):
            commands.put(entry(number))
            old, new = commands.publish()
            rang.append(pair.host.doorbells.ring(CONTROL_QUEUE, PLAN.control_ring_offset, old, new))

        assert rang == [True, False, False]

    def test_many_rings_may_arrive_as_one(self, pair: LinkPair) -> None:
        for _ in range(5):
            pair.device.interrupt.ring()

        assert pair.host.interrupt.clear()
        assert not pair.host.interrupt.clear()

    def test_the_interrupt_is_raised_when_the_driver_armed_the_reply_ring(
        self, pair: LinkPair
    ) -> None:
        replies = Consumer(pair.host.segment.view, PLAN.reply_ring_offset)
        answers = Producer(pair.device.segment.words, PLAN.reply_ring_offset, PLAN.reply_ring)
        notifier = pair.device.notifier()
        rang: list[bool] = []

        for arm in (replies.arm, replies.disarm):
            arm()
            answers.put(entry(1))
            notifier.notify([reply_notice(*answers.publish())])
            rang.append(pair.host.interrupt.clear())
            replies.available()
            replies.fetch()

        assert rang == [True, False]

    def test_a_forced_notice_raises_the_interrupt_whatever_is_armed(self, pair: LinkPair) -> None:
        notice = Stored(
            PLAN.fault_ring_offset + TAIL, PLAN.fault_ring_offset + CONSUMER_SLEEPERS, force=True
        )

        pair.device.notifier().notify([notice])

        assert pair.host.interrupt.clear()

    # Waiting

    def test_a_wait_for_what_is_there_returns_at_once(self, pair: LinkPair) -> None:
        pair.device.segment.words.store64(PLAN.ring_pool_offset + COMPLETED, 5)

        assert pair.host.waiter.wait(completion(5), timeout_seconds=0)

    def test_a_wait_ends_with_its_status_when_the_ring_stops(self, pair: LinkPair) -> None:
        pair.device.segment.words.store32(PLAN.ring_pool_offset + COMPLETION_STATUS, 23)

        assert not pair.host.waiter.wait(completion(5), timeout_seconds=0)

    def test_a_wait_that_only_looks_times_out_at_once(self, pair: LinkPair) -> None:
        with pytest.raises(TimeoutError, match="holds 0x0, expected 0x5"):
            pair.host.waiter.wait(completion(5), timeout_seconds=0)

    def test_a_wait_for_an_index_passes_the_wrap(self, pair: LinkPair) -> None:
        tail = PLAN.reply_ring_offset + TAIL
        wait = WordWait(tail, 0xFFFF_FFFF, PLAN.reply_ring_offset + CONSUMER_SLEEPERS, wide=False)
        pair.device.segment.words.store32(tail, 3)

        assert pair.host.waiter.wait(wait, timeout_seconds=0)

        pair.device.segment.words.store32(tail, 0xFFFF_FFFE)
        with pytest.raises(TimeoutError):
            pair.host.waiter.wait(wait, timeout_seconds=0)

    # Descriptors

    def test_a_memory_file_crosses_with_its_request_number(self, pair: LinkPair) -> None:
        descriptor = create_sealed("crossing", 4096)
        os.pwrite(descriptor, b"content", 0)

        pair.device.carrier.send(note(3, 1, object_id=9), [descriptor])
        os.close(descriptor)
        received = pair.host.carrier.take(3)

        assert received is not None
        assert received.note == note(3, 1, object_id=9)
        with received.descriptors:
            assert os.pread(received.descriptors.peek(), 7, 0) == b"content"

    def test_messages_are_taken_in_any_order_and_only_once(self, pair: LinkPair) -> None:
        with Path(os.devnull).open() as file:
            for request in (1, 2, 3):
                pair.host.carrier.send(note(request, 1), [file.fileno()])

        taken = [pair.device.carrier.take(request) for request in (3, 1, 4, 1, 2)]

        requests = [None if item is None else item.note.request for item in taken]
        assert requests == [3, 1, None, None, 2]
        for item in taken:
            if item is not None:
                item.descriptors.close()

    def test_a_note_that_tells_another_number_is_refused(self, pair: LinkPair) -> None:
        with Path(os.devnull).open() as file:
            pair.host.carrier.send(note(1, 2), [file.fileno()])

        with pytest.raises(ContractError, match="1 descriptors with request 1, its note tells 2"):
            pair.device.carrier.take(1)

    def test_a_request_number_that_comes_twice_is_refused(self, pair: LinkPair) -> None:
        for _ in range(2):
            pair.host.carrier.send(note(1, 0), [])

        with pytest.raises(ContractError, match="sent twice"):
            pair.device.carrier.take(2)

    def test_no_descriptor_is_left_by_what_nobody_took(self, pair: LinkPair) -> None:
        before = descriptor_count()
        with Path(os.devnull).open() as file:
            pair.host.carrier.send(note(1, 1), [file.fileno()])
            pair.host.carrier.send(note(2, 1), [file.fileno()])
        assert pair.device.carrier.take(3) is None

        pair.device.carrier.close()

        assert descriptor_count() == before

    # Death

    def test_both_ends_live_until_one_closes(self, pair: LinkPair) -> None:
        assert pair.device.peer.lost() == pair.host.peer.lost() == ""
        pair.host.liveness.check()
        assert pair.host.peer.pid == os.getpid()

        pair.host.close()

        assert pair.device.peer.lost()
        with pytest.raises(LinkLost):
            pair.device.peer.check()
        with pytest.raises(LinkLost):
            pair.device.carrier.send(note(1, 0), [])

    @pytest.mark.parametrize(
        "status",
        [
            DeviceStatus.build(phase=Phase.HALTED),
            DeviceStatus.build(phase=Phase.RUNNING, client_lost=1),
        ],
        ids=["halted", "session ended"],
    )
    def test_the_driver_learns_that_the_device_serves_it_no_more(
        self, pair: LinkPair, status: int
    ) -> None:
        pair.device.segment.words.store32(PLAN.registers_offset + STATUS.offset, status)

        with pytest.raises(LinkLost, match="ended the session"):
            pair.host.liveness.check()

    def test_closing_twice_does_nothing_more(self, pair: LinkPair) -> None:
        for _ in range(2):
            pair.host.close()
            pair.device.close()


def note(request: int, count: int, *, object_id: int = 0) -> DescriptorNote:
    return DescriptorNote(request=request, count=count, object_id=object_id, size_bytes=4096)


def reply_notice(old: int, new: int) -> Stored:
    ring = PLAN.reply_ring_offset
    return Stored(ring + TAIL, ring + CONSUMER_SLEEPERS, ring + TAIL_EVENT, old, new)


def completion(target: int) -> WordWait:
    """Wait for a command of the work ring that stands first in the pool."""
    ring = PLAN.ring_pool_offset
    return WordWait(
        ring + COMPLETED,
        target,
        ring + COMPLETION_SLEEPERS,
        status=ring + COMPLETION_STATUS,
    )


def descriptor_count() -> int:
    """Return how many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
