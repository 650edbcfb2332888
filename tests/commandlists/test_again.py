"""Regular lists that are executed again: each signal of a counting event is one of its own."""

from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair


@pytest.fixture(name="counter")
def make_counter(context: ze.Context, device: ze.Device) -> Iterator[ze.CounterEvent]:
    made = context.event_counter_based_create(device)
    yield made
    made.destroy()


def test_each_execution_of_a_list_is_a_signal_of_its_own(
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    counter: ze.CounterEvent,
    memory: int,
) -> None:
    commands.append_memory_fill(memory, b"1", 1, counter)
    commands.close()

    for _ in range(3):
        with spec_pair.hold():
            queue.execute_command_lists([commands])
            assert not counter.is_signalled()
        counter.host_synchronize()
    queue.synchronize()


def test_a_wait_ends_with_the_execution_that_was_the_last_before_it(
    context: ze.Context,
    device: ze.Device,
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    counter: ze.CounterEvent,
    memory: int,
) -> None:
    commands.append_memory_copy(memory + 1, memory, 1, counter)
    commands.close()
    queue.execute_command_lists([commands])
    queue.synchronize()
    other = context.command_list_create_immediate(device)
    context.memory_fill(memory, b"2", 1)
    with spec_pair.hold():
        queue.execute_command_lists([commands])
        other.append_memory_copy(memory + 2, memory + 1, 1, None, [counter])
    other.host_synchronize()

    assert context.memory_read(memory, 3) == b"222"
    queue.synchronize()
    other.destroy()


def test_a_list_that_stands_twice_in_one_call_signals_twice(
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    counter: ze.CounterEvent,
    memory: int,
) -> None:
    commands.append_barrier()
    commands.append_memory_fill(memory, b"1", 1, counter)
    commands.append_signal_event(counter)
    commands.close()

    queue.execute_command_lists([commands, commands])
    queue.synchronize()

    record = counter.record
    assert record.slot.pool.memory.load(record.slot.index).value == record.expected == 4


def test_a_list_that_was_reset_begins_with_the_numbers_of_its_new_appends(
    queue: ze.CommandQueue, commands: ze.CommandList, counter: ze.CounterEvent
) -> None:
    for _ in range(2):
        commands.append_signal_event(counter)
        commands.close()
        queue.execute_command_lists([commands])
        queue.synchronize()
        assert counter.is_signalled()
        commands.reset()

    assert counter.record.expected == 2
