"""No wake-up is lost, in any interleaving of the real code on processors with store buffers.

Each proof is followed by one that leaves a fence or the order out and must find a lost wake-up: it
shows that the model has teeth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from firmware.abi.rings import CONSUMER_SLEEPERS, TAIL, TAIL_EVENT
from firmware.abi.segment import FENCE_DEVICE_WAITS, FENCE_HOST_SLEEPERS, FENCE_VALUE
from firmware.link.handshake import say_hello
from firmware.link.notify import Doorbells, Notifier
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import RingShape
from firmware.link.sleep import may_sleep
from firmware.link.waiting import FutexWaiter, WordWait
from hostdriver.runtime.slots import JoinedSlots
from tests.harness.link_conformance import Stored
from tests.harness.link_pairs import PLAN, agree_on, store_asleep
from tests.harness.store_buffers import ScriptedBell, ScriptedMemory, explore

if TYPE_CHECKING:
    from firmware.link.segment import Segment
    from firmware.link.waiting import Waiter
    from firmware.link.words import Words

RING = 0x1000
SHAPE = RingShape(4, 8)
QUIET = {RING + TAIL_EVENT: 0xFFFF_FFFF}
"""A consumer that asks for no notice through its event index."""
AGREEMENT = agree_on(say_hello("model").pack())
BLOCK = PLAN.superblock(
    abi_minor=AGREEMENT.abi_minor,
    features=AGREEMENT.features,
    device_index=0,
    emulator_id=1,
    client_id=1,
)
"""Only its offsets are used."""


def driver(memory: ScriptedMemory, *, fenced: bool = True, entries: int = 1) -> None:
    """Put entries, publish each, ring the doorbell as a driver does."""
    words = memory.words()
    producer = Producer(words, RING, SHAPE)
    fence = memory.fence if fenced else memory.no_fence
    doorbells = Doorbells(words, BLOCK, ScriptedBell(memory, "doorbell"), fence=fence)
    for number in range(entries):
        producer.put(entry(number))
        old, new = producer.publish()
        doorbells.ring(1, RING, old, new)


def device(
    memory: ScriptedMemory,
    *,
    fenced: bool = True,
    entries: int = 1,
    look_first: bool = False,
) -> None:
    """Take entries as a device does that sleeps whenever it may."""
    words = memory.words()
    consumer = Consumer(words, RING, SHAPE)
    bell = ScriptedBell(memory, "doorbell")
    fence = memory.fence if fenced else memory.no_fence
    taken = 0

    def arm() -> None:
        store_asleep(words, asleep=True)

    def waits() -> bool:
        return consumer.available() > 0

    while taken < entries:
        while consumer.available():
            assert consumer.fetch() == entry(taken)
            taken += 1
        if taken == entries:
            return

        if look_first:
            sleeps = not waits()
            arm()
        else:
            sleeps = may_sleep(arm, waits, fence=fence)
        if sleeps:
            memory.await_bell("doorbell")
            bell.clear()
        store_asleep(words, asleep=False)


def entry(number: int) -> bytes:
    return (number + 1).to_bytes(8, "little")


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_no_doorbell_is_lost_by_a_device_that_goes_to_sleep(entries: int) -> None:
    found = explore(
        lambda memory: driver(memory, entries=entries),
        lambda memory: device(memory, entries=entries),
        memory=QUIET,
    )

    assert not found.lost_wake_up
    assert found.states > 150


@pytest.mark.parametrize(
    ("driver_fenced", "device_fenced"), [(False, True), (True, False), (False, False)]
)
def test_without_either_fence_a_doorbell_can_be_lost(
    driver_fenced: bool, device_fenced: bool
) -> None:
    found = explore(
        lambda memory: driver(memory, fenced=driver_fenced),
        lambda memory: device(memory, fenced=device_fenced),
        memory=QUIET,
    )

    assert found.lost_wake_up


def test_a_device_that_arms_after_its_last_look_can_lose_a_doorbell() -> None:
    found = explore(driver, lambda memory: device(memory, look_first=True), memory=QUIET)

    assert found.lost_wake_up


def listener(memory: ScriptedMemory, *, fenced: bool = True) -> None:
    """Sleep on the interrupt by the event index of a ring, as a driver with a poll loop does."""
    consumer = Consumer(memory.words(), RING, SHAPE)
    bell = ScriptedBell(memory, "interrupt")
    while not consumer.available():
        consumer.arm()
        if fenced:
            memory.fence()
        if not consumer.available():
            memory.await_bell("interrupt")
            bell.clear()


def answerer(memory: ScriptedMemory, *, fenced: bool = True) -> None:
    """Put an entry and tell the driver as the device's shell does."""
    words = memory.words()
    producer = Producer(words, RING, SHAPE)
    producer.put(entry(0))
    old, new = producer.publish()
    notice = Stored(RING + TAIL, RING + CONSUMER_SLEEPERS, RING + TAIL_EVENT, old, new)
    notifier_for(memory, words, fenced=fenced).notify([notice])


def notifier_for(memory: ScriptedMemory, words: Words, *, fenced: bool) -> Notifier:
    return Notifier(
        cast("Segment", ScriptedSegment(words)),
        ScriptedBell(memory, "interrupt"),
        wake=memory.futex_wake,
        fence=memory.fence if fenced else memory.no_fence,
    )


@dataclass
class ScriptedSegment:
    words: Words
    address: int = 0


def test_no_interrupt_is_lost_by_a_driver_that_arms_the_event_index() -> None:
    found = explore(listener, answerer, memory=QUIET)

    assert not found.lost_wake_up


