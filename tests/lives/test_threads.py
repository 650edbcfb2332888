"""Eight threads with one driver on a real emulator: each sees its own bytes, nothing is left."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, final

from hostdriver import levelzero as ze
from hostdriver.core.commandqueues_rings import STREAM_ENTRIES
from tests.harness.levelzero import fails

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from hostdriver.core.questions import AnyQuestion, Operation
    from tests.harness.emulator_process import EmulatorProcess

PAGE = 64 << 10
THREADS = 8
ROUNDS = 12
PATIENCE_NANOSECONDS = 30 * 10**9
WINDOW = [ze.IpcPhysMemHandleRangeExtDesc(2 * PAGE - 2)]


@final
class Ahead:
    """Threads that are at their end before whoever began them goes on.

    An event that holds their stream up is signalled when one has begun.
    """

    is_waiting = False

    def __init__(self, event: ze.Event) -> None:
        self._event = event
        self.count = 0

    def begin(
        self, operation: Operation[None], drive: Callable[[Operation[None]], None]
    ) -> str | None:
        self.count += 1
        thread = threading.Thread(target=drive, args=(operation,))
        thread.start()
        self._event.host_signal()
        thread.join()
        return None

    def advance(self, answer: Callable[[AnyQuestion], object]) -> None:
        del answer

    def end(self) -> None:
        pass


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


def test_work_goes_on_when_what_pushes_it_was_over_before_the_call_that_began_it(
    driver: ze.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, device = driver.create_context(), driver.devices[0]
    event = context.event_pool_create(ze.EventPoolDesc(1)).event_create()
    commands = context.command_list_create_immediate(device)
    ahead = Ahead(event)
    monkeypatch.setattr(driver._process.current().runner, "_beside", ahead)

    commands.append_wait_on_events([event])
    for _ in range(4 * STREAM_ENTRIES):
        commands.append_barrier()

    assert ahead.count
    commands.host_synchronize(PATIENCE_NANOSECONDS)


def test_a_blocking_free_waits_for_work_that_does_not_fit_into_its_ring(driver: ze.Driver) -> None:
    context, device = driver.create_context(), driver.devices[0]
    event = context.event_pool_create(ze.EventPoolDesc(1)).event_create()
    commands = context.command_list_create_immediate(device)
    target, freed = (context.mem_alloc_device(device, PAGE) for _ in range(2))
    context.memory_fill(freed, b"kept", PAGE)
    (stream,) = driver._process.current().state.streams.values()
    commands.append_wait_on_events([event])
    for _ in range(2 * STREAM_ENTRIES):
        commands.append_barrier()
    commands.append_memory_copy(target, freed, 4)
    assert stream.backlog
    policy = ze.MemoryFreeExtDesc(ze.DriverMemoryFreePolicyExtFlags.BLOCKING_FREE)
    free = threading.Thread(target=context.mem_free_ext, args=(policy, freed))

    free.start()
    while free.is_alive() and not stream.waiters:
        os.sched_yield()
    assert free.is_alive()
    event.host_signal()
    free.join()

    commands.host_synchronize(0)
    assert context.memory_read(target, 4) == b"kept"
    with fails("INVALID_ARGUMENT", "no memory that this driver allocated"):
        context.mem_free(freed)
