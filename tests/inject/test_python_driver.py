"""System calls of a Python program's driver that fail: the right error, and nothing left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.inject import Board, Injector, parse_rule
from hostdriver import levelzero as ze
from hostdriver.inject.drivers import runner_taps
from hostdriver.inject.faces import function_of
from hostdriver.runtime.attach import attach
from hostdriver.runtime.process import Process
from tests.harness.emulator_process import EmulatorProcess, emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(name="running", scope="module")
def make_running(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator")) as emulator:
        yield emulator


def held() -> tuple[int, int]:
    """Return how many descriptors and mapped memory files this process has."""
    maps = Path("/proc/self/maps").read_text(encoding="ascii")
    return len(os.listdir("/proc/self/fd")), maps.count("memfd:emuzero")  # noqa: PTH208


@pytest.mark.parametrize("point", ["map", "receive"])
@pytest.mark.parametrize("error", ["EMFILE", "EPERM", "ENOMEM"])
def test_a_call_whose_system_call_fails_leaves_nothing_and_works_again(
    point: str, error: str, running: EmulatorProcess
) -> None:
    process = Process(lambda: attach(running.path))
    injector = Injector(time.monotonic)
    board = Board(injector, runner_taps(process.current().runner, injector))
    with ze.Driver(process) as driver, driver.create_context() as context:
        context.mem_free(context.mem_alloc_host(4096))
        before, here = running.audit(), held()
        name = injector.add(parse_rule(f"os.driver.{point} errno={error}"))
        board.update()
        with pytest.raises(ze.ZeError) as caught:
            context.mem_alloc_host(4096)
        assert caught.value.result is ze.ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        assert f"injected by rule '{name}'" in caught.value.description
        assert (running.audit(), held()) == (before, here)
        injector.remove(name)
        board.update()
        assert board.installed == 0
        context.mem_free(context.mem_alloc_host(4096))
        assert (running.audit(), held()) == (before, here)


def test_calls_are_refused_and_fail_late_by_name_and_work_again(running: EmulatorProcess) -> None:
    process = Process(lambda: attach(running.path))
    injector = Injector(time.monotonic)
    board = Board(injector, runner_taps(process.current().runner, injector))
    with ze.Driver(process) as driver, driver.create_context() as context:
        plain = type(context).mem_alloc_device
        before = running.audit()
        for action, left in (("refuse", 0), ("fail_late", 1)):
            line = f"api.zeMemAllocDevice {action}=ZE_RESULT_ERROR_DEVICE_LOST name=mine"
            injector.add(parse_rule(line))
            board.update()
            with pytest.raises(ze.ZeError, match="by rule 'mine': zeMemAllocDevice") as caught:
                context.mem_alloc_device(driver.devices[0], 65536)
            assert caught.value.result is ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
            # The outputs of a call that fails are lost in Python: so is what it made.
            assert running.audit().objects == before.objects + left
            injector.remove("mine")
            board.update()
        assert type(context).mem_alloc_device is plain
        context.mem_free(context.mem_alloc_device(driver.devices[0], 65536))


@pytest.mark.parametrize(
    ("kind", "method", "function"),
    [
        ("Context", "mem_alloc_device", "zeMemAllocDevice"),
        ("Context", "destroy", "zeContextDestroy"),
        ("CounterEvent", "host_synchronize", "zeEventHostSynchronize"),
        ("CommandList", "append_memory_copy", "zeCommandListAppendMemoryCopy"),
        ("Driver", "create_context", "zeContextCreate"),
        ("Context", "memory_copy", ""),
        ("Driver", "run", ""),
    ],
)
def test_methods_are_the_functions_of_their_names(kind: str, method: str, function: str) -> None:
    assert function_of(kind, method) == function
