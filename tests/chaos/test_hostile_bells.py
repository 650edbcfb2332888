"""Invariant: nothing that a client does to what wakes both sides makes the device wait for it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import threading
from typing import TYPE_CHECKING

from firmware.link.runtime_dir import connect_socket
from tests.harness.bystander import VA
from tests.harness.commands import copy
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.bystander import Bystander
    from tests.harness.emulator_process import EmulatorProcess

FULL = 400
"""More interrupts than an unread bell holds."""
RINGS = 2000
GREETINGS = 64
"""Connections that may be silent at a time."""


def make_blocking(descriptor: int) -> None:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)


@contextlib.contextmanager
def takes_every_ring(descriptor: int) -> Generator[None]:
    """Read an eventfd in another thread, so that whoever sees it readable finds it empty."""
    done = threading.Event()

    def take() -> None:
        while not done.is_set():
            os.eventfd_read(descriptor)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        done.set()
        # The device may take a ring that was meant to wake the thread.
        while thread.is_alive():
            os.eventfd_write(descriptor, 1)
            thread.join(0.01)


def test_interrupts_that_nobody_takes_hold_nobody_up(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        queue = hostile.queue(hostile.space())
        number = hostile.end.interrupt.fileno()
        assert number is not None
        make_blocking(number)
        # An eventfd would be at its limit with this, and its next writer would sleep.
        os.write(number, (2**64 - 2).to_bytes(8, "little"))
        for _ in range(FULL):
            assert not queue.run(copy(VA, VA, 64))
            queue.recover()
        assert bystander.works()
        # What was raised is heard all the same, and again once it was taken.
        while hostile.end.interrupt.clear():
            pass
        assert not queue.run(copy(VA, VA, 64))
        raised = select.poll()
        raised.register(number, select.POLLIN)
        assert raised.poll(10_000)


def test_a_client_that_hung_up_on_interrupts_is_served(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        queue = hostile.queue(hostile.space())
        hostile.end.interrupt.close()

        assert not queue.run(copy(VA, VA, 64))
        queue.recover()
        assert queue.run()
        assert bystander.works()


def test_a_doorbell_that_blocks_and_is_emptied_by_its_owner_holds_nobody_up(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        number = hostile.end.doorbell.fileno()
        assert number is not None
        make_blocking(number)
        with takes_every_ring(number):
            for _ in range(RINGS):
                hostile.end.doorbells.poke()
            assert bystander.works()


def test_silent_connections_do_not_keep_others_waiting(emulator: EmulatorProcess) -> None:
    with contextlib.ExitStack() as silent:
        crowd = [silent.enter_context(connect_socket(emulator.path)) for _ in range(GREETINGS)]

        with contextlib.closing(RawClient(emulator.path, "late")) as late:
            assert late.queue(late.space()).run()

        # The one that was silent longest made room, and nobody else.
        crowd[0].settimeout(10)
        assert crowd[0].recv(1) == b""
        with contextlib.suppress(BlockingIOError):
            assert crowd[-1].recv(1, socket.MSG_DONTWAIT)
            raise AssertionError("a connection that had time left was ended")