@pytest.mark.parametrize(
    ("listener_fenced", "answerer_fenced"), [(False, True), (True, False), (False, False)]
)
def test_without_either_fence_an_interrupt_can_be_lost(
    listener_fenced: bool, answerer_fenced: bool
) -> None:
    found = explore(
        lambda memory: listener(memory, fenced=listener_fenced),
        lambda memory: answerer(memory, fenced=answerer_fenced),
        memory=QUIET,
    )

    assert found.lost_wake_up


WORD, COUNT = 0x40, 0x4C
WAIT = WordWait(WORD, 2, COUNT)


def waiter(memory: ScriptedMemory) -> None:
    """Wait for the value 2 as a driver's thread does."""
    segment = cast("Segment", ScriptedSegment(memory.words()))
    sleeper = FutexWaiter(segment, lambda: None, sleep=memory.futex_wait, fence=memory.fence)
    assert sleeper.wait(WAIT)


def raiser(memory: ScriptedMemory, *, fenced: bool = True) -> None:
    """Raise the value to 1 and to 2 as the device does."""
    words = memory.words()
    notifier = notifier_for(memory, words, fenced=fenced)
    for value in (1, 2):
        words.u64[WORD >> 3] = value
        notifier.notify([Stored(WORD, COUNT)])


def test_no_wake_up_of_a_futex_is_lost() -> None:
    found = explore(waiter, raiser)

    assert not found.lost_wake_up


def test_without_the_fence_of_the_raiser_a_wake_up_can_be_lost() -> None:
    found = explore(waiter, lambda memory: raiser(memory, fenced=False))

    assert found.lost_wake_up


def test_a_waiter_that_loads_the_expected_value_again_can_sleep_for_ever() -> None:
    def careless(memory: ScriptedMemory) -> None:
        words = memory.words()
        words.u32[COUNT >> 2] = 1
        memory.fence()
        while words.u64[WORD >> 3] < 2:
            memory.futex_wait(WORD, words.u64[WORD >> 3], 1.0)

    found = explore(careless, raiser)

    assert found.lost_wake_up


SLOT = 0
FENCE_VALUE_AT, SLEEPERS_AT = FENCE_VALUE, FENCE_HOST_SLEEPERS


def host_signaller(memory: ScriptedMemory, *, fenced: bool = True) -> None:
    """Signal a fence slot as a driver does, for sleepers of other processes and for queues."""
    words = memory.words()
    bell = ScriptedBell(memory, "doorbell")
    slots = JoinedSlots(
        cast("Segment", ScriptedSegment(words)),
        cast("Waiter", None),
        Doorbells(words, BLOCK, bell, fence=memory.fence),
        wake=memory.futex_wake,
        fence=memory.fence if fenced else memory.no_fence,
    )
    slots.signal(SLOT, 1)


def queue_that_waits(memory: ScriptedMemory, *, fenced: bool = True) -> None:
    """Hold a queue as a device does: say so in the slot, look, and sleep when it may."""
    words = memory.words()
    bell = ScriptedBell(memory, "doorbell")
    words.u32[FENCE_DEVICE_WAITS >> 2] = 1

    def arm() -> None:
        store_asleep(words, asleep=True)

    def reached() -> bool:
        return words.u64[FENCE_VALUE_AT >> 3] >= 1

    while not reached():
        if may_sleep(arm, reached, fence=memory.fence if fenced else memory.no_fence):
            memory.await_bell("doorbell")
            bell.clear()
        store_asleep(words, asleep=False)


def test_no_signal_of_a_host_is_lost_by_a_device_that_goes_to_sleep() -> None:
    found = explore(host_signaller, queue_that_waits)

    assert not found.lost_wake_up
    assert found.states > 50


@pytest.mark.parametrize(("host_fenced", "device_fenced"), [(False, True), (True, False)])
def test_without_either_fence_a_signal_for_a_queue_can_be_lost(
    host_fenced: bool, device_fenced: bool
) -> None:
    found = explore(
        lambda memory: host_signaller(memory, fenced=host_fenced),
        lambda memory: queue_that_waits(memory, fenced=device_fenced),
    )

    assert found.lost_wake_up


class AtomicCounts:
    """Counts sleepers as the kernel's addition does: the store is visible before anything else."""

    def __init__(self, memory: ScriptedMemory) -> None:
        self._memory = memory
        self._words = memory.words()

    def add(self, counter: int, change: int) -> None:
        # One sleeper in this model: there is nobody whose addition could be lost.
        self._words.u32[counter >> 2] = max(0, change)
        self._memory.fence()

    def total(self) -> int:
        return 0

    def check(self) -> None:
        pass


def sleeper_of_a_slot(memory: ScriptedMemory) -> None:
    """Wait for a slot as a thread of another process does."""
    segment = cast("Segment", ScriptedSegment(memory.words()))
    waiting = FutexWaiter(
        segment,
        lambda: None,
        sleepers=AtomicCounts(memory),
        sleep=memory.futex_wait,
        fence=memory.fence,
    )
    assert waiting.wait(WordWait(FENCE_VALUE_AT, 1, SLEEPERS_AT))


def test_no_signal_of_a_host_is_lost_by_a_thread_of_another_process() -> None:
    found = explore(host_signaller, sleeper_of_a_slot)

    assert not found.lost_wake_up


def test_without_its_fence_a_host_can_miss_a_sleeper() -> None:
    found = explore(lambda memory: host_signaller(memory, fenced=False), sleeper_of_a_slot)

    assert found.lost_wake_up
