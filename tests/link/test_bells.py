"""Bells in a process, and between processes."""

from __future__ import annotations

import os
import select

import pytest

from firmware.link.bells import CallBell, EventfdBell
from tests.harness.link_conformance import descriptor_count


def test_an_eventfd_is_readable_while_it_is_rung() -> None:
    bell = EventfdBell()
    poll = select.poll()
    poll.register(bell.fileno(), select.POLLIN)

    bell.ring()
    assert poll.poll(0)
    assert bell.clear()
    assert not poll.poll(0)
    assert not bell.clear()

    bell.close()


def test_an_eventfd_at_its_limit_is_rung_all_the_same() -> None:
    bell = EventfdBell()
    os.eventfd_write(bell.fileno(), 2**64 - 2)

    bell.ring()

    assert bell.clear()
    bell.close()


def test_a_blocking_eventfd_that_was_received_never_blocks() -> None:
    bell = EventfdBell(os.eventfd(0, os.EFD_CLOEXEC))

    assert not bell.clear()

    bell.close()


def test_closing_twice_closes_one_descriptor() -> None:
    before = descriptor_count()
    bell = EventfdBell()

    bell.close()
    bell.close()

    assert descriptor_count() == before


def test_ringing_calls_the_listener_at_once() -> None:
    calls: list[bool] = []
    bell = CallBell(lambda: calls.append(bell.clear()))

    bell.ring()

    assert calls == [True]
    assert not bell.clear()


def test_a_ring_from_inside_the_listener_runs_it_once_more_and_not_deeper() -> None:
    trace: list[str] = []

    def listen() -> None:
        trace.append("in")
        if trace.count("in") < 3:
            bell.ring()
            bell.ring()
        trace.append("out")

    bell = CallBell(listen)

    bell.ring()

    assert trace == ["in", "out"] * 3


def test_a_bell_that_was_rung_calls_whoever_listens_later() -> None:
    bell = CallBell()
    calls: list[bool] = []

    bell.ring()
    bell.listen(lambda: calls.append(bell.clear()))
    bell.listen(lambda: calls.append(bell.clear()))

    assert calls == [True]


def test_a_listener_that_fails_leaves_the_bell_usable() -> None:
    bell = CallBell()
    calls: list[int] = []

    def fail() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise RuntimeError("first time")

    bell.listen(fail)
    with pytest.raises(RuntimeError, match="first time"):
        bell.ring()
    bell.ring()

    assert calls == [0, 1]


def test_a_closed_bell_calls_nobody() -> None:
    calls: list[int] = []
    bell = CallBell(lambda: calls.append(1))

    bell.close()
    bell.ring()

    assert calls == []
