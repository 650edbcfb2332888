"""Tests of a user that fail, each in another way."""

import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Any

import pytest

from hostdriver import levelzero as ze
from hostdriver.pytestplugin.steps import Steps

KEPT: list[ze.Driver | IO[str]] = []


def test_an_allocation_is_left(emuzero_context: ze.Context, emuzero_driver: ze.Driver) -> None:
    emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)
    emuzero_context.mem_alloc_host(4096)


def test_a_list_is_left(emuzero_context: ze.Context, emuzero_driver: ze.Driver) -> None:
    emuzero_context.command_list_create(emuzero_driver.devices[0])


def test_a_descriptor_is_left(emuzero_device: Any) -> None:
    KEPT.append(Path("/dev/null").open())  # noqa: SIM115 - it is what is left


def test_a_driver_is_left(emuzero_device: Any) -> None:
    driver = ze.connect()
    driver.create_context().mem_alloc_device(driver.devices[0], 4096)
    KEPT.append(driver)


def test_a_shared_emulator_keeps_something(emuzero_session_device: Any) -> None:
    KEPT.append(ze.connect(emuzero_session_device.socket, start=None))


def test_the_test_fails_by_itself(emuzero_context: ze.Context, emuzero_driver: ze.Driver) -> None:
    emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)
    raise AssertionError("as it wanted")


def test_the_emulator_dies(emuzero_device: Any) -> None:
    os.kill(emuzero_device.pid, signal.SIGKILL)
    emuzero_device.report()


def test_the_emulator_dies_unseen(emuzero_device: Any) -> None:
    poll = select.poll()
    pidfd = os.pidfd_open(emuzero_device.pid)
    poll.register(pidfd, select.POLLIN)
    os.kill(emuzero_device.pid, signal.SIGKILL)
    poll.poll()
    os.close(pidfd)


@pytest.mark.emuzero(spec="vram = 1")
def test_the_emulator_does_not_start(emuzero_device: Any) -> None:
    raise AssertionError("nobody comes here")


@pytest.mark.emuzero(device=2)
def test_the_marker_is_wrong(emuzero_device: Any) -> None:
    raise AssertionError("nobody comes here")


@pytest.mark.emuzero(profile="other")
def test_the_profile_is_wrong(emuzero_device: Any) -> None:
    raise AssertionError("nobody comes here")


@pytest.mark.emuzero(trace=True)
def test_a_program_leaves_memory(emuzero_run: Any) -> None:
    emuzero_run([os.environ["DIRTY_PROGRAM"]]).check()


def test_a_program_ends_badly(emuzero_run: Any) -> None:
    emuzero_run(["sh", "-c", "echo said; echo cried >&2; kill -SEGV $$"]).check()


def test_a_program_does_not_end(emuzero_run: Any) -> None:
    emuzero_run(["sh", "-c", "echo begun; cat /dev/zero >/dev/null"], timeout=0.5)


def test_there_is_no_such_program(emuzero_run: Any) -> None:
    emuzero_run(["/no/such/program"])


def wait(steps: Steps) -> None:
    steps.meet("start")
    steps.receive("what nobody sends")


def fail(steps: Steps) -> None:
    steps.meet("start")
    print("words of the one that fails")  # noqa: T201 - it is what the failure shows
    raise ValueError("a reason")


def die(steps: Steps) -> None:
    steps.meet("start")
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(steps: Steps) -> None:
    steps.meet("start")
    sys.exit(4)


def turn(steps: Steps) -> None:
    steps.meet("start")
    threading.Event().wait()


def refuse(steps: Steps) -> object:
    return object()


def test_one_process_raises(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)
    emuzero_processes.importer(fail)
    emuzero_processes.join()


def test_one_process_dies(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)
    emuzero_processes.importer(die)
    emuzero_processes.join()


def test_one_process_exits(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)
    emuzero_processes.importer(leave)
    emuzero_processes.join()


def test_processes_wait_for_nothing(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)
    emuzero_processes.importer(wait)
    emuzero_processes.join()


def test_one_process_takes_too_long(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)
    emuzero_processes.importer(turn)
    emuzero_processes.wait_for("start")
    emuzero_processes.timeout = 0.3
    emuzero_processes.join()


def test_processes_are_not_joined(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(wait)


def test_a_function_of_a_test_cannot_be_run(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(lambda steps: None)


def test_a_value_cannot_be_sent(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(refuse)
    emuzero_processes.join()


def test_there_is_no_such_command(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(["/no/such/program"])
    emuzero_processes.join()
