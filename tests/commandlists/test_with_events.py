"""Lists that wait for events and signal them, and fences."""

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair


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
