"""Who is told of a store: one fence, then exactly those who asked."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from firmware.abi.ids import Feature
from firmware.abi.registers import DEVICE_ASLEEP
from firmware.abi.rings import TAIL_EVENT, U32_MASK, needs_notify
from firmware.link.bells import CallBell
from firmware.link.compiled import compiled
from firmware.link.linux import futex_wait
from firmware.link.notify import Doorbells, Notifier
from firmware.link.ringshape import format_ring
from firmware.link.segment import Segment
from firmware.link.sleep import may_sleep
from firmware.link.waiting import FutexWaiter, WordWait
from tests.harness.link_conformance import Stored
from tests.harness.link_pairs import PLAN
from tests.link.test_layout import BLOCK

if TYPE_CHECKING:
    from firmware.link.compiled import MakeRinger, MakeTeller

WORD, SLEEPERS, EVENT = 0x100, 0x104, 0x108
RING = PLAN.ring_pool_offset
MODULE = compiled()
RINGER = None if MODULE is None else MODULE.Ringer
TELLER = None if MODULE is None else MODULE.Teller
compiled_only = pytest.mark.skipif(RINGER is None, reason="nothing can be compiled here")
ringers = pytest.mark.parametrize(
    "ringer",
    [pytest.param(RINGER, marks=compiled_only, id="compiled"), pytest.param(None, id="plain")],
)
tellers = pytest.mark.parametrize(
    "teller",
    [pytest.param(TELLER, marks=compiled_only, id="compiled"), pytest.param(None, id="plain")],
)


class Recorder:
    """Counts fences, wakes and rings in order."""

    def __init__(self) -> None:
        self.segment = Segment.in_process(PLAN.size)
        self.trace: list[str] = []
        self.bell = CallBell(lambda: self.trace.append("ring"))
        self.notifier = Notifier(
            self.segment, self.bell, wake=self.wake, fence=lambda: self.trace.append("fence")
        )
        self.doorbells = Doorbells(
            self.segment.words, BLOCK, self.bell, fence=lambda: self.trace.append("fence")
        )

    def wake(self, address: int) -> int:
        self.trace.append(f"wake {address - self.segment.address:#x}")
        return 1


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_nobody_is_told_who_did_not_ask(recorder: Recorder) -> None:
    recorder.segment.words.store32(EVENT, 5)

    recorder.notifier.notify([Stored(WORD, SLEEPERS), Stored(WORD, SLEEPERS, EVENT, 0, 3)])

    assert recorder.trace == ["fence"]


def test_sleepers_are_woken_on_their_word(recorder: Recorder) -> None:
    recorder.segment.words.store32(SLEEPERS, 2)

    recorder.notifier.notify([Stored(WORD, SLEEPERS)])

    assert recorder.trace == ["fence", f"wake {WORD:#x}"]


def test_a_list_of_notices_costs_one_fence_and_one_ring(recorder: Recorder) -> None:
    recorder.segment.words.store32(SLEEPERS, 1)
    recorder.segment.words.store32(EVENT, 1)

    recorder.notifier.notify(
        [
            Stored(WORD, SLEEPERS, EVENT, 0, 1),
            Stored(WORD + 64, SLEEPERS, EVENT, 1, 2),
            Stored(WORD + 128, SLEEPERS, force=True),
        ]
    )

    assert recorder.trace == ["fence", "wake 0x100", "wake 0x140", "wake 0x180", "ring"]


@pytest.mark.parametrize(
    ("event", "told"), [(0, True), (2, True), (3, False), (0xFFFF_FFFF, False)]
)
def test_the_bell_rings_when_the_index_passes_the_event(
    recorder: Recorder, event: int, told: bool
) -> None:
    recorder.segment.words.store32(EVENT, event)

    rang = recorder.notifier.notify([Stored(WORD, SLEEPERS, EVENT, 0, 3)])

    assert ("ring" in recorder.trace) == rang == told


def test_the_doorbell_word_is_stored_before_the_fence(recorder: Recorder) -> None:
    format_ring(recorder.segment.view, RING, PLAN.reply_ring)
    recorder.segment.words.store32(RING + TAIL_EVENT, 100)
    at_fence: list[int] = []
    doorbells = Doorbells(
        recorder.segment.words,
        BLOCK,
        recorder.bell,
        fence=lambda: at_fence.append(recorder.segment.words.load32(PLAN.doorbells_offset + 8)),
    )

    rang = doorbells.ring(2, RING, 0, 7)

    assert at_fence == [7]
    assert not rang


@pytest.mark.parametrize(
    ("asleep", "event", "rang"), [(0, 100, False), (1, 100, True), (0, 0, True), (1, 0, True)]
)
def test_the_device_is_rung_when_it_sleeps_or_armed_the_ring(
    recorder: Recorder, asleep: int, event: int, rang: bool
) -> None:
    words = recorder.segment.words
    words.store32(RING + TAIL_EVENT, event)
    words.store32(PLAN.registers_offset + DEVICE_ASLEEP.offset, asleep)

    assert recorder.doorbells.ring(1, RING, 0, 1) == rang

    assert recorder.trace == (["fence", "ring"] if rang else ["fence"])


def test_a_poke_always_rings(recorder: Recorder) -> None:
    recorder.doorbells.poke()

    assert recorder.trace == ["fence", "ring"]


# Going to sleep


@pytest.mark.parametrize("waits", [False, True])
def test_a_device_that_armed_looks_behind_a_fence_before_it_sleeps(waits: bool) -> None:
    trace: list[str] = []

    def work_waits() -> bool:
        trace.append("look")
        return waits

    sleeps = may_sleep(lambda: trace.append("arm"), work_waits, fence=lambda: trace.append("fence"))

    assert trace == ["arm", "fence", "look"]
    assert sleeps is not waits


def test_a_client_without_event_indices_is_told_of_everything(recorder: Recorder) -> None:
    notifier = Notifier(recorder.segment, recorder.bell, event_index=False)
    recorder.segment.words.store32(EVENT, 100)

    assert notifier.notify([Stored(WORD, SLEEPERS, EVENT, 8, 9)])

    assert recorder.trace == ["ring"]


@ringers
def test_a_device_without_event_indices_is_rung_for_everything(
    recorder: Recorder, ringer: MakeRinger | None
) -> None:
    block = msgspec.structs.replace(BLOCK, features=Feature(0))
    doorbells = Doorbells(recorder.segment.words, block, recorder.bell, ringer=ringer)
    recorder.segment.words.store32(RING + TAIL_EVENT, 100)

    assert doorbells.ring(1, RING, 8, 9)

    assert recorder.trace == ["ring"]


# Ringing, compiled or not


def doorbells_of(recorder: Recorder, ringer: MakeRinger | None) -> Doorbells:
    return Doorbells(recorder.segment.words, BLOCK, recorder.bell, ringer=ringer)


@ringers
@pytest.mark.parametrize("asleep", [0, 1])
@pytest.mark.parametrize(
    ("event", "old", "new"),
    [(100, 0, 1), (0, 0, 1), (2, 0, 3), (3, 0, 3), (U32_MASK, 0, 1), (U32_MASK, U32_MASK, 1)],
)
def test_who_rings_follows_the_rule_of_the_event_index(
    recorder: Recorder, ringer: MakeRinger | None, asleep: int, event: int, old: int, new: int
) -> None:
    words = recorder.segment.words
    words.store32(RING + TAIL_EVENT, event)
    words.store32(PLAN.registers_offset + DEVICE_ASLEEP.offset, asleep)

    rang = doorbells_of(recorder, ringer).ring(3, RING, old, new)

    assert rang == bool(asleep or needs_notify(event, new, old))
    assert recorder.trace == ["ring"] * rang
    assert words.load32(PLAN.doorbells_offset + 12) == new


@ringers
def test_an_error_of_the_bell_is_told(recorder: Recorder, ringer: MakeRinger | None) -> None:
    def fail() -> None:
        raise OSError("no bell")

    recorder.segment.words.store32(PLAN.registers_offset + DEVICE_ASLEEP.offset, 1)
    doorbells = Doorbells(recorder.segment.words, BLOCK, CallBell(fail), ringer=ringer)

    with pytest.raises(OSError, match="no bell"):
        doorbells.ring(1, RING, 0, 1)


@ringers
def test_a_segment_that_was_given_up_is_not_rung(
    recorder: Recorder, ringer: MakeRinger | None
) -> None:
    doorbells = doorbells_of(recorder, ringer)
    recorder.segment.close()

    with pytest.raises(ValueError, match="released memoryview"):
        doorbells.ring(1, RING, 0, 1)


@compiled_only
@pytest.mark.parametrize(("doorbell", "ring"), [(1 << 20, RING), (1, PLAN.size), (1, 1)])
def test_words_outside_of_the_segment_are_not_rung(
    recorder: Recorder, doorbell: int, ring: int
) -> None:
    with pytest.raises(ValueError, match="no word at 0x"):
        doorbells_of(recorder, RINGER).ring(doorbell, ring, 0, 1)


# Telling, compiled or not


def notifier_of(recorder: Recorder, teller: MakeTeller | None, *, always: bool = False) -> Notifier:
    return Notifier(recorder.segment, recorder.bell, event_index=not always, teller=teller)


@tellers
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("event", "old", "new"),
    [(0, 0, 3), (2, 0, 3), (3, 0, 3), (U32_MASK, 0, 3), (U32_MASK, U32_MASK, 1), (5, 5, 5)],
)
def test_who_tells_follows_the_rule_of_the_event_index(
    recorder: Recorder, teller: MakeTeller | None, force: bool, event: int, old: int, new: int
) -> None:
    recorder.segment.words.store32(EVENT, event)

    rang = notifier_of(recorder, teller).notify(
        [Stored(WORD, SLEEPERS), Stored(WORD, SLEEPERS, EVENT, old, new, force)]
    )

    assert rang == (force or needs_notify(event, new, old))
    assert recorder.trace == ["ring"] * rang


@tellers
def test_a_client_that_agreed_on_no_event_index_hears_all(
    recorder: Recorder, teller: MakeTeller | None
) -> None:
    assert notifier_of(recorder, teller, always=True).notify([Stored(WORD, SLEEPERS)])

    assert recorder.trace == ["ring"]


@tellers
def test_those_who_sleep_on_each_word_are_woken(
    recorder: Recorder, teller: MakeTeller | None
) -> None:
    words = recorder.segment.words
    notifier = notifier_of(recorder, teller)
    waits = [WordWait(at, 1, at + 8) for at in (0x200, 0x240)]
    waiter = FutexWaiter(recorder.segment, lambda: None, sleep=patiently)
    threads = [threading.Thread(target=waiter.wait, args=(wait,)) for wait in waits]
    for thread in threads:
        thread.start()
    for wait in waits:
        while not words.load32(wait.sleepers):
            os.sched_yield()
        words.store64(wait.word, 1)

    assert not notifier.notify([Stored(wait.word, wait.sleepers) for wait in waits])

    for thread in threads:
        thread.join()
    assert recorder.trace == []


def patiently(address: int, expected: int, _: float) -> bool:
    """Sleep until somebody wakes us: a wake-up that is lost is not found by a nap's end."""
    return futex_wait(address, expected, 3600.0)


@tellers
def test_an_error_of_the_interrupt_is_told(recorder: Recorder, teller: MakeTeller | None) -> None:
    def fail() -> None:
        raise OSError("no interrupt")

    notifier = Notifier(recorder.segment, CallBell(fail), teller=teller)

    with pytest.raises(OSError, match="no interrupt"):
        notifier.notify([Stored(WORD, SLEEPERS, force=True)])


@compiled_only
@pytest.mark.parametrize(
    "stored",
    [Stored(PLAN.size, SLEEPERS), Stored(WORD, PLAN.size), Stored(WORD, SLEEPERS, PLAN.size)],
)
def test_words_outside_of_the_segment_are_not_told_of(recorder: Recorder, stored: Stored) -> None:
    with pytest.raises(ValueError, match="no word at 0x"):
        notifier_of(recorder, TELLER).notify([stored])


@compiled_only
def test_what_is_no_notice_is_refused(recorder: Recorder) -> None:
    with pytest.raises(AttributeError, match="word"):
        notifier_of(recorder, TELLER).notify([object()])  # type: ignore[list-item]
