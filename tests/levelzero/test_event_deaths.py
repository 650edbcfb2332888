"""Shared event pools in real processes: whoever dies, and in whatever order things end."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.event_program import EventProgram, event_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.emulator_process import EmulatorProcess

pytestmark = pytest.mark.slow

WALL_MILLISECONDS = 1_000
MOST_OF_IT = 0.2
"""Part of a wait's time that the processor may be busy with it."""


@pytest.fixture(name="three")
def make_three(emulator: EmulatorProcess) -> Iterator[list[EventProgram]]:
    """Return the maker of a pool and two programs that have opened it."""
    with ExitStack() as stack:
        programs = [stack.enter_context(event_program(emulator.path)) for _ in range(3)]
        handle = programs[0].do("make")
        for opener in programs[1:]:
            assert opener.do("open", handle) == "ok"
        yield programs


def test_a_wait_goes_on_when_the_maker_of_the_pool_is_killed(
    emulator: EmulatorProcess, three: list[EventProgram]
) -> None:
    maker, waiter, third = three
    waiter.do("list_waits", 1)
    waiter.do("list_signals", 2)
    waiter.begin("wait", 0)
    third.do("sleepers", 0)
    third.do("device_waits", 1)

    maker.process.kill()
    emulator.audit()

    third.do("signal", 0)
    assert waiter.end() == "ok"
    third.do("signal", 1)
    assert waiter.do("wait", 2) == "ok"
    assert third.do("wait", 2) == "ok"
    assert waiter.do("list_synchronize") == "ok"


def test_waits_of_host_and_device_end_when_the_list_that_was_to_signal_dies(
    three: list[EventProgram],
) -> None:
    maker, waiter, third = three
    maker.do("list_waits", 7)
    maker.do("list_signals", 0)
    waiter.do("list_waits", 0)
    waiter.do("list_signals", 1)
    third.begin("wait", 1)
    waiter.do("sleepers", 1)
    waiter.do("device_waits", 0)

    maker.process.kill()

    # The list of the waiter failed with the event that it waited for, and so did what it signals.
    assert third.end() == "DEVICE_LOST"
    assert waiter.do("list_synchronize") == "DEVICE_LOST"
    assert waiter.do("wait", 0) == "DEVICE_LOST"
    # Reset, the event works again.
    waiter.do("reset", 0)
    third.do("list_signals", 0)
    assert waiter.do("wait", 0) == "ok"


def test_who_is_killed_while_he_waits_holds_nobody(
    emulator: EmulatorProcess, three: list[EventProgram]
) -> None:
    maker, waiter, third = three
    waiter.do("list_waits", 1)
    waiter.begin("wait", 0)
    third.do("sleepers", 0)
    third.do("device_waits", 1)
    assert maker.do("destroy_event", 1) == "HANDLE_OBJECT_IN_USE"

    waiter.process.kill()
    emulator.audit()

    assert maker.do("signal", 0) == "ok"
    assert third.do("wait", 0) == "ok"
    for index in range(8):
        assert maker.do("destroy_event", index) == "ok"
    assert maker.do("destroy_pool") == "ok"
    # Who opened it has it still.
    third.do("list_signals", 2)
    assert third.do("wait", 2) == "ok"


def test_a_pool_is_not_closed_under_work_that_waits_and_ends_in_any_order(
    three: list[EventProgram],
) -> None:
    maker, waiter, third = three
    waiter.do("list_waits", 0)
    waiter.do("list_backlog")
    waiter.do("list_waits", 1)
    assert waiter.do("close_pool") == "HANDLE_OBJECT_IN_USE"
    third.do("device_waits", 0)
    for index in range(1, 8):
        # The maker's own handles of what only another's backlog waits for are its own matter.
        assert maker.do("destroy_event", index) == "ok"
    assert maker.do("destroy_pool") == "HANDLE_OBJECT_IN_USE"
    assert maker.do("destroy_event", 0) == "HANDLE_OBJECT_IN_USE"

    third.do("signal", 0)
    third.do("signal", 1)

    assert waiter.do("list_synchronize") == "ok"
    assert maker.do("destroy_event", 0) == "ok"
    assert maker.do("destroy_pool") == "ok"
    assert waiter.do("close_pool") == "ok"
    assert waiter.do("signal", 0) == "INVALID_ARGUMENT"
    third.do("list_waits", 3)
    third.do("signal", 3)
    assert third.do("list_synchronize") == "ok"
    assert third.do("close_pool") == "ok"


