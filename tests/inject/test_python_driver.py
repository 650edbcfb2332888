"""System calls of a Python program's driver that fail: the right error, and nothing left."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from firmware.inject import Board, Injector, parse_rule
from hostdriver import levelzero as ze
from hostdriver.inject.drivers import runner_taps
from hostdriver.inject.faces import function_of
from hostdriver.runtime.attach import attach
from hostdriver.runtime.process import Process
from tests.harness.application_memory import mapped
from tests.harness.emulator_process import EmulatorProcess, emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from firmware.inject import Hit

DMA_BUF = ze.ExternalMemoryTypeFlags.DMA_BUF


@pytest.fixture(name="running", scope="module")
def make_running(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator")) as emulator:
        yield emulator


def held() -> tuple[int, int]:
    """Return how many descriptors and mapped memory files this process has."""
    maps = Path("/proc/self/maps").read_text(encoding="ascii")
    return len(os.listdir("/proc/self/fd")), maps.count("memfd:emuzero")  # noqa: PTH208


class Bench:
    """A driver in this process, and the rules that reach it."""

    def __init__(self, running: EmulatorProcess) -> None:
        process = Process(lambda: attach(running.path))
        self._injector = Injector(time.monotonic)
        taps = runner_taps(process.current().runner, self._injector, no_halt)
        self._board = Board(self._injector, taps)
        self.driver = ze.Driver(process)
        self.context = self.driver.create_context()

    @contextmanager
    def rule(self, line: str) -> Generator[str]:
        """Have a rule meanwhile; it has to fire once."""
        name = self._injector.add(parse_rule(line))
        self._board.update()
        try:
            yield name
            assert [row.fired for row in self._injector.rules()] == [1]
        finally:
            self._injector.remove(name)
            self._board.update()
            assert self._board.installed == 0


def no_halt(hit: Hit, seconds: float) -> None:
    raise AssertionError(f"{hit} for {seconds} s")


@pytest.fixture(name="bench")
def make_bench(running: EmulatorProcess) -> Generator[Bench]:
    bench = Bench(running)
    with bench.driver, bench.context:
        yield bench


def allocate(bench: Bench) -> int:
    return bench.context.mem_alloc_host(4096)


def and_back(bench: Bench, _: int) -> None:
    bench.context.mem_free(allocate(bench))


def export(bench: Bench) -> int:
    desc = ze.DeviceMemAllocDesc(p_next=[ze.ExternalMemoryExportDesc(DMA_BUF)])
    return bench.context.mem_alloc_device(bench.driver.devices[0], 65536, 0, desc)


def alone(bench: Bench) -> int:
    return bench.context.mem_alloc_device(bench.driver.devices[0], 65536)


def handle_of(bench: Bench, pointer: int) -> None:
    bench.context.mem_put_ipc_handle(bench.context.mem_get_ipc_handle(pointer))


def descriptor_of(bench: Bench, _: int) -> None:
    """Ask for the descriptor of memory; the driver gives the same one each time."""
    pointer = export(bench)
    try:
        asked = [ze.ExternalMemoryExportFd(DMA_BUF)]
        bench.context.mem_get_alloc_properties(pointer, asked)
    finally:
        bench.context.mem_free(pointer)


def bring(bench: Bench, pointer: int) -> None:
    """Import memory by a descriptor that came from elsewhere."""
    handle = bench.context.mem_get_ipc_handle(pointer)
    descriptor = os.dup(bench.context.mem_get_file_descriptor_from_ipc_handle_exp(handle))
    try:
        desc = ze.DeviceMemAllocDesc(p_next=[ze.ExternalMemoryImportFd(DMA_BUF, descriptor)])
        device = bench.driver.devices[0]
        bench.context.mem_free(bench.context.mem_alloc_device(device, 65536, 0, desc))
    finally:
        os.close(descriptor)
        bench.context.mem_put_ipc_handle(handle)


class Case(NamedTuple):
    """A call that passes a point, of memory that there is before."""

    point: str
    function: str
    before: Callable[[Bench], int]
    call: Callable[[Bench, int], None]


CASES = (
    Case("map", "zeMemAllocHost", alone, and_back),
    Case("receive", "zeMemAllocHost", alone, and_back),
    Case("ticket", "zeMemGetIpcHandle", alone, handle_of),
    Case("dup", "zeMemGetAllocProperties", alone, descriptor_of),
    Case("duplicate", "zeMemAllocDevice", export, bring),
    Case("send", "zeMemAllocDevice", export, bring),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.point)
@pytest.mark.parametrize("error", ["EMFILE", "EPERM", "ENOMEM"])
def test_a_call_whose_system_call_fails_leaves_nothing_and_works_again(
    case: Case, error: str, running: EmulatorProcess, bench: Bench
) -> None:
    pointer = case.before(bench)
    # What a driver makes once for many calls is made at the first time: it is not left behind.
    case.call(bench, pointer)
    before, here = running.audit(), held()
    line = f"os.driver.{case.point} errno={error} call={case.function}"
    with bench.rule(line) as name, pytest.raises(ze.ZeError) as caught:
        case.call(bench, pointer)
    assert caught.value.result is ze.ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
    assert f"injected by rule '{name}'" in caught.value.description
    assert (running.audit(), held()) == (before, here)
    case.call(bench, pointer)
    assert (running.audit(), held()) == (before, here)
    bench.context.mem_free(pointer)


def test_a_reservation_that_fails_where_it_was_wanted_is_made_elsewhere(bench: Bench) -> None:
    size = 2 << 20
    with mapped(2 * size) as free:
        # Behind it nobody has anything any more; a reservation stands on pages of its size.
        wanted = free + -free % size
    with bench.rule(f"os.driver.reserve errno=EEXIST call=zeVirtualMemReserve address={wanted:#x}"):
        other = bench.context.virtual_mem_reserve(size, wanted)
    assert other != wanted
    bench.context.virtual_mem_free(other, size)
    assert bench.context.virtual_mem_reserve(size, wanted) == wanted
    bench.context.virtual_mem_free(wanted, size)


def test_memory_that_cannot_be_taken_out_of_sight_is_gone_and_its_addresses_are_kept(
    running: EmulatorProcess, bench: Bench
) -> None:
    """A process at its limit of mappings cannot do that: the call frees all the same."""
    bench.context.mem_free(allocate(bench))
    before = running.audit()
    pointer = allocate(bench)
    with bench.rule("os.driver.protect errno=ENOMEM call=zeMemFree"):
        bench.context.mem_free(pointer)
    assert running.audit() == before
    with pytest.raises(ze.ZeError, match="INVALID_ARGUMENT"):
        bench.context.mem_free(pointer)
    bench.context.mem_free(allocate(bench))


def test_other_calls_pass_a_point_that_a_rule_on_one_selects(bench: Bench) -> None:
    with bench.rule("os.driver.map errno=ENOMEM call=zeMemAllocHost"):
        bench.context.mem_free(bench.context.mem_alloc_shared(4096, device=bench.driver.devices[0]))
        with pytest.raises(ze.ZeError, match="OUT_OF_HOST_MEMORY"):
            allocate(bench)


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
