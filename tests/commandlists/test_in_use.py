"""What work uses that is not done is not destroyed: events, fences, pools, lists, queues, contexts.

Wherever the work stands: in the ring of a device, behind a wait there, or in the driver still.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair
from tests.harness.levelzero import fails

RING = 256
TIMES = ze.EventPoolFlags.KERNEL_TIMESTAMP | ze.EventPoolFlags.HOST_VISIBLE


@pytest.fixture(name="pool")
def make_pool(context: ze.Context) -> Iterator[ze.EventPool]:
    with context.event_pool_create(ze.EventPoolDesc(4, TIMES)) as made:
        yield made


@pytest.fixture(name="gate")
def make_gate(pool: ze.EventPool) -> Iterator[ze.Event]:
    """Return an event that holds work up until it is signalled."""
    made = pool.event_create(ze.EventDesc(0))
    yield made
    made.destroy()


@pytest.fixture(name="event")
def make_event(pool: ze.EventPool) -> ze.Event:
    """Return an event that the test destroys."""
    return pool.event_create(ze.EventDesc(1))


@contextmanager
def is_in_use() -> Generator[None]:
    with fails("HANDLE_OBJECT_IN_USE"):
        yield


Append = Callable[[ze.CommandList, ze.Event, int], None]
APPENDS: dict[str, Append] = {
    "wait": lambda commands, event, memory: commands.append_wait_on_events([event]),
    "signal": lambda commands, event, memory: commands.append_signal_event(event),
    "reset": lambda commands, event, memory: commands.append_event_reset(event),
    "times": lambda commands, event, memory: commands.append_query_kernel_timestamps(
        [event], memory
    ),
    "wait of a copy": lambda commands, event, memory: commands.append_memory_copy(
        memory, memory + 8, 4, None, [event]
    ),
    "signal of a barrier": lambda commands, event, memory: commands.append_barrier(event),
}


@pytest.mark.error("EventDestroy", "HIU")
@pytest.mark.parametrize("behind", [0, 2 * RING], ids=["ring", "backlog"])
@pytest.mark.parametrize("name", APPENDS)
def test_an_event_that_waiting_work_names_is_not_destroyed(
    gate: ze.Event,
    event: ze.Event,
    immediate: ze.CommandList,
    memory: int,
    name: str,
    behind: int,
) -> None:
    immediate.append_wait_on_events([gate])
    for _ in range(behind):
        immediate.append_barrier()
    APPENDS[name](immediate, event, memory)
    immediate.append_barrier()

    with is_in_use():
        event.destroy()

    gate.host_signal()
    event.host_signal()
    immediate.host_synchronize()
    event.destroy()


def test_an_event_of_a_list_is_in_use_while_the_list_is_executed_and_free_between(
    gate: ze.Event, event: ze.Event, queue: ze.CommandQueue, commands: ze.CommandList
) -> None:
    commands.append_barrier(event, [gate])
    commands.close()
    for _ in range(2):
        queue.execute_command_lists([commands])
        with is_in_use():
            event.destroy()
        with is_in_use():
            gate.destroy()
        gate.host_signal()
        queue.synchronize()
        gate.host_reset()
    event.destroy()


def test_events_around_lists_on_an_immediate_one_are_in_use(
    pool: ze.EventPool,
    gate: ze.Event,
    event: ze.Event,
    immediate: ze.CommandList,
    commands: ze.CommandList,
) -> None:
    second = pool.event_create(ze.EventDesc(2))
    commands.close()
    immediate.immediate_append_command_lists([commands], event, [gate, second])

    for used in (event, second):
        with is_in_use():
            used.destroy()
    for used in (gate, second):
        used.host_signal()
    immediate.host_synchronize()
    event.destroy()
    second.destroy()


def test_a_list_that_names_a_destroyed_event_is_not_executed(
    event: ze.Event,
    queue: ze.CommandQueue,
    immediate: ze.CommandList,
    commands: ze.CommandList,
    gate: ze.Event,
) -> None:
    commands.append_signal_event(event)
    commands.close()
    event.destroy()

    with fails("INVALID_ARGUMENT", "was destroyed"):
        queue.execute_command_lists([commands])
    with fails("INVALID_ARGUMENT", "was destroyed"):
        immediate.immediate_append_command_lists([commands], gate)

    immediate.host_synchronize(0)
    assert not gate.is_signalled()
    commands.reset()
    commands.append_signal_event(gate)
    commands.close()
    queue.execute_command_lists([commands])
    queue.synchronize()
    assert gate.is_signalled()


def test_a_counting_event_is_in_use_until_its_signal_came(
    context: ze.Context, device: ze.Device, gate: ze.Event, immediate: ze.CommandList
) -> None:
    counter = context.event_counter_based_create(device)
    immediate.append_barrier(counter, [gate])

    with is_in_use():
        counter.destroy()

    gate.host_signal()
    counter.host_synchronize()
    counter.destroy()
    immediate.host_synchronize()


@pytest.mark.error("FenceDestroy", "HIU")
def test_a_fence_is_in_use_until_its_lists_are_done(
    gate: ze.Event, queue: ze.CommandQueue, commands: ze.CommandList
) -> None:
    fence = queue.fence_create()
    commands.append_wait_on_events([gate])
    commands.close()
    queue.execute_command_lists([commands], fence)

    with is_in_use():
        fence.destroy()

    gate.host_signal()
    fence.host_synchronize()
    fence.destroy()


@pytest.mark.error("CommandListDestroy", "HIU")
@pytest.mark.error("CommandQueueDestroy", "HIU")
@pytest.mark.error("ContextDestroy", "HIU")
def test_a_list_is_in_use_while_a_queue_executes_it(
    context: ze.Context, device: ze.Device, gate: ze.Event, queue: ze.CommandQueue
) -> None:
    commands = context.command_list_create(device)
    commands.append_wait_on_events([gate])
    commands.close()
    queue.execute_command_lists([commands])

    with is_in_use():
        commands.destroy()
    with is_in_use():
        queue.destroy()
    with is_in_use():
        context.destroy()

    gate.host_signal()
    queue.synchronize()
    commands.destroy()


def test_work_that_failed_uses_nothing_any_more(
    context: ze.Context, device: ze.Device, spec_pair: Pair, pool: ze.EventPool
) -> None:
    event = pool.event_create(ze.EventDesc(1))
    broken = context.command_list_create_immediate(device)
    hole = context.virtual_mem_reserve(1 << 16)
    with spec_pair.hold():
        broken.append_memory_fill(hole, b"x", 1)
        broken.append_barrier(event)

        event.destroy()

    with fails("DEVICE_LOST"):
        broken.host_synchronize()
    broken.destroy()
    context.virtual_mem_free(hole, 1 << 16)


def test_a_pool_that_was_opened_is_closed_with_its_events(
    context: ze.Context, spec_pair: Pair, gate: ze.Event
) -> None:
    desc = ze.EventPoolDesc(2, ze.EventPoolFlags.IPC)
    with context.event_pool_create(desc) as made:
        handle = made.get_ipc_handle()
        opened = context.event_pool_open_ipc_handle(handle)
        waited, other = (opened.event_create(ze.EventDesc(index)) for index in range(2))
        immediate = context.command_list_create_immediate(spec_pair.driver.devices[0])
        immediate.append_wait_on_events([gate])
        immediate.append_wait_on_events([waited])

        with is_in_use():
            opened.close_ipc_handle()

        # It is as it was.
        gate.host_signal()
        waited.host_signal()
        immediate.host_synchronize()
        opened.close_ipc_handle()
        for event in (waited, other):
            with fails("INVALID_ARGUMENT", "was destroyed"):
                event.host_signal()
            with fails("INVALID_ARGUMENT", "was destroyed"):
                event.destroy()
        immediate.destroy()
