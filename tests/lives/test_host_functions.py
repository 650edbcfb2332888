"""Functions of Python programs among their work: in a thread, and every end."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from tests.harness.children import child, hear, say
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    before = emulator.audit()
    with ze.connect(emulator.path, start=None) as driver:
        yield driver
    assert emulator.audit().free_bytes == before.free_bytes


def test_functions_run_in_a_thread_of_the_driver_in_their_order(driver: ze.Driver) -> None:
    called: list[object] = []
    threads: set[int] = set()

    def note(data: object) -> None:
        threads.add(threading.get_ident())
        called.append(data)

    with driver.create_context() as context:
        commands = context.command_list_create_immediate(driver.devices[0])
        for number in range(100):
            commands.append_host_function(note, number)
        commands.host_synchronize()
        commands.destroy()

    assert called == list(range(100))
    assert threads.isdisjoint({threading.get_ident()})


def test_a_function_that_takes_its_time_holds_its_own_list_alone(driver: ze.Driver) -> None:
    go = threading.Event()
    called: list[object] = []
    with driver.create_context() as context:
        slow, quick = (context.command_list_create_immediate(driver.devices[0]) for _ in range(2))
        slow.append_host_function(lambda _: go.wait())
        slow.append_host_function(called.append, "slow")
        for number in range(3):
            quick.append_host_function(called.append, number)
        quick.host_synchronize()
        assert called == [0, 1, 2]
        go.set()
        slow.host_synchronize()
        assert called == [0, 1, 2, "slow"]
        slow.destroy()
        quick.destroy()


def test_a_function_may_fork_and_both_go_on(driver: ze.Driver) -> None:
    statuses: list[int] = []

    def fork(_: object) -> None:
        if (pid := os.fork()) == 0:
            with driver.create_context() as mine:
                mine.mem_free(mine.mem_alloc_host(4096))
            os._exit(5)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    with driver.create_context() as context:
        commands = context.command_list_create_immediate(driver.devices[0])
        commands.append_host_function(fork)
        commands.append_host_function(fork)
        commands.host_synchronize()
        commands.destroy()

    assert statuses == [5, 5]


def test_a_driver_that_closes_while_a_function_runs_calls_no_other(
    emulator: EmulatorProcess,
) -> None:
    begun, go, over = (threading.Event() for _ in range(3))
    called: list[object] = []

    def stay(_: object) -> None:
        begun.set()
        go.wait()
        over.set()

    driver = ze.connect(emulator.path, start=None)
    commands = driver.create_context().command_list_create_immediate(driver.devices[0])
    commands.append_host_function(stay)
    commands.append_host_function(called.append)
    begun.wait()
    started = time.monotonic()
    driver.close()
    took = time.monotonic() - started
    go.set()
    over.wait()

    # It waits for whoever is inside, for a while.
    assert took < 30
    assert called == []


def test_an_emulator_that_ends_while_a_function_runs_ends_every_wait(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()
    called: list[object] = []
    with emulator_process(tmp_path) as emulator:
        driver = ze.connect(emulator.path, start=None)
        context = driver.create_context()
        commands = context.command_list_create_immediate(driver.devices[0])
        commands.append_host_function(lambda _: begun.set())
        commands.append_host_function(lambda _: go.wait())
        commands.append_host_function(called.append)
        begun.wait()
        emulator.process.kill()

        with pytest.raises(ze.ZeError) as caught:
            commands.host_synchronize()
        assert caught.value.result is LOST
        go.set()
        with pytest.raises(ze.ZeError):
            commands.append_host_function(called.append)
        driver.close()
    assert called == []


def test_a_program_that_ends_in_a_function_leaves_nothing(emulator: EmulatorProcess) -> None:
    before = emulator.audit()

    with child("tests.lives.test_host_functions", "stay", emulator.path) as program:
        assert program.hear() == "in a function"
        program.say()
        assert program.end() == 0

    assert emulator.audit() == before


def stay(path: str) -> None:
    """Call a function that does not return; end by and by, by falling off the program."""
    driver = ze.connect(path, start=None)
    commands = driver.create_context().command_list_create_immediate(driver.devices[0])

    def tell(_: object) -> None:
        say("in a function")
        threading.Event().wait()

    commands.append_host_function(tell)
    hear()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
