"""Slots used without a question: the compiled one and the one in Python do the same."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from typing import TYPE_CHECKING

import pytest

from firmware.abi.segment import (
    FENCE_DEVICE_WAITS,
    FENCE_HOST_SLEEPERS,
    FENCE_STATUS,
    FENCE_VALUE,
    FenceSlot,
)
from firmware.link.compiled import compiled_slots
from firmware.link.errors import LinkLost
from firmware.link.segment import Segment
from firmware.link.sleepers import SharedSleepers
from firmware.link.waiting import FutexWaiter
from hostdriver.core.slotmemory import REACHED
from hostdriver.runtime.slots import JoinedSlots
from tests.harness.children import in_child

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.core.slotmemory import DirectSlot

SLOT = 3
AT = SLOT * FenceSlot.SIZE
FOREVER = (1 << 64) - 1
MILLISECOND = 1_000_000
compiled_only = pytest.mark.skipif(compiled_slots() is None, reason="nothing can be compiled here")


class Bells:
    """Counts what a device is told."""

    def __init__(self) -> None:
        self.rung = 0

    def nudge(self) -> None:
        self.rung += 1


class Stand:
    """A pool of slots in this process, and what is told of it."""

    def __init__(self) -> None:
        self.segment = Segment.in_process(4096)
        self.words = self.segment.words
        self.bells = Bells()
        self.looks = 0
        self.lost = False
        waiter = FutexWaiter(
            self.segment,
            self.check,
            lambda: True,
            sleepers=SharedSleepers(self.segment.address),
        )
        doorbells = self.bells
        self.pool = JoinedSlots(self.segment, waiter, doorbells, check=self.check)  # type: ignore[arg-type]
        self.slot = self.pool.direct(SLOT)

    def check(self) -> None:
        self.looks += 1
        if self.lost:
            raise LinkLost("the device is gone")

    def load(self, offset: int) -> int:
        return self.words.load32(AT + offset)

    def wait_apart(self, slot: DirectSlot) -> tuple[threading.Thread, list[int]]:
        """Return a thread that waits for ever, once it sleeps, and what it will have found."""
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(slot.wait(FOREVER)))
        thread.start()
        while not self.load(FENCE_HOST_SLEEPERS):
            os.sched_yield()
        return thread, found


@pytest.fixture(name="stand", params=[pytest.param("1", marks=compiled_only), "0"])
def make_stand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Return a stand of each kind: compiled, and in Python."""
    monkeypatch.setenv("EMUZERO_COMPILED", request.param)
    return Stand()


@pytest.fixture(name="compiled")
def make_compiled() -> Stand:
    return Stand()


def test_a_slot_that_was_signalled_is_set_until_it_is_cleared(stand: Stand) -> None:
    assert not stand.slot.is_set()

    assert stand.slot.signal()
    assert stand.slot.is_set()
    assert stand.words.load64(AT + FENCE_VALUE) == 1
    assert stand.slot.wait(FOREVER) == REACHED

    stand.words.store32(AT + FENCE_STATUS, 7)
    assert stand.slot.clear()
    assert not stand.slot.is_set()
    assert (stand.load(FENCE_VALUE), stand.load(FENCE_STATUS)) == (0, 0)


def test_a_signal_touches_no_other_slot(stand: Stand) -> None:
    stand.slot.signal()

    stand.words.store64(AT + FENCE_VALUE, 0)
    assert not any(stand.segment.view)


def test_a_signal_tells_the_device_only_when_a_queue_waits(stand: Stand) -> None:
    stand.slot.signal()
    assert stand.bells.rung == 0

    stand.words.store32(AT + FENCE_DEVICE_WAITS, 2)
    stand.slot.signal()
    assert stand.bells.rung == 1


def test_a_signal_wakes_who_sleeps_by_a_question(stand: Stand) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(stand.pool.wait(SLOT, 1, None).value))
    thread.start()
    while not stand.load(FENCE_HOST_SLEEPERS):
        os.sched_yield()

    stand.slot.signal()
    thread.join()

    assert found == [1]


