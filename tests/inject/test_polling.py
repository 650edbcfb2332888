"""Programs that poll and never wait: they hear in bounded time that their device is lost."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.remote import Faults
from tests.harness.cprograms import compiled
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

BOUND_SECONDS = 5.0
LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
NOT_READY = ze.ZeResult.ZE_RESULT_NOT_READY


@pytest.fixture(name="own", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("faulty"), device_count=2) as emulator:
        yield emulator


@pytest.fixture(name="polling", scope="module")
def make_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("polling", tmp_path_factory.mktemp("programs"))


def polls_until_lost(program: Path, emulator: EmulatorProcess, rule: str) -> None:
    """Run the program; its device is lost once it is ready, and it finds everything lost."""
    with (
        Faults(emulator.path) as faults,
        subprocess.Popen(
            [program],
            env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running,
    ):
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        faults.add(rule)
        next(faults.follow(patience_seconds=BOUND_SECONDS))
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")


@pytest.mark.parametrize("action", ["lost", "remove"])
def test_a_c_program_that_polls_hears_that_its_device_is_lost(
    own: EmulatorProcess, polling: Path, action: str
) -> None:
    polls_until_lost(polling, own, f"device.round {action} device=0 times=1 after_seconds=0.01")


def test_so_does_one_with_a_driver_in_a_process_of_its_own(tmp_path: Path, polling: Path) -> None:
    with emulator_process(tmp_path, apart=True) as emulator:
        polls_until_lost(polling, emulator, "device.round lost times=1 after_seconds=0.01")


def result_of(poll: Callable[[], None]) -> ze.ZeResult | None:
    try:
        poll()
    except ze.ZeError as error:
        return error.result
    return None


def ends_lost(poll: Callable[[], None]) -> bool:
    """Poll until something else is said than "not ready"; return whether it is "lost"."""
    end = time.monotonic() + BOUND_SECONDS
    while (found := result_of(poll)) is NOT_READY and time.monotonic() < end:
        pass
    return found is LOST


@pytest.mark.parametrize("what", ["device", "emulator"])
def test_a_python_program_that_polls_hears_that_its_device_is_lost(
    tmp_path: Path, what: str
) -> None:
    with (
        emulator_process(tmp_path) as own,
        Faults(own.path) as faults,
        ze.connect(own.path, start=None) as driver,
    ):
        context = driver.create_context()
        device = driver.devices[0]
        pool = context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.HOST_VISIBLE))
        event, gate = (pool.event_create(ze.EventDesc(index)) for index in range(2))
        queue = context.command_queue_create(device, ze.CommandQueueDesc())
        fence = queue.fence_create(ze.FenceDesc())
        regular = context.command_list_create(device, ze.CommandListDesc())
        regular.append_wait_on_events([gate])
        regular.close()
        queue.execute_command_lists([regular], fence)
        polls = (
            event.query_status,
            lambda: event.host_synchronize(0),
            fence.query_status,
            lambda: fence.host_synchronize(0),
            lambda: queue.synchronize(0),
        )
        assert {result_of(poll) for poll in polls} == {NOT_READY}
        if what == "emulator":
            own.process.kill()
        else:
            faults.add("device.round lost times=1 after_seconds=0.01")
        assert [ends_lost(poll) for poll in polls] == [True] * len(polls)
