"""Eight threads with one driver on a real emulator: each sees its own bytes, nothing is left."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import EmulatorProcess, emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = 64 << 10
THREADS = 8
ROUNDS = 12
WINDOW = [ze.IpcPhysMemHandleRangeExtDesc(2 * PAGE - 2)]


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator")) as process:
        yield process


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    with ze.connect(emulator.path, start=None) as driver:
        yield driver


def together(count: int, act: Callable[[int], object]) -> list[BaseException]:
    """Have threads begin at once; return what they raised."""
    errors: list[BaseException] = []
    begun = threading.Barrier(count)

    def work(number: int) -> None:
        begun.wait()
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def live(context: ze.Context, device: ze.Device, number: int) -> None:
    """Map, write, export, open, copy and give back, in bytes of one's own."""
    pattern = bytes([number + 1]) * (2 * PAGE)
    va = context.virtual_mem_reserve(2 * PAGE)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(2 * PAGE))
    for page in range(2):
        context.virtual_mem_map(va + page * PAGE, PAGE, physical, page * PAGE)
    context.memory_write(va, pattern)
    handle = context.mem_get_ipc_handle_with_properties(va + 1, WINDOW)
    opened = context.mem_open_ipc_handle(device, handle)
    context.mem_put_ipc_handle(handle)
    copied = context.mem_alloc_device(device, 2 * PAGE - 2)
    context.memory_copy(copied, opened, 2 * PAGE - 2)
    shared = context.mem_alloc_shared(PAGE, 0, device)
    context.memory_copy(shared, copied, PAGE)
    assert context.memory_read(copied, 2 * PAGE - 2) == pattern[:-2]
    assert bytes(context.host_view(shared, PAGE)) == pattern[:PAGE]
    context.mem_close_ipc_handle(opened)
    context.mem_free(copied)
    context.mem_free(shared)
    context.virtual_mem_free(va, 2 * PAGE)
    context.physical_mem_destroy(physical)


def test_threads_see_their_own_bytes_and_leave_nothing(
    driver: ze.Driver, emulator: EmulatorProcess
) -> None:
    context, device = driver.create_context(), driver.devices[0]

    def act(number: int) -> None:
        for _ in range(ROUNDS):
            live(context, device, number)

    assert together(THREADS, act) == []

    state = driver._process.current().state
    state.check()
    tables = (state.reservations, state.mappings, state.allocations, state.imports, state.exports)
    assert [len(table) for table in tables] == [0] * 5
    assert len(state.physical) == 0
    audit = emulator.audit()
    lanes = state.devices[0].lanes
    assert audit.objects == sum(lane.stage is not None for lane in lanes.idle)
    assert (audit.queues, audit.exports, audit.imports) == (lanes.count, 0, 0)


def test_of_threads_that_free_the_same_one_succeeds(driver: ze.Driver) -> None:
    context, device = driver.create_context(), driver.devices[0]
    for _ in range(ROUNDS):
        pointer = context.mem_alloc_device(device, PAGE)
        errors = together(THREADS, lambda _, freed=pointer: context.mem_free(freed))  # type: ignore[misc]
        results = [error.result for error in errors if isinstance(error, ze.ZeError)]
        assert results == [ze.ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT] * (THREADS - 1)