@pytest.mark.parametrize("limit", [0, MILLISECOND // 10, 2 * MILLISECOND, -1, 1 << 64])
def test_a_wait_in_vain_is_told_and_never_longer_than_its_limit(stand: Stand, limit: int) -> None:
    spent = stand.slot.wait(limit)

    assert spent >= 0
    assert stand.load(FENCE_HOST_SLEEPERS) == 0
    if spent:
        assert limit > 0


def test_a_status_ends_a_wait_in_vain(stand: Stand) -> None:
    stand.words.store32(AT + FENCE_STATUS, 7)

    assert stand.slot.wait(FOREVER) >= 0


def test_a_value_counts_more_than_a_status(stand: Stand) -> None:
    stand.words.store32(AT + FENCE_STATUS, 7)
    stand.slot.signal()

    assert stand.slot.wait(FOREVER) == REACHED


def test_what_was_given_up_does_nothing(stand: Stand) -> None:
    stand.slot.signal()
    stand.slot.close()

    assert not stand.slot.is_set()
    assert not stand.slot.clear()
    assert stand.slot.wait(FOREVER) == 0
    stand.words.store64(AT + FENCE_VALUE, 0)
    assert not stand.slot.signal()
    assert stand.load(FENCE_VALUE) == 0
    stand.slot.close()


def test_a_pool_gives_up_its_slots_with_its_memory(stand: Stand) -> None:
    stand.pool.close()

    assert not stand.slot.signal()
    assert not stand.slot.is_set()
    with pytest.raises(ValueError, match="released"):
        stand.segment.view.tobytes()


def test_a_slot_that_is_used_anew_gives_up_what_was_there(stand: Stand) -> None:
    anew = stand.pool.direct(SLOT)

    assert not stand.slot.signal()
    assert anew.signal()


def test_a_child_does_nothing_to_the_slot_of_its_parent(stand: Stand) -> None:
    def is_left_alone() -> bool:
        slot = stand.slot
        left = not slot.signal() and not slot.clear() and slot.wait(FOREVER) == 0
        slot.close()
        return left

    assert in_child(is_left_alone)
    assert stand.slot.signal()


# Sleeping, which only the compiled one does


@compiled_only
def test_a_thread_that_sleeps_is_woken_and_counted_while_it_waits(compiled: Stand) -> None:
    thread, found = compiled.wait_apart(compiled.slot)
    assert compiled.slot.waiters() == 1

    compiled.slot.signal()
    thread.join()

    assert found == [REACHED]
    assert compiled.slot.waiters() == 0
    assert compiled.load(FENCE_HOST_SLEEPERS) == 0


@compiled_only
def test_the_time_of_a_wait_in_vain_is_told(compiled: Stand) -> None:
    begun = time.monotonic_ns()
    spent = compiled.slot.wait(5 * MILLISECOND)

    assert 5 * MILLISECOND <= spent <= time.monotonic_ns() - begun


@compiled_only
def test_a_status_wakes_who_sleeps(compiled: Stand) -> None:
    thread, found = compiled.wait_apart(compiled.slot)

    compiled.pool.fail(SLOT, 7)
    thread.join()

    assert found[0] >= 0


@compiled_only
def test_closing_ends_waits_and_keeps_the_memory_until_they_have_left(compiled: Stand) -> None:
    memory = weakref.ref(compiled.segment.view.obj)
    thread, found = compiled.wait_apart(compiled.slot)

    compiled.pool.close()
    thread.join()

    assert found[0] >= 0
    assert compiled.slot.waiters() == 0
    assert memory() is None


def test_a_pool_that_nobody_closed_goes_with_its_slots(stand: Stand) -> None:
    memory = weakref.ref(stand.segment.view.obj)
    stand.__dict__.clear()

    gc.collect()

    assert memory() is None


@compiled_only
def test_who_sleeps_looks_after_the_device_and_leaves_when_it_is_gone(compiled: Stand) -> None:
    compiled.lost = True

    assert compiled.slot.wait(FOREVER) > 0
    assert compiled.looks == 1
    # Whoever waits by a question is told at once.
    with pytest.raises(LinkLost, match="gone"):
        compiled.pool.wait(SLOT, 1, None)


@compiled_only
def test_an_interrupt_ends_a_wait_and_leaves_nobody_counted(compiled: Stand) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        while not compiled.load(FENCE_HOST_SLEEPERS):
            os.sched_yield()
        # One may come just before it sleeps: it is told of that after its nap.
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        compiled.slot.wait(FOREVER)
    thread.join()

    assert compiled.load(FENCE_HOST_SLEEPERS) == 0
    assert compiled.slot.waiters() == 0


def endless(stand: Stand, slot: int) -> DirectSlot:
    """Return a slot whose sleepers look at nothing by themselves: a lost wake-up is never found."""
    make = compiled_slots()
    assert make is not None
    at = slot * FenceSlot.SIZE
    offsets = (
        at + FENCE_VALUE,
        at + FENCE_STATUS,
        at + FENCE_HOST_SLEEPERS,
        at + FENCE_DEVICE_WAITS,
    )
    hour = 3600 * 1000 * MILLISECOND
    return make(stand.segment.view, offsets, lambda: True, stand.bells.nudge, (0, hour, 0))


@compiled_only
def test_no_wake_up_is_lost_between_threads_that_always_sleep(compiled: Stand) -> None:
    ping, pong = endless(compiled, 0), endless(compiled, 1)
    rounds = 3000

    def answer() -> None:
        for _ in range(rounds):
            ping.wait(FOREVER)
            ping.clear()
            pong.signal()

    thread = threading.Thread(target=answer)
    thread.start()
    for _ in range(rounds):
        ping.signal()
        assert pong.wait(FOREVER) == REACHED
        pong.clear()
    thread.join()


@compiled_only
@pytest.mark.parametrize(
    "make",
    [
        lambda stand, make: make(stand.segment.view, (4096, 8, 12, 16), bool, bool, (0, 1, 0)),
        lambda stand, make: make(stand.segment.view, (0, 4094, 12, 16), bool, bool, (0, 1, 0)),
        lambda stand, make: make(stand.segment.view, (4, 8, 12, 16), bool, bool, (0, 1, 0)),
    ],
)
def test_words_outside_of_the_memory_are_refused(
    compiled: Stand, make: Callable[[Stand, object], object]
) -> None:
    with pytest.raises(ValueError, match="no word at 0x"):
        make(compiled, compiled_slots())
