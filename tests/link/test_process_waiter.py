"""Waiting for another process: the compiled waiter and the one in Python do the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from firmware.abi.rings import U32_MASK
from firmware.link import processwaiter, waiting
from firmware.link.compiled import VARIABLE, compiled
from firmware.link.errors import LinkLost
from firmware.link.linux import futex_wake
from firmware.link.processwaiter import ALWAYS, process_waiter, statistics_of
from firmware.link.segment import Segment
from firmware.link.waiting import FutexWaiter, StepWaiter, WordWait, has_two_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

WORD, STATUS, COUNT, HINT = 0x40, 0x48, 0x4C, 0x50
compiled_only = pytest.mark.skipif(compiled() is None, reason="nothing can be compiled here")
two_processors = pytest.mark.skipif(
    not has_two_processors(), reason="nobody spins on one processor"
)


def nothing() -> None:
    """Do nothing."""


class Stand:
    """A waiter on a segment of this process, and what its vigil does."""

    def __init__(self, hint: int = HINT) -> None:
        self.segment = Segment.in_process(4096)
        self.words = self.segment.words
        self.looks = 0
        self.on_look: Callable[[], None] = nothing
        self.waiter = process_waiter(self.segment, self.look, hint)

    def look(self) -> None:
        self.looks += 1
        self.on_look()

    def wake(self) -> None:
        futex_wake(self.segment.address + WORD)

    def wait(self, target: int, *, wide: bool = True, timeout: float | None = 60) -> bool:
        return self.waiter.wait(WordWait(WORD, target, COUNT, wide, STATUS), timeout)

    def asleep(self, count: int = 1) -> None:
        """Return once so many threads sleep."""
        while self.words.load32(COUNT) < count:
            os.sched_yield()


@pytest.fixture(name="kind", params=[pytest.param("1", marks=compiled_only), "0"])
def choose_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what comes compiled, or in Python."""
    monkeypatch.setenv(VARIABLE, request.param)


@pytest.fixture(name="stand")
def make_stand(kind: None) -> Stand:
    del kind
    return Stand()


def test_a_word_that_was_reached_is_no_wait(stand: Stand) -> None:
    stand.words.store64(WORD, 1 << 33)

    assert stand.wait(1 << 33)
    assert stand.wait(7, timeout=0)

    assert statistics_of(stand.waiter).sleeps == 0


@pytest.mark.parametrize(
    ("value", "target", "reached"),
    [(0, 0, True), (5, 6, False), (2, U32_MASK, True), (U32_MASK, 2, False), (1 << 31, 0, False)],
)
def test_a_narrow_word_runs_freely_and_half_of_it_is_ahead(
    stand: Stand, value: int, target: int, reached: bool
) -> None:
    stand.words.store32(WORD, value)
    stand.words.store32(WORD + 4, 0xFFFF_FFFF)

    if reached:
        assert stand.wait(target, wide=False, timeout=0)
    else:
        with pytest.raises(TimeoutError):
            stand.wait(target, wide=False, timeout=0)


def test_a_status_ends_a_wait_but_a_value_that_was_reached_counts_more(stand: Stand) -> None:
    stand.words.store32(STATUS, 23)

    assert not stand.wait(1)

    stand.words.store64(WORD, 1)
    assert stand.wait(1)


def test_a_word_without_a_status_looks_at_none(stand: Stand) -> None:
    stand.words.store32(0, 23)

    with pytest.raises(TimeoutError):
        stand.waiter.wait(WordWait(WORD, 1, COUNT), 0)


@pytest.mark.parametrize("seconds", [0, -1, 0.01])
def test_time_runs_out_and_the_error_says_what_was_waited_for(stand: Stand, seconds: float) -> None:
    stand.words.store64(WORD, 0x5_0000_0001)
    begun = time.monotonic()

    with pytest.raises(
        TimeoutError, match=r"^word at 0x40 holds 0x500000001, expected 0x500000002 by now$"
    ):
        stand.wait(0x5_0000_0002, timeout=seconds)

    assert time.monotonic() - begun >= seconds
    assert stand.words.load32(COUNT) == 0
    assert statistics_of(stand.waiter).sleeps == (seconds > 0)


def test_threads_asleep_are_counted_and_woken_by_a_store(stand: Stand) -> None:
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(stand.wait(1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    stand.asleep(len(threads))
    assert statistics_of(stand.waiter).sleepers == len(threads)

    stand.words.store64(WORD, 1)
    stand.wake()
    for thread in threads:
        thread.join()

    assert found == [True] * len(threads)
    assert stand.words.load32(COUNT) == 0
    assert statistics_of(stand.waiter).sleepers == 0


def test_who_is_woken_by_a_store_that_is_not_enough_sleeps_on(stand: Stand) -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(stand.wait(3)))
    thread.start()
    stand.asleep()

    for value in (1, 2, 3):
        stand.words.store64(WORD, value)
        stand.wake()
    thread.join()

    assert found == [True]


def test_a_status_ends_a_sleep(stand: Stand) -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(stand.wait(1)))
    thread.start()
    stand.asleep()

    stand.words.store32(STATUS, 5)
    stand.wake()
    thread.join()

    assert found == [False]


def test_the_vigil_is_kept_after_each_nap_and_its_error_ends_the_wait(stand: Stand) -> None:
    def lose() -> None:
        if stand.looks == 2:
            raise LinkLost("gone")

    stand.on_look = lose

    with pytest.raises(LinkLost, match="gone"):
        stand.wait(1, timeout=None)

    assert stand.looks == 2
    assert stand.words.load32(COUNT) == 0


class InterruptedWait(Exception):
    """What the handler of a signal raises."""


