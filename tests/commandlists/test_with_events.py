"""Lists that wait for events and signal them, and fences."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair


@contextmanager
def fails_not_ready() -> Generator[None]:
    with pytest.raises(ze.ZeError, match="is not signalled") as caught:
        yield
    assert caught.value.result is ze.ZeResult.ZE_RESULT_NOT_READY


def test_a_list_waits_for_an_event_that_the_host_signals_later_and_others_go_on(
    context: ze.Context,
    spec_pair: Pair,
    device: ze.Device,
    immediate: ze.CommandList,
    memory: int,
) -> None:
    pool = context.event_pool_create(ze.EventPoolDesc(count=2))
    first, second = (pool.event_create(ze.EventDesc(index)) for index in range(2))
    other = context.command_list_create_immediate(device)

    immediate.append_memory_fill(memory, b"late", 4, second, [first])
    other.append_memory_fill(memory + 8, b"soon", 4)
    other.host_synchronize()
    assert context.memory_read(memory, 12) == bytes(8) + b"soon"
    assert not second.is_signalled()
    first.host_signal()
    second.host_synchronize()

    assert context.memory_read(memory, 4) == b"late"
    immediate.host_synchronize()
    for made in (other, first, second, pool):
        made.destroy()


def test_a_fence_is_signalled_when_the_lists_are_done(
    context: ze.Context,
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    memory: int,
) -> None:
    commands.append_memory_fill(memory, b"f", 1)
    commands.close()
    fence = queue.fence_create()
    with spec_pair.hold():
        queue.execute_command_lists([commands], fence)

    fence.host_synchronize()

    assert context.memory_read(memory, 1) == b"f"
    fence.destroy()


def test_thousands_of_events_are_signalled_and_waited_for_at_a_time(
    context: ze.Context, device: ze.Device, immediate: ze.CommandList, memory: int
) -> None:
    with context.event_pool_create(ze.EventPoolDesc(count=2000)) as pool:
        events = [pool.event_create(ze.EventDesc(index)) for index in range(2000)]
        other = context.command_list_create_immediate(device)
        # All of them around one command, which waits for the last of them, too.
        other.append_memory_fill(memory, b"a", 1, None, events)
        for event in events[:-1]:
            immediate.append_signal_event(event)
        immediate.host_synchronize()
        assert all(event.is_signalled() for event in events[:-1])
        assert context.memory_read(memory, 1) == bytes(1)

        events[-1].host_signal()
        other.host_synchronize()

        assert context.memory_read(memory, 1) == b"a"
        for event in events:
            event.destroy()
        other.destroy()


def test_a_fence_may_be_made_signalled_and_used_again_and_again(
    queue: ze.CommandQueue, spec_pair: Pair, commands: ze.CommandList
) -> None:
    commands.append_barrier()
    commands.close()
    fence = queue.fence_create(ze.FenceDesc(ze.FenceFlags.SIGNALED))
    for _ in range(3):
        fence.query_status()
        fence.reset()
        with spec_pair.hold():
            queue.execute_command_lists([commands], fence)
            with fails_not_ready():
                fence.query_status()
        fence.host_synchronize()
    fence.destroy()
