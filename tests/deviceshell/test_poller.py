"""The pump's one descriptor to sleep on."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from device.shell.poller import Poller
from firmware.link.bells import EventfdBell

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def poller() -> Generator[Poller]:
    made = Poller()
    yield made
    made.close()


def test_nothing_is_called_while_nothing_is_ready(poller: Poller) -> None:
    bell = EventfdBell()
    poller.on_readable(bell.fileno(), pytest.fail)

    assert not poller.dispatch()

    bell.close()


def test_a_bell_calls_its_handler_until_it_is_cleared(poller: Poller) -> None:
    bell = EventfdBell()
    calls: list[str] = []
    poller.on_readable(bell.fileno(), lambda: calls.append("rung"))
    bell.ring()

    assert poller.dispatch()
    assert poller.dispatch()
    bell.clear()
    assert not poller.dispatch()

    assert calls == ["rung", "rung"]
    bell.close()


def test_data_on_a_socket_is_no_hang_up_but_its_end_is(poller: Poller) -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    calls: list[str] = []
    poller.on_hang_up(here.fileno(), lambda: calls.append("gone"))

    there.send(b"descriptors that nobody asked for yet")
    poller.dispatch()
    assert calls == []

    there.close()
    assert poller.dispatch()
    assert calls == ["gone"]
    poller.remove(here.fileno())
    here.close()


def test_a_handler_removed_by_another_one_of_the_round_is_not_called(poller: Poller) -> None:
    bells = [EventfdBell(), EventfdBell()]
    calls: list[str] = []

    def handle() -> None:
        calls.append("handled")
        for bell in bells:
            poller.remove(bell.fileno())

    for bell in bells:
        poller.on_readable(bell.fileno(), handle)
        bell.ring()

    poller.dispatch()

    assert len(calls) == 1
    for bell in bells:
        bell.close()


def test_the_pollers_own_descriptor_is_readable_when_something_is_ready(poller: Poller) -> None:
    outer = Poller()
    calls: list[str] = []
    outer.on_readable(poller.fileno(), lambda: calls.append("inner"))
    reading, writing = os.pipe()
    poller.on_readable(reading, lambda: None)

    assert not outer.dispatch()
    os.write(writing, b"x")
    assert outer.dispatch()

    outer.close()
    poller.remove(reading)
    os.close(reading)
    os.close(writing)
