"""A ring against a list, in any order of operations, from any index."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from firmware.abi.rings import HEAD_EVENT, TAIL_EVENT, U32_MASK, needs_notify
from firmware.link.errors import RingFull
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import RingShape, format_ring

ENTRIES = st.integers(0, 2**64 - 1)


def packed(numbers: list[int]) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


class RingMachine(RuleBasedStateMachine):
    """The oracle is three lists: put, published, and taken but not given back."""

    @initialize(
        power=st.integers(0, 5), start=st.sampled_from([0, 1, 31, U32_MASK, U32_MASK - 7, 1 << 31])
    )
    def make(self, power: int, start: int) -> None:
        shape = RingShape(1 << power, 8)
        view = memoryview(bytearray(shape.size))
        format_ring(view, 0, shape)
        self.size = shape.entry_count
        self.producer = Producer(view, 0, shape, start=start)
        self.consumer = Consumer(view, 0, shape, start=start)
        # What start means for the words: both ends published it.
        self.producer.words.store32(0x00, start)
        self.producer.words.store32(0x40, start)
        self.put: list[int] = []
        self.published: list[int] = []
        self.held = 0
        self.heads_until_told = 0
        self.consumer_armed = False
        self.consumer.disarm()
        self.producer.disarm()

    def used(self) -> int:
        return len(self.put) + len(self.published) + self.held

    @rule(number=ENTRIES)
    def put_one(self, number: int) -> None:
        if self.used() == self.size:
            with pytest.raises(RingFull):
                self.producer.put(packed([number]))
        else:
            self.producer.put(packed([number]))
            self.put.append(number)

    @rule(numbers=st.lists(ENTRIES, max_size=40))
    def put_many(self, numbers: list[int]) -> None:
        if self.used() + len(numbers) > self.size:
            with pytest.raises(RingFull):
                self.producer.put_many(packed(numbers))
        else:
            assert self.producer.put_many(packed(numbers)) == len(numbers)
            self.put += numbers

    @rule()
    def publish(self) -> None:
        old, new = self.producer.publish()
        told = needs_notify(self.consumer.words.load32(TAIL_EVENT), new, old)

        assert (new - old) & U32_MASK == len(self.put)
        assert told == (self.consumer_armed and bool(self.put))
        self.consumer_armed = self.consumer_armed and not told
        self.published += self.put
        self.put = []

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        assert self.consumer.available() == len(self.published)
        count = data.draw(st.integers(0, len(self.published)))
        wanted = packed(self.published[:count])
        if data.draw(st.booleans()):
            assert self.consumer.peek(count) == wanted
            self.consumer.retire(count)
        else:
            assert b"".join(self.consumer.fetch() for _ in range(count)) == wanted
        del self.published[:count]
        self.held += count

    @rule()
    def give_back(self) -> None:
        old, new = self.consumer.publish_head()
        told = needs_notify(self.producer.words.load32(HEAD_EVENT), new, old)

        assert (new - old) & U32_MASK == self.held
        assert told == (0 < self.heads_until_told <= self.held)
        self.heads_until_told = 0 if told else max(0, self.heads_until_told - self.held)
        self.held = 0

    @precondition(lambda self: self.used() > 0)
    @rule(data=st.data())
    def arm_producer(self, data: st.DataObject) -> None:
        free = self.producer.free
        room = data.draw(st.integers(free + 1, self.size))
        self.producer.arm(room)
        self.heads_until_told = room - free

    @precondition(lambda self: not self.published)
    @rule()
    def arm_consumer(self) -> None:
        assert self.consumer.available() == 0
        self.consumer.arm()
        self.consumer_armed = True

    @invariant()
    def both_ends_are_sound(self) -> None:
        self.producer.check()
        self.consumer.check()

    @precondition(lambda self: not self.put and not self.published and not self.held)
    @rule()
    def begin_again(self) -> None:
        self.producer.restart()
        self.consumer.restart()
        self.consumer.disarm()
        self.producer.disarm()
        self.consumer_armed = False
        self.heads_until_told = 0

    @invariant()
    def room_is_exact(self) -> None:
        assert self.producer.free == self.size - self.used()


TestRing = RingMachine.TestCase
