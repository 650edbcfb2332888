"""Queues that fail: who is told, and what goes on."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair
from tests.harness.levelzero import fails

MIB = 1 << 20
LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
RING = 256


@contextmanager
def a_fault_behind_a_full_ring(
    world: Pair, context: ze.Context, signal: ze.Event | None
) -> Generator[ze.CommandList]:
    """Append so much that the last signal waits in the driver; the first command faults."""
    (device, *_) = world.driver.devices
    broken = context.command_list_create_immediate(device)
    hole = context.virtual_mem_reserve(MIB)
    with world.hold():
        broken.append_memory_fill(hole, b"x", 1)
        for _ in range(2 * RING):
            broken.append_barrier()
        broken.append_signal_event(signal)
    yield broken
    broken.destroy()
    context.virtual_mem_free(hole, MIB)


def test_a_wait_for_a_signal_that_was_still_to_be_handed_to_the_device_ends(
    context: ze.Context, spec_pair: Pair
) -> None:
    pool = context.event_pool_create(ze.EventPoolDesc(count=1))
    event = pool.event_create(ze.EventDesc(0))

    with a_fault_behind_a_full_ring(spec_pair, context, event):
        with fails("DEVICE_LOST", "will not be signalled"):
            event.host_synchronize()
        with fails("DEVICE_LOST", "will not be signalled"):
            event.query_status()

    event.host_reset()
    assert not event.is_signalled()
    event.host_signal()
    event.host_synchronize()
    for made in (event, pool):
        made.destroy()


def test_work_that_waits_for_such_a_signal_fails_too(
    context: ze.Context, spec_pair: Pair, device: ze.Device, memory: int
) -> None:
    pool = context.event_pool_create(ze.EventPoolDesc(count=1))
    event = pool.event_create(ze.EventDesc(0))
    waiting = context.command_list_create_immediate(device)
    waiting.append_memory_fill(memory, b"late", 4, None, [event])

    with (
        a_fault_behind_a_full_ring(spec_pair, context, event),
        fails("DEVICE_LOST", "will not be signalled"),
    ):
        waiting.host_synchronize()

    assert context.memory_read(memory, 4) == bytes(4)
    for made in (waiting, event, pool):
        made.destroy()


def test_a_failed_queue_shows_in_the_status_of_its_context_alone(spec_pair: Pair) -> None:
    with spec_pair.driver.create_context() as context, spec_pair.driver.create_context() as other:
        pool = context.event_pool_create(ze.EventPoolDesc(count=1))
        event = pool.event_create(ze.EventDesc(0))
        with (
            a_fault_behind_a_full_ring(spec_pair, context, event) as broken,
            fails("DEVICE_LOST", "nothing is mapped there"),
        ):
            broken.host_synchronize()

        assert context.get_status() is LOST
        assert other.get_status() is ze.ZeResult.ZE_RESULT_SUCCESS
        for made in (event, pool):
            made.destroy()
    spec_pair.assert_nothing_left()


@pytest.mark.decision("FAULT-03", profile="intel")
def test_a_fault_stops_the_other_queues_of_its_context_too() -> None:
    with (
        pair(profile="intel") as world,
        world.driver.create_context() as context,
        world.driver.create_context() as bystander,
    ):
        (device,) = world.driver.devices
        memory = context.mem_alloc_device(device, MIB)
        pool = context.event_pool_create(ze.EventPoolDesc(count=1))
        event = pool.event_create(ze.EventDesc(0))
        queue = context.command_queue_create(device)
        other = bystander.command_list_create_immediate(device)
        commands = context.command_list_create(device)
        commands.append_memory_fill(memory, b"no", 2)
        commands.close()
        with a_fault_behind_a_full_ring(world, context, event) as broken:
            with fails("DEVICE_LOST"):
                broken.host_synchronize()
            with fails("DEVICE_LOST", "nothing is mapped there"):
                queue.synchronize()
            with fails("DEVICE_LOST", "nothing is mapped there"):
                queue.execute_command_lists([commands])
        other.append_memory_fill(memory + 2, b"w", 1)
        other.host_synchronize()
        anew = context.command_queue_create(device)
        anew.execute_command_lists([commands])
        anew.synchronize()
        assert context.memory_read(memory, 3) == b"now"
        for made in (anew, queue, other, commands, event, pool):
            made.destroy()
        context.mem_free(memory)
        world.assert_nothing_left()


def test_a_wait_for_a_device_tells_of_the_list_that_failed_and_waits_for_the_others(
    context: ze.Context, spec_pair: Pair, device: ze.Device, memory: int
) -> None:
    hole = context.virtual_mem_reserve(MIB)
    broken, sound = (context.command_list_create_immediate(device) for _ in range(2))
    with spec_pair.hold():
        broken.append_memory_fill(hole, b"x", 1)
        sound.append_memory_fill(memory, b"x", 1)

        with fails("DEVICE_LOST", f"{hole:#x}"):
            device.synchronize()

        sound.host_synchronize(0)
    for made in (broken, sound):
        made.destroy()
    context.virtual_mem_free(hole, MIB)
