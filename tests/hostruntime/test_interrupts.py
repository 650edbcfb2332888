"""Interrupts held back during a call: when they are told, and by whose handler."""

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from hostdriver.runtime.interrupts import ALL, Interrupts


@pytest.fixture(name="told", autouse=True)
def make_handler() -> Iterator[list[int]]:
    """Count what the application's own handler is told."""
    told: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        told.append(number)

    before = signal.signal(signal.SIGINT, handler)
    yield told
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_interrupt_is_told_at_the_end_once(told: list[int]) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with Interrupts():
        interrupt()
        interrupt()
        assert told == []

    assert told == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler


def test_without_interrupts_nothing_is_told(told: list[int]) -> None:
    with Interrupts() as interrupts:
        interrupts.endure(0)

    assert told == []


def test_keyboard_interrupt_is_raised_behind_the_block() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps: list[str] = []

    def act() -> None:
        with Interrupts():
            interrupt()
            steps.append("after")

    with pytest.raises(KeyboardInterrupt):
        act()

    assert steps == ["after"]


@pytest.mark.parametrize("patience", [0, 1, 2])
def test_more_than_is_endured_is_told_at_once(told: list[int], patience: int) -> None:
    with Interrupts() as interrupts:
        interrupts.endure(patience)
        for _ in range(patience):
            interrupt()
        assert told == []
        interrupt()
        assert told == [signal.SIGINT]

    assert told == [signal.SIGINT]


def test_what_came_before_is_told_when_it_is_endured_no_longer(told: list[int]) -> None:
    with Interrupts() as interrupts:
        interrupt()
        interrupts.endure(0)
        assert told == [signal.SIGINT]


def test_patience_comes_back(told: list[int]) -> None:
    with Interrupts() as interrupts:
        interrupts.endure(0)
        interrupts.endure(ALL)
        interrupt()
        assert told == []


def test_blocks_within_blocks_tell_at_the_outer_end(told: list[int]) -> None:
    with Interrupts():
        with Interrupts():
            interrupt()
        assert told == []

    assert told == [signal.SIGINT]


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_program_without_a_handler_stays_as_it_is(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)

    with Interrupts():
        assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_leave_the_handler_alone() -> None:
    handler = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [handler]
