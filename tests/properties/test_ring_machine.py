"""Both ends of a ring against a list, from any starting index and across the wrap of u32."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from firmware.abi.rings import HEAD, HEAD_EVENT, TAIL, TAIL_EVENT, U32_MASK, needs_notify
from firmware.link.errors import BadHead, BadTail, RingEmpty, RingFull
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import RingShape, format_ring

ENTRY = 64
STARTS = st.one_of(
    st.integers(0, 3),
    st.integers(U32_MASK - 12, U32_MASK),
    st.integers(0, U32_MASK),
)


class RingMachine(RuleBasedStateMachine):
    """The oracle is three lists: entries put, visible to the consumer, and room given back."""

    @initialize(start=STARTS, order=st.integers(0, 4))
    def make(self, start: int, order: int) -> None:
        self.shape = RingShape(1 << order, ENTRY)
        self.view = memoryview(bytearray(self.shape.size))
        format_ring(self.view, 0, self.shape)
        self.words = self.view.cast("I")
        self.words[TAIL >> 2] = self.words[HEAD >> 2] = start
        self.producer = Producer(self.view, 0, self.shape, start=start)
        self.consumer = Consumer(self.view, 0, self.shape, start=start)
        self.number = 0
        self.hidden: list[bytes] = []
        """Put, not published."""
        self.visible: list[bytes] = []
        """Published, not taken."""
        self.owed = 0
        """Taken, room not given back."""
        self.known = 0

    def entries(self, count: int) -> list[bytes]:
        """Return new entries, each with its number all over it."""
        made = [(self.number + index).to_bytes(8, "little") * 8 for index in range(count)]
        self.number += count
        return made

    @property
    def room(self) -> int:
        return self.shape.entry_count - len(self.hidden) - len(self.visible) - self.owed

    @rule()
    def put(self) -> None:
        (entry,) = self.entries(1)
        if self.room == 0:
            with pytest.raises(RingFull):
                self.producer.put(entry)
            return
        self.producer.put(entry)
        self.hidden.append(entry)

    @rule(count=st.integers(0, 20))
    def put_many(self, count: int) -> None:
        made = self.entries(count)
        if count > self.room:
            with pytest.raises(RingFull):
                self.producer.put_many(b"".join(made))
            return
        assert self.producer.put_many(b"".join(made)) == count
        self.hidden += made

    @rule()
    def publish(self) -> None:
        old, new = self.producer.publish()

        assert (new - old) & U32_MASK == len(self.hidden)
        self.visible += self.hidden
        self.hidden = []

    @rule()
    def look(self) -> None:
        self.known = self.consumer.available()

        assert self.known == len(self.visible)

    @rule()
    def fetch(self) -> None:
        if self.known == 0:
            with pytest.raises(RingEmpty):
                self.consumer.fetch()
            return
        assert self.consumer.fetch() == self.visible.pop(0)
        self.known -= 1
        self.owed += 1

    @rule(count=st.integers(1, 20))
    def peek_and_retire(self, count: int) -> None:
        if count > self.known:
            with pytest.raises(RingEmpty):
                self.consumer.peek(count)
            with pytest.raises(RingEmpty):
                self.consumer.retire(count)
            return
        assert self.consumer.peek(count) == b"".join(self.visible[:count])
        self.consumer.retire(count)
        del self.visible[:count]
        self.known -= count
        self.owed += count

    @rule()
    def give_room_back(self) -> None:
        old, new = self.consumer.publish_head()

        assert (new - old) & U32_MASK == self.owed
        self.owed = 0

    @rule(count=st.integers(1, 16))
    def armed_consumer_is_told_of_the_next_entry_only(self, count: int) -> None:
        if self.visible or self.hidden or self.room < count:
            return
        self.consumer.arm()
        self.put_many(count)
        event = self.words[TAIL_EVENT >> 2]
        old, new = self.producer.publish()
        assert needs_notify(event, new, old)

        self.visible, self.hidden = self.hidden, []
        self.consumer.disarm()
        assert not needs_notify(self.words[TAIL_EVENT >> 2], new, old)

    @precondition(lambda self: self.known > 0)
    @rule()
    def armed_producer_is_told_when_there_is_room(self) -> None:
        wanted = self.room + self.owed + self.known
        self.producer.arm(wanted)
        event = self.words[HEAD_EVENT >> 2]
        self.consumer.retire(self.known - 1)
        early = self.consumer.publish_head()
        self.consumer.retire(1)
        late = self.consumer.publish_head()

        assert not needs_notify(event, early[1], early[0])
        assert needs_notify(event, late[1], late[0])
        assert self.producer.free == wanted
        del self.visible[: self.known]
        self.known = self.owed = 0

    @rule(excess=st.integers(1, 1 << 31))
    def tail_too_far_ahead_is_refused_and_forgotten(self, excess: int) -> None:
        honest = self.words[TAIL >> 2]
        far = self.shape.entry_count + excess
        self.words[TAIL >> 2] = (self.consumer.head + far) & U32_MASK
        with pytest.raises(BadTail):
            self.consumer.available()
        self.words[TAIL >> 2] = honest

        self.look()

    @rule(excess=st.integers(1, 1 << 31))
    def head_beyond_the_tail_is_refused(self, excess: int) -> None:
        honest = self.words[HEAD >> 2]
        self.words[HEAD >> 2] = (self.producer.tail + excess) & U32_MASK
        with pytest.raises(BadHead):
            _ = self.producer.free
        self.words[HEAD >> 2] = honest

    @invariant()
    def both_see_the_same_room(self) -> None:
        if hasattr(self, "producer"):
            assert self.producer.free == self.room


RingMachine.TestCase.settings = settings(stateful_step_count=60)
TestRing = RingMachine.TestCase


@pytest.mark.case("D07")
@pytest.mark.parametrize("start", [0, U32_MASK - 5, U32_MASK])
def test_a_thousand_entries_pass_in_order_across_the_wrap(start: int) -> None:
    shape = RingShape(8, ENTRY)
    view = memoryview(bytearray(shape.size))
    format_ring(view, 0, shape)
    view.cast("I")[TAIL >> 2] = view.cast("I")[HEAD >> 2] = start
    producer = Producer(view, 0, shape, start=start)
    consumer = Consumer(view, 0, shape, start=start)

    seen: list[int] = []
    for first in range(0, 1000, 5):
        producer.put_many(b"".join(n.to_bytes(ENTRY, "little") for n in range(first, first + 5)))
        producer.publish()
        assert consumer.available() == 5
        seen += [int.from_bytes(consumer.fetch(), "little") for _ in range(5)]
        consumer.publish_head()

    assert seen == list(range(1000))
    assert consumer.head == (start + 1000) & U32_MASK
