"""Ends of events on a real emulator: who was told that work is done may destroy its events."""

import os
import threading

from hostdriver import levelzero as ze
from tests.harness.levelzero import fails

ROUNDS = 50
SIZE = 1 << 16
BEHIND = 50


def test_an_event_may_be_destroyed_as_soon_as_its_signal_was_seen(
    context: ze.Context, device: ze.Device
) -> None:
    memory = context.mem_alloc_device(device, SIZE)
    queue = context.command_queue_create(device)
    commands = context.command_list_create(device)
    with context.event_pool_create(ze.EventPoolDesc(2)) as pool:
        for _ in range(ROUNDS):
            first, second = (pool.event_create(ze.EventDesc(index)) for index in range(2))
            commands.append_barrier(first)
            commands.append_barrier(second, [first])
            for _ in range(BEHIND):
                # The device goes on with these, before it tells how far it is.
                commands.append_memory_fill(memory, b"x", SIZE)
            commands.close()
            queue.execute_command_lists([commands])

            second.host_synchronize()

            first.destroy()
            second.host_reset()
            second.destroy()
            commands.reset()
    queue.synchronize()
    for made in (commands, queue):
        made.destroy()
    context.mem_free(memory)


def test_a_fence_may_be_destroyed_as_soon_as_it_was_seen(
    context: ze.Context, device: ze.Device
) -> None:
    queue = context.command_queue_create(device)
    commands = context.command_list_create(device)
    commands.append_barrier()
    commands.close()
    for _ in range(ROUNDS):
        fence = queue.fence_create()
        queue.execute_command_lists([commands], fence)
        fence.host_synchronize()
        fence.destroy()
    queue.synchronize()
    commands.destroy()
    queue.destroy()


def test_an_event_that_a_thread_waits_for_is_not_destroyed(context: ze.Context) -> None:
    with context.event_pool_create(ze.EventPoolDesc(1)) as pool:
        event = pool.event_create()
        waiter = threading.Thread(target=event.host_synchronize)
        waiter.start()
        while not event.record.waiters:
            os.sched_yield()

        with fails("HANDLE_OBJECT_IN_USE", "1 calls wait"):
            event.destroy()

        event.host_signal()
        waiter.join()
        event.destroy()