def test_a_counting_event_is_waited_for_by_host_and_device_of_another_process(
    three: list[EventProgram],
) -> None:
    maker, waiter, third = three
    maker.do("list_waits", 7)
    handle = maker.do("counter_make")
    assert waiter.do("counter_open", handle) == "ok"
    assert third.do("counter_open", handle) == "ok"
    third.do("counter_list_waits")
    third.do("list_signals", 1)
    waiter.begin("counter_wait")
    maker.do("counter_sleepers")
    assert maker.do("counter_destroy") == "HANDLE_OBJECT_IN_USE"

    third.do("signal", 7)

    assert waiter.end() == "ok"
    assert third.do("wait", 1) == "ok"
    assert maker.do("list_synchronize") == "ok"
    assert third.do("list_synchronize") == "ok"
    # Whoever has it open has it still when its maker gave it up.
    assert maker.do("counter_destroy") == "ok"
    assert maker.do("open", handle) == "INVALID_ARGUMENT"
    for opener in (waiter, third):
        assert opener.do("counter_wait") == "ok"
        assert opener.do("counter_close") == "ok"


def test_a_wait_for_a_counting_event_ends_with_the_process_that_was_to_signal_it(
    emulator: EmulatorProcess, three: list[EventProgram]
) -> None:
    maker, waiter, third = three
    maker.do("list_waits", 7)
    handle = maker.do("counter_make")
    assert waiter.do("counter_open", handle) == "ok"
    assert third.do("counter_open", handle) == "ok"
    waiter.begin("counter_wait")
    third.do("counter_sleepers")

    maker.process.kill()

    assert waiter.end() == "DEVICE_LOST"
    assert third.do("counter_wait") == "DEVICE_LOST"
    emulator.audit()
    assert third.do("counter_open", handle) == "INVALID_ARGUMENT"
    assert waiter.do("counter_close") == "ok"


def test_nothing_is_left_when_all_have_ended_in_any_way(
    emulator: EmulatorProcess, three: list[EventProgram]
) -> None:
    maker, waiter, third = three
    waiter.do("list_waits", 0)
    maker.do("list_waits", 1)
    maker.process.kill()
    waiter.process.kill()
    assert third.process.end() == 0

    audit = emulator.audit()

    assert (audit.clients, audit.queues, audit.spaces, audit.objects) == (0, 0, 0, 0)
    assert audit.free_bytes == 64 << 20
    # Of the pool, no mapping is left in the emulator.
    assert audit.mappings == 0


def test_a_wait_for_another_process_burns_no_processor(
    emulator: EmulatorProcess, three: list[EventProgram]
) -> None:
    signaller, waiter, _ = three
    waiter.do("list_waits", 1)
    waiter.do("list_signals", 2)
    signaller.do("device_waits", 1)
    waiter.begin("cost_of_wait", 2)
    signaller.do("sleepers", 2)
    before = cpu_seconds(emulator.pid)

    # Nobody signals this one: the time passes.
    assert signaller.do("wait_at_most", 7, WALL_MILLISECONDS) == "ZE_RESULT_NOT_READY"

    emulator_seconds = cpu_seconds(emulator.pid) - before
    signaller.do("signal", 1)
    cpu, wall = json.loads(waiter.end())
    assert wall >= WALL_MILLISECONDS / 1000
    assert cpu < MOST_OF_IT * wall
    assert emulator_seconds < MOST_OF_IT * wall


def cpu_seconds(pid: int) -> float:
    """Return how long a process has been on a processor: its main thread and all others."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9
