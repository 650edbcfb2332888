"""Command queues and lists on a real device in this process: what runs, when, and how it ends."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.levelzero import fails

KIB = 1 << 10
MIB = 1 << 20


@contextmanager
def is_not_ready() -> Generator[None]:
    """Expect that the time is up before the work is done."""
    with pytest.raises(ze.ZeError, match="not done") as caught:
        yield
    assert caught.value.result is ze.ZeResult.ZE_RESULT_NOT_READY


SYNCHRONOUS = ze.CommandQueueDesc(mode=ze.CommandQueueMode.SYNCHRONOUS)


@pytest.mark.sentence("MEMMAP-30")
def test_an_immediate_list_runs_what_is_appended_without_being_asked_again(
    context: ze.Context, immediate: ze.CommandList, memory: int
) -> None:
    immediate.append_memory_fill(memory, b"abcd", 64)
    immediate.append_memory_copy(memory + 64, memory, 64)

    immediate.host_synchronize()

    assert context.memory_read(memory, 128) == b"abcd" * 32
    assert immediate.is_immediate()


def test_a_synchronous_list_has_done_its_work_when_the_call_returns(
    context: ze.Context, spec_pair: Pair, device: ze.Device, memory: int
) -> None:
    immediate = context.command_list_create_immediate(device, SYNCHRONOUS)
    with spec_pair.hold():
        immediate.append_memory_fill(memory, b"x", 4)

        immediate.host_synchronize(0)

    assert context.memory_read(memory, 5) == b"xxxx\0"
    immediate.destroy()


def test_a_device_is_done_when_all_its_queues_and_lists_are(
    context: ze.Context, spec_pair: Pair, device: ze.Device, memory: int
) -> None:
    lists = [context.command_list_create_immediate(device) for _ in range(3)]
    with spec_pair.hold():
        for index, each in enumerate(lists):
            each.append_memory_fill(memory + index, b"x", 1)
        with is_not_ready():
            lists[2].host_synchronize(0)

        device.synchronize()

        for each in lists:
            each.host_synchronize(0)
    assert context.memory_read(memory, 4) == b"xxx\0"
    for each in lists:
        each.destroy()


def test_a_regular_list_does_nothing_until_a_queue_executes_it(
    context: ze.Context, queue: ze.CommandQueue, commands: ze.CommandList, memory: int
) -> None:
    commands.append_memory_fill(memory, b"news", 4)
    commands.close()
    assert context.memory_read(memory, 4) == bytes(4)

    queue.execute_command_lists([commands])
    queue.synchronize()

    assert context.memory_read(memory, 5) == b"news\0"
    assert not commands.is_immediate()


def test_a_list_is_executed_as_often_as_wanted_and_encoded_once(
    context: ze.Context, queue: ze.CommandQueue, commands: ze.CommandList, memory: int
) -> None:
    commands.append_memory_copy(memory, memory + 8, 1)
    commands.append_memory_copy(memory + 1, memory + 9, 1)
    commands.close()
    record = commands.target
    encoded = getattr(record, "recorded", None)
    for turn in range(20):
        context.memory_fill(memory + 8, bytes([turn]), 2)

        queue.execute_command_lists([commands])
        queue.synchronize()

        assert context.memory_read(memory, 2) == bytes([turn, turn])
    assert getattr(record, "recorded", None) is encoded


def test_several_lists_run_in_their_order(
    context: ze.Context, device: ze.Device, queue: ze.CommandQueue, memory: int
) -> None:
    lists = [context.command_list_create(device) for _ in range(5)]
    for number, made in enumerate(lists):
        made.append_memory_fill(memory, bytes([number]), 4)
        made.append_memory_copy(memory + 16 * (number + 1), memory, 4)
        made.close()

    queue.execute_command_lists(lists)
    queue.synchronize()

    found = [context.memory_read(memory + 16 * (number + 1), 4) for number in range(5)]
    assert found == [bytes([number]) * 4 for number in range(5)]
    for made in lists:
        made.destroy()


def test_a_list_is_recorded_anew_while_its_last_execution_goes_on(
    context: ze.Context,
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    memory: int,
) -> None:
    commands.append_memory_fill(memory, b"1", 1)
    commands.close()
    with spec_pair.hold():
        queue.execute_command_lists([commands])
        commands.reset()
        commands.append_memory_fill(memory + 1, b"2", 1)
        commands.close()
        queue.execute_command_lists([commands])

    queue.synchronize()

    assert context.memory_read(memory, 3) == b"12\0"


def test_a_time_limit_that_comes_first_changes_nothing(
    context: ze.Context,
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    immediate: ze.CommandList,
    memory: int,
) -> None:
    commands.append_memory_fill(memory, b"y", 1)
    commands.close()
    with spec_pair.hold():
        queue.execute_command_lists([commands])
        immediate.append_memory_fill(memory + 1, b"z", 1)

        for wait in (queue.synchronize, immediate.host_synchronize):
            with is_not_ready():
                wait(0)
        with fails("HANDLE_OBJECT_IN_USE", "not done"):
            queue.destroy()
        with fails("HANDLE_OBJECT_IN_USE", "executed"):
            commands.destroy()
        with fails("HANDLE_OBJECT_IN_USE", "not done"):
            immediate.destroy()
        with fails("HANDLE_OBJECT_IN_USE", "not done"):
            context.destroy()

    queue.synchronize(1000)
    immediate.host_synchronize(ze.INFINITE)
    queue.synchronize(0)
    assert context.memory_read(memory, 3) == b"yz\0"


@pytest.mark.case("D07")
def test_seventy_thousand_commands_all_complete(
    context: ze.Context, queue: ze.CommandQueue, commands: ze.CommandList, memory: int
) -> None:
    for number in range(700):
        commands.append_memory_copy(memory + number * 8, memory + number * 8 + 8, 8)
    commands.append_barrier()
    commands.close()

    for _ in range(100):
        queue.execute_command_lists([commands])
    queue.synchronize()

    assert queue.stream.done == 70_100
    assert context.memory_read(memory, 8) == bytes(8)


@pytest.mark.case("D17")
@pytest.mark.decision("FAULT-03", profile="spec")
def test_a_fault_ends_waits_and_stops_one_queue_until_it_is_destroyed(
    context: ze.Context, device: ze.Device, immediate: ze.CommandList, memory: int
) -> None:
    queue = context.command_queue_create(device)
    broken = context.command_list_create(device)
    hole = context.virtual_mem_reserve(MIB)
    broken.append_memory_copy(hole, memory, 64)
    broken.append_memory_fill(memory, b"no", 4)
    broken.close()

    queue.execute_command_lists([broken])

    for _ in range(3):
        with fails("DEVICE_LOST", f"write {hole:#x}"):
            queue.synchronize()
    with fails("DEVICE_LOST", f"write {hole:#x}"):
        queue.execute_command_lists([broken])
    immediate.append_memory_fill(memory + 8, b"works on", 8)
    immediate.host_synchronize()
    assert context.memory_read(memory, 16) == bytes(8) + b"works on"
    queue.destroy()
    broken.destroy()
    context.virtual_mem_free(hole, MIB)


def test_more_lists_than_the_device_has_queues_are_engines_of_their_own() -> None:
    with pair(DeviceSpec(max_queues=8)) as few, few.driver.create_context() as context:
        (device,) = few.driver.devices
        memory = context.mem_alloc_device(device, KIB)
        lists = [context.command_list_create_immediate(device) for _ in range(40)]
        for turn in range(3):
            for number, made in enumerate(lists):
                made.append_memory_fill(memory + number, bytes([number + turn]), 1)
            for made in reversed(lists):
                made.host_synchronize()
            expected = bytes(number + turn for number in range(40))
            assert context.memory_read(memory, 40) == expected
        for made in lists:
            made.destroy()
        context.mem_free(memory)
        few.assert_nothing_left()


def test_more_commands_than_a_ring_takes_wait_in_the_driver(
    context: ze.Context, spec_pair: Pair, immediate: ze.CommandList, memory: int
) -> None:
    with spec_pair.hold():
        for number in range(3000):
            immediate.append_memory_fill(memory + number, bytes([number % 251]), 1)
        with is_not_ready():
            immediate.host_synchronize(0)

    immediate.host_synchronize()

    assert context.memory_read(memory, 3000) == bytes(number % 251 for number in range(3000))


def test_lists_run_on_an_immediate_list_too(
    context: ze.Context, immediate: ze.CommandList, commands: ze.CommandList, memory: int
) -> None:
    commands.append_memory_fill(memory, b"runs", 4)
    commands.close()

    immediate.immediate_append_command_lists([commands])
    immediate.host_synchronize()

    assert context.memory_read(memory, 5) == b"runs\0"
