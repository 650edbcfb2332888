"""Waits without end that end: whatever stops a queue wakes everybody who waits for its work."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.core.commandqueues_rings import STREAM_ENTRIES
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

PAGE = 64 << 10
BOUND_SECONDS = 10.0
LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
IPC = ze.EventPoolFlags.IPC | ze.EventPoolFlags.HOST_VISIBLE
SYNCHRONOUS = ze.CommandQueueDesc(mode=ze.CommandQueueMode.SYNCHRONOUS)
BLOCKING = ze.MemoryFreeExtDesc(ze.DriverMemoryFreePolicyExtFlags.BLOCKING_FREE)


class Waiters:
    """Threads that each wait for ever, until something wakes them."""

    def __init__(self) -> None:
        self.told: dict[str, ze.ZeResult] = {}
        self._threads: list[threading.Thread] = []
        self._is_inside: list[Callable[[], object]] = []

    def add(self, name: str, wait: Callable[[], object], is_inside: Callable[[], object]) -> None:
        """Begin to wait in a thread; `is_inside` tells whether it does."""

        def work() -> None:
            try:
                wait()
                self.told[name] = ze.ZeResult.ZE_RESULT_SUCCESS
            except ze.ZeError as error:
                self.told[name] = error.result

        self._threads.append(threading.Thread(target=work, name=name, daemon=True))
        self._is_inside.append(is_inside)
        self._threads[-1].start()

    def settle(self) -> None:
        """Return when all of them wait."""
        while not all(is_inside() for is_inside in self._is_inside):
            assert not self.told, "a wait is over"
            os.sched_yield()

    def results(self) -> dict[str, ze.ZeResult]:
        """Return what each was told, all of them in bounded time."""
        end = time.monotonic() + BOUND_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            assert not thread.is_alive(), f"{thread.name} waits on"
        return self.told


def waits_of_all_kinds(waiters: Waiters, driver: ze.Driver, gate: ze.Event) -> list[str]:
    """Wait in every way for work behind `gate`; return the names of the ways."""
    context, device = driver.create_context(), driver.devices[0]
    pool = context.event_pool_create(ze.EventPoolDesc(2))
    near, far = (pool.event_create(ze.EventDesc(index)) for index in range(2))
    counter = context.event_counter_based_create(device)
    memory = context.mem_alloc_device(device, PAGE)

    immediate = context.command_list_create_immediate(device)
    immediate.append_memory_fill(memory, b"x", PAGE, near, [gate])
    for _ in range(2 * STREAM_ENTRIES):
        immediate.append_barrier()
    immediate.append_signal_event(far)
    commands = context.command_list_create(device)
    commands.append_barrier(counter, [gate])
    commands.close()
    queue = context.command_queue_create(device)
    fence = queue.fence_create()
    queue.execute_command_lists([commands], fence)
    waiting = context.command_list_create_immediate(device)
    waiting.append_wait_on_events([far])
    synchronous = context.command_list_create_immediate(device, SYNCHRONOUS)

    streams = {
        "immediate list": (immediate.host_synchronize, immediate),
        "list that waits for a list": (waiting.host_synchronize, waiting),
        "append": (lambda: synchronous.append_barrier(None, [gate]), synchronous),
    }
    for name, (wait, target) in streams.items():
        waiters.add(name, wait, lambda target=target: target.target.waiters)  # type: ignore[misc]
    waiters.add("queue", queue.synchronize, lambda: queue.stream.waiters)
    # The list's own wait is one of the two.
    stream = immediate.target
    free = lambda: context.mem_free_ext(BLOCKING, memory)  # noqa: E731
    waiters.add("free", free, lambda: getattr(stream, "waiters", 0) > 1)
    for name, event in (("fence", fence), ("near", near), ("far", far), ("counter", counter)):
        record = event.record
        waiters.add(name, event.host_synchronize, lambda record=record: record.waiters)  # type: ignore[misc]
    return [*streams, "queue", "free", "fence", "near", "far", "counter"]


@contextmanager
def gated(path: Path) -> Generator[tuple[ze.Driver, ze.Event, ze.Event]]:
    """Connect two programs; return the first one, and an event as each of them has it."""
    with ExitStack() as stack:
        driver, peer = (stack.enter_context(ze.connect(path, start=None)) for _ in range(2))
        pool = driver.create_context().event_pool_create(ze.EventPoolDesc(1, IPC))
        opened = peer.create_context().event_pool_open_ipc_handle(pool.get_ipc_handle())
        yield driver, pool.event_create(), opened.event_create()


@pytest.mark.slow
@pytest.mark.decision("FAULT-05")
def test_a_killed_emulator_ends_every_wait(tmp_path: Path) -> None:
    waiters = Waiters()
    with emulator_process(tmp_path) as emulator, gated(emulator.path) as (driver, gate, there):
        names = waits_of_all_kinds(waiters, driver, gate)
        waiters.add("peer", there.host_synchronize, lambda: there.record.waiters)
        waiters.settle()

        emulator.process.kill()

        assert waiters.results() == dict.fromkeys([*names, "peer"], LOST)


@pytest.mark.slow
def test_a_device_that_is_reset_ends_every_wait_and_serves_who_comes_then(tmp_path: Path) -> None:
    waiters = Waiters()
    with emulator_process(tmp_path) as emulator:
        with gated(emulator.path) as (driver, gate, there):
            names = waits_of_all_kinds(waiters, driver, gate)
            waiters.add("peer", there.host_synchronize, lambda: there.record.waiters)
            waiters.settle()

            emulator.reset()

            assert waiters.results() == dict.fromkeys([*names, "peer"], LOST)
        works(emulator)


@pytest.mark.slow
def test_a_closed_driver_ends_the_waits_of_its_threads(emulator: EmulatorProcess) -> None:
    waiters = Waiters()
    with gated(emulator.path) as (driver, gate, there):
        names = waits_of_all_kinds(waiters, driver, gate)
        waiters.settle()

        driver.close()

        assert waiters.results() == dict.fromkeys(names, LOST)
        # Nobody's work was to signal it.
        there.host_signal()
        there.host_synchronize()


@pytest.mark.slow
def test_work_that_waited_ends_well_when_nothing_happens_to_it(emulator: EmulatorProcess) -> None:
    waiters = Waiters()
    with gated(emulator.path) as (driver, gate, there):
        names = waits_of_all_kinds(waiters, driver, gate)
        waiters.settle()

        there.host_signal()

        assert waiters.results() == dict.fromkeys(names, ze.ZeResult.ZE_RESULT_SUCCESS)


@pytest.mark.case("D17")
def test_a_fault_wakes_who_waits_for_the_queue_here_and_elsewhere(
    emulator: EmulatorProcess,
) -> None:
    waiters = Waiters()
    with gated(emulator.path) as (driver, end, there):
        context, device = driver.create_context(), driver.devices[0]
        go = context.event_pool_create(ze.EventPoolDesc(1)).event_create()
        hole = context.virtual_mem_reserve(PAGE)
        commands = context.command_list_create(device)
        commands.append_memory_fill(hole, b"x", 1, end, [go])
        commands.close()
        queue = context.command_queue_create(device)
        fence = queue.fence_create()
        queue.execute_command_lists([commands], fence)
        waiting = context.command_list_create_immediate(device)
        waiting.append_wait_on_events([end])
        waiters.add("queue", queue.synchronize, lambda: queue.stream.waiters)
        waiters.add("fence", fence.host_synchronize, lambda: fence.record.waiters)
        waiters.add("event", end.host_synchronize, lambda: end.record.waiters)
        waiters.add("peer", there.host_synchronize, lambda: there.record.waiters)
        stream = waiting.target
        waiters.add("list", waiting.host_synchronize, lambda: getattr(stream, "waiters", 0))
        waiters.settle()

        go.host_signal()

        names = ["queue", "fence", "event", "peer", "list"]
        assert waiters.results() == dict.fromkeys(names, LOST)
    works(emulator)


def works(emulator: EmulatorProcess) -> None:
    """Check that a program that comes now is served."""
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        device = driver.devices[0]
        memory = context.mem_alloc_device(device, PAGE)
        immediate = context.command_list_create_immediate(device)
        immediate.append_memory_fill(memory, b"well", 8)
        immediate.host_synchronize()
        assert context.memory_read(memory, 8) == b"wellwell"
        immediate.destroy()
        context.mem_free(memory)
