"""Waiting on a word: when it spins, when it sleeps, and how every wait ends."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

from firmware.link import waiting
from firmware.link.errors import InvariantError, LinkLost, Stalled
from firmware.link.linux import futex_wake
from firmware.link.segment import Segment
from firmware.link.sleepers import Sleepers
from firmware.link.waiting import FutexWaiter, StepWaiter, WordWait

if TYPE_CHECKING:
    from collections.abc import Callable

WORD, COUNT, STATUS = 0x40, 0x4C, 0x48
two_processors = pytest.mark.skipif(
    not waiting.has_two_processors(), reason="nobody spins on one processor"
)


class Sleeper:
    """A futex whose sleeps do something to the word instead."""

    def __init__(self, *effects: Callable[[], bool]) -> None:
        self.segment = Segment.in_process(4096)
        self.effects = list(effects)
        self.slept: list[tuple[int, int, float]] = []
        self.counts: list[int] = []
        self.looks = 0

    def sleep(self, address: int, expected: int, seconds: float) -> bool:
        self.slept.append((address - self.segment.address, expected, seconds))
        self.counts.append(self.segment.words.load32(COUNT))
        return self.effects.pop(0)()

    def alive(self) -> None:
        self.looks += 1

    def store(self, value: int, *, offset: int = WORD, woken: bool = True) -> Callable[[], bool]:
        def effect() -> bool:
            self.segment.words.store64(offset, value)
            return woken

        return effect

    def waiter(self, may_spin: Callable[[], bool] | None = None) -> FutexWaiter:
        return FutexWaiter(self.segment, self.alive, may_spin, sleep=self.sleep)


def test_a_sleeper_is_counted_while_it_sleeps_and_not_after() -> None:
    sleeper = Sleeper()
    sleeper.effects = [sleeper.store(1), sleeper.store(2)]

    assert sleeper.waiter().wait(WordWait(WORD, 2, COUNT))

    assert sleeper.counts == [1, 1]
    assert sleeper.segment.words.load32(COUNT) == 0


def test_the_kernel_compares_with_the_low_half_of_what_was_found_wanting() -> None:
    sleeper = Sleeper()
    sleeper.segment.words.store64(WORD, 0x5_0000_0007)
    sleeper.effects = [sleeper.store(0x6_0000_0000)]

    assert sleeper.waiter().wait(WordWait(WORD, 0x6_0000_0000, COUNT))

    assert sleeper.slept == [(WORD, 7, waiting.NAP_SECONDS)]


def test_the_peer_is_looked_at_after_each_nap_that_nobody_ended() -> None:
    sleeper = Sleeper()
    sleeper.effects = [
        sleeper.store(0, woken=False),
        sleeper.store(0, woken=True),
        sleeper.store(0, woken=False),
        sleeper.store(9, woken=False),
    ]

    assert sleeper.waiter().wait(WordWait(WORD, 9, COUNT))

    assert sleeper.looks == 3


def test_a_wait_ends_when_the_peer_is_lost() -> None:
    sleeper = Sleeper()
    sleeper.effects = [sleeper.store(0, woken=False)]

    def lost() -> None:
        raise LinkLost("gone")

    waiter = FutexWaiter(sleeper.segment, lost, sleep=sleeper.sleep)

    with pytest.raises(LinkLost, match="gone"):
        waiter.wait(WordWait(WORD, 1, COUNT))

    assert sleeper.segment.words.load32(COUNT) == 0


def test_a_status_ends_the_wait_although_the_word_has_not_moved() -> None:
    sleeper = Sleeper()

    def stop() -> bool:
        sleeper.segment.words.store32(STATUS, 23)
        return True

    sleeper.effects = [stop]

    assert not sleeper.waiter().wait(WordWait(WORD, 1, COUNT, status=STATUS))


def test_a_value_that_was_reached_counts_more_than_a_status() -> None:
    sleeper = Sleeper()
    sleeper.segment.words.store64(WORD, 5)
    sleeper.segment.words.store32(STATUS, 23)

    assert sleeper.waiter().wait(WordWait(WORD, 5, COUNT, status=STATUS))


def test_time_runs_out_in_naps_no_longer_than_what_is_left() -> None:
    segment = Segment.in_process(4096)
    waiter = FutexWaiter(segment, lambda: None)

    with pytest.raises(TimeoutError, match="word at 0x40 holds 0x0, expected 0x1 by now"):
        waiter.wait(WordWait(WORD, 1, COUNT), timeout_seconds=0.01)

    assert segment.words.load32(COUNT) == 0
    waiter.check()
    assert waiter.statistics().sleeps == 1


def test_a_thread_asleep_is_woken_by_another() -> None:
    segment = Segment.in_process(4096)
    waiter = FutexWaiter(segment, lambda: None)
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(waiter.wait(WordWait(WORD, 1, COUNT))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while segment.words.load32(COUNT) < len(threads):
        pass

    segment.words.store64(WORD, 1)
    futex_wake(segment.address + WORD)
    for thread in threads:
        thread.join()

    assert results == [True] * 3
    assert waiter.statistics().sleepers == 0


def test_an_exception_of_a_signal_handler_leaves_no_sleeper_counted() -> None:
    sleeper = Sleeper()

    def interrupt() -> bool:
        signal.raise_signal(signal.SIGINT)
        return True

    sleeper.effects = [interrupt]

    with pytest.raises(KeyboardInterrupt):
        sleeper.waiter().wait(WordWait(WORD, 1, COUNT))

    assert sleeper.segment.words.load32(COUNT) == 0


# Spinning


@two_processors
def test_failed_spins_double_the_waits_that_sleep_at_once() -> None:
    sleeper = Sleeper()
    waiter = sleeper.waiter(lambda: True)
    spun: list[bool] = []

    for value in range(1, 210):
        before = waiter.statistics().spins
        sleeper.effects = [sleeper.store(value)]
        assert waiter.wait(WordWait(WORD, value, COUNT))
        spun.append(waiter.statistics().spins > before)

    gaps = [index for index, spins in enumerate(spun) if spins]
    assert gaps == [0, 2, 5, 10, 19, 36, 69, 134, 199]


@two_processors
def test_a_spin_that_succeeds_forgets_those_that_failed() -> None:
    sleeper = Sleeper()
    words = sleeper.segment.words
    succeeds = False

    def may_spin() -> bool:
        if succeeds:
            words.store64(WORD, words.load64(WORD) + 1)
        return True

    waiter = sleeper.waiter(may_spin)

    def wait_once() -> tuple[int, int]:
        """Return how many spins and sleeps the next wait takes."""
        before = waiter.statistics()
        value = words.load64(WORD) + 1
        sleeper.effects = [sleeper.store(value)]
        assert waiter.wait(WordWait(WORD, value, COUNT))
        after = waiter.statistics()
        return after.spins - before.spins, after.sleeps - before.sleeps

    assert [wait_once() for _ in range(5)] == [(1, 1), (0, 1), (1, 1), (0, 1), (0, 1)]
    succeeds = True
    assert [wait_once() for _ in range(3)] == [(1, 0)] * 3
    succeeds = False
    assert [wait_once() for _ in range(3)] == [(1, 1), (0, 1), (1, 1)]


@two_processors
def test_spinning_alone_never_sleeps_and_leaves_the_sleep_to_the_wait() -> None:
    sleeper = Sleeper()
    waiter = sleeper.waiter(lambda: True)
    wait = WordWait(WORD, 1, COUNT)

    assert not waiter.spin(wait)
    assert not waiter.spin(wait)
    assert (waiter.statistics().spins, waiter.statistics().sleeps) == (1, 0)

    sleeper.effects = [sleeper.store(1)]
    assert waiter.wait(wait)
    assert (waiter.statistics().spins, waiter.statistics().sleeps) == (1, 1)

    assert waiter.spin(wait)
    assert not waiter.spin(WordWait(WORD, 2, COUNT))
    assert waiter.statistics().spins == 3


@two_processors
def test_a_spin_that_meets_a_status_has_not_reached_the_word() -> None:
    sleeper = Sleeper()
    sleeper.segment.words.store32(STATUS, 23)

    assert not sleeper.waiter(lambda: True).spin(WordWait(WORD, 1, COUNT, status=STATUS))


def test_nobody_spins_while_the_device_says_so() -> None:
    sleeper = Sleeper()
    sleeper.effects = [sleeper.store(1)]
    waiter = sleeper.waiter(lambda: False)

    assert waiter.wait(WordWait(WORD, 1, COUNT))

    assert waiter.statistics().spins == 0


def test_nobody_spins_on_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_processor(_: int) -> set[int]:
        return {0}

    monkeypatch.setattr("os.sched_getaffinity", one_processor)
    sleeper = Sleeper()
    sleeper.effects = [sleeper.store(1)]
    waiter = sleeper.waiter(lambda: True)

    assert waiter.wait(WordWait(WORD, 1, COUNT))

    assert waiter.statistics().spins == 0


# Counting


def test_counts_are_kept_word_by_word() -> None:
    segment = Segment.in_process(4096)
    sleepers = Sleepers(segment.words)

    for counter, change in ((0, 1), (8, 1), (0, 1), (8, -1)):
        sleepers.add(counter, change)

    assert (segment.words.load32(0), segment.words.load32(8)) == (2, 0)
    assert sleepers.total() == 2
    sleepers.check()


def test_a_count_that_somebody_overwrote_is_found_and_heals() -> None:
    segment = Segment.in_process(4096)
    sleepers = Sleepers(segment.words)
    sleepers.add(0, 1)
    segment.words.store32(0, 9)

    with pytest.raises(InvariantError, match="counter at 0x0 holds 9, 1 threads sleep"):
        sleepers.check()

    sleepers.add(0, 1)
    assert segment.words.load32(0) == 2


# In process


def test_a_step_waiter_stops_at_its_deadline() -> None:
    segment = Segment.in_process(4096)
    waiter = StepWaiter(segment.words, lambda: True)

    with pytest.raises(TimeoutError):
        waiter.wait(WordWait(WORD, 1, COUNT), timeout_seconds=0.001)


def test_a_step_waiter_says_what_it_waited_for_in_vain() -> None:
    segment = Segment.in_process(4096)

    with pytest.raises(Stalled, match="word at 0x40 holds 0x0, 0x1 is waited for"):
        StepWaiter(segment.words, lambda: False).wait(WordWait(WORD, 1, COUNT))
