"""An emulator that dies under a program: every call is told DEVICE_LOST, whoever waits too."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = 64 << 10
LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
BOUND_SECONDS = 5.0


@pytest.mark.decision("FAULT-05")
def test_every_call_and_every_waiting_thread_is_told(tmp_path: Path) -> None:
    told: list[ze.ZeResult] = []
    with emulator_process(tmp_path) as emulator:
        driver = ze.connect(emulator.path, start=None)
        context, device = driver.create_context(), driver.devices[0]
        va = context.virtual_mem_reserve(2 * PAGE)
        physical = context.physical_mem_create(device, ze.PhysicalMemDesc(PAGE))
        context.virtual_mem_map(va, PAGE, physical)
        handle = context.mem_get_ipc_handle(va)
        opened = context.mem_open_ipc_handle(device, handle)
        memory = [context.mem_alloc_device(device, PAGE), context.mem_alloc_shared(PAGE, 0, device)]
        large = context.mem_alloc_device(device, 16 << 20)
        begun = threading.Barrier(5)

        def work() -> None:
            begun.wait()
            try:
                while True:
                    context.memory_fill(large, b"\1", 16 << 20)
                    context.mem_free(context.mem_alloc_host(PAGE))
            except ze.ZeError as error:
                told.append(error.result)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        emulator.process.kill()
        start = time.monotonic()
        for thread in threads:
            thread.join()
        assert told == [LOST] * 4

        calls: dict[str, Callable[[], object]] = {
            "allocate": lambda: context.mem_alloc_device(device, PAGE),
            "allocate host": lambda: context.mem_alloc_host(PAGE),
            "release": lambda: context.mem_free(memory[0]),
            "release shared": lambda: context.mem_free(memory[1]),
            "create": lambda: context.physical_mem_create(device, ze.PhysicalMemDesc(PAGE)),
            "map": lambda: context.virtual_mem_map(va + PAGE, PAGE, physical),
            "access": lambda: context.virtual_mem_set_access_attribute(va, PAGE, 2),
            "unmap": lambda: context.virtual_mem_unmap(va, PAGE),
            "free": lambda: context.virtual_mem_free(va, 2 * PAGE),
            "window": lambda: context.mem_get_ipc_handle_with_properties(
                va, [ze.IpcPhysMemHandleRangeExtDesc(5)]
            ),
            "open": lambda: context.mem_open_ipc_handle(device, handle),
            "close": lambda: context.mem_close_ipc_handle(opened),
            "read": lambda: context.memory_read(va, 5),
            "copy": lambda: context.memory_copy(va, large, 5),
        }
        for name, call in calls.items():
            for _ in range(2):
                with pytest.raises(ze.ZeError) as caught:
                    call()
                assert caught.value.result is LOST, name
        assert time.monotonic() - start < BOUND_SECONDS
        driver._process.current().state.check()
        driver.close()