@pytest.fixture(name="raised_once")
def handle_signals() -> Generator[None]:
    """Raise from the handler of SIGUSR1, the first time alone."""
    raised: list[int] = []

    def handle(number: int, _: object) -> None:
        raised.append(number)
        if len(raised) == 1:
            raise InterruptedWait

    before = signal.signal(signal.SIGUSR1, handle)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("raised_once")
def test_an_interrupt_ends_a_wait_at_once_and_leaves_nobody_counted(
    kind: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del kind
    # No nap ends, so that the handler is looked after because of the signal alone.
    monkeypatch.setattr(processwaiter, "NAP_SECONDS", 3600.0)
    monkeypatch.setattr(waiting, "NAP_SECONDS", 3600.0)
    stand = Stand()
    main = threading.main_thread().ident
    assert main is not None
    over = threading.Event()

    def interrupt() -> None:
        stand.asleep()
        # One that comes just before it sleeps is not seen: the next one is.
        while not over.is_set():
            signal.pthread_kill(main, signal.SIGUSR1)
            os.sched_yield()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(InterruptedWait):
        stand.wait(1, timeout=None)
    over.set()
    thread.join()

    assert stand.words.load32(COUNT) == 0


def test_a_segment_that_was_given_up_is_not_waited_on(stand: Stand) -> None:
    stand.segment.close()

    with pytest.raises(ValueError, match="released memoryview"):
        stand.wait(1)


@compiled_only
@pytest.mark.parametrize(
    "wait",
    [
        WordWait(4096, 1, COUNT),
        WordWait(WORD + 4, 1, COUNT),
        WordWait(WORD, 1, 4094),
        WordWait(WORD, 1, COUNT, status=1 << 40),
    ],
)
def test_words_outside_of_the_segment_are_refused(wait: WordWait) -> None:
    with pytest.raises(ValueError, match="no word at 0x"):
        Stand().waiter.wait(wait, 0)


# Spinning


@two_processors
def test_spins_in_vain_are_followed_by_ever_more_waits_that_sleep_at_once(stand: Stand) -> None:
    stand.words.store32(HINT, 1)
    spun: list[bool] = []

    for _ in range(12):
        before = statistics_of(stand.waiter).spins
        with pytest.raises(TimeoutError):
            stand.wait(1, timeout=1e-3)
        spun.append(statistics_of(stand.waiter).spins > before)

    assert [index for index, spins in enumerate(spun) if spins] == [0, 2, 5, 10]


@two_processors
def test_nobody_spins_while_the_device_says_so(stand: Stand) -> None:
    with pytest.raises(TimeoutError):
        stand.wait(1, timeout=1e-3)
    assert not stand.waiter.spin(WordWait(WORD, 1, COUNT))
    assert statistics_of(stand.waiter).spins == 0

    stand.words.store32(HINT, 1)
    with pytest.raises(TimeoutError):
        stand.wait(1, timeout=1e-3)
    assert statistics_of(stand.waiter).spins == 1


@two_processors
def test_spinning_alone_never_sleeps_and_is_left_out_while_it_does_not_pay(kind: None) -> None:
    del kind
    stand = Stand(ALWAYS)
    wait = WordWait(WORD, 1, COUNT, status=STATUS)

    assert not stand.waiter.spin(wait)
    assert not stand.waiter.spin(wait)
    assert statistics_of(stand.waiter).spins == 1

    assert statistics_of(stand.waiter).sleeps == 0


@two_processors
@pytest.mark.parametrize(("word", "status", "reached"), [(1, 0, True), (0, 9, False)])
def test_a_spin_that_met_its_end_was_not_in_vain(
    stand: Stand, word: int, status: int, reached: bool
) -> None:
    stand.words.store32(HINT, 1)
    stand.words.store64(WORD, word)
    stand.words.store32(STATUS, status)

    for _ in range(2):
        assert stand.waiter.spin(WordWait(WORD, 1, COUNT, status=STATUS)) == reached

    assert statistics_of(stand.waiter).spins == 2


def test_nobody_spins_on_one_processor(kind: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del kind

    def one_processor(_: int) -> set[int]:
        return {0}

    monkeypatch.setattr("os.sched_getaffinity", one_processor)
    stand = Stand(ALWAYS)
    with pytest.raises(TimeoutError):
        stand.wait(1, timeout=1e-3)

    assert statistics_of(stand.waiter).spins == 0


# Between threads


def test_no_wake_up_is_lost_between_threads_that_always_sleep(
    kind: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del kind
    # A lost wake-up is never found by a look after a nap.
    monkeypatch.setattr(processwaiter, "NAP_SECONDS", 3600.0)
    monkeypatch.setattr(waiting, "NAP_SECONDS", 3600.0)
    ping, pong = Stand(), Stand()
    rounds = 2000

    def tell(stand: Stand, value: int) -> None:
        stand.words.store64(WORD, value)
        with lock:  # a locked instruction is a fence
            pass
        if stand.words.load32(COUNT):
            stand.wake()

    def answer() -> None:
        for value in range(1, rounds):
            ping.wait(value)
            tell(pong, value)

    lock = threading.Lock()
    thread = threading.Thread(target=answer)
    thread.start()
    for value in range(1, rounds):
        tell(ping, value)
        assert pong.wait(value)
    thread.join()


# Which kind it is


@compiled_only
def test_the_environment_chooses_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    segment = Segment.in_process(4096)

    assert not isinstance(process_waiter(segment, nothing, HINT), FutexWaiter)
    monkeypatch.setenv(VARIABLE, "0")
    assert isinstance(process_waiter(segment, nothing, HINT, shared=True), FutexWaiter)


def test_other_waiters_have_no_such_statistics() -> None:
    waiter = StepWaiter(Segment.in_process(4096).words, lambda: False)

    with pytest.raises(TypeError, match="does not wait for another process"):
        statistics_of(waiter)
