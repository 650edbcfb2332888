"""Freeing memory that commands name which the device does not have yet."""

from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair
from hostdriver.testing.waiting import Stuck
from tests.harness.levelzero import fails

RING = 256
PAGE = 64 << 10
Policy = ze.DriverMemoryFreePolicyExtFlags


@pytest.fixture(name="event")
def make_event(context: ze.Context) -> Iterator[ze.Event]:
    pool = context.event_pool_create(ze.EventPoolDesc(count=1))
    event = pool.event_create(ze.EventDesc(0))
    yield event
    event.destroy()
    pool.destroy()


def work_behind_a_full_ring(
    immediate: ze.CommandList, event: ze.Event, target: int, source: int
) -> None:
    """Append a copy that waits in the driver until an event is signalled."""
    immediate.append_wait_on_events([event])
    for _ in range(2 * RING):
        immediate.append_barrier()
    immediate.append_memory_copy(target, source, 4)


@pytest.mark.parametrize("policy", [None, Policy(0), Policy.DEFER_FREE], ids=["free", "0", "defer"])
def test_work_in_the_backlog_runs_as_if_nothing_had_been_freed(
    context: ze.Context,
    spec_pair: Pair,
    device: ze.Device,
    immediate: ze.CommandList,
    memory: int,
    event: ze.Event,
    policy: Policy | None,
) -> None:
    freed = context.mem_alloc_device(device, PAGE)
    context.memory_fill(freed, b"kept", PAGE)
    assert context.memory_read(freed, 1) == b"k"  # the driver's own memory has its place now
    objects = spec_pair.statistics().object_count
    work_behind_a_full_ring(immediate, event, memory, freed)

    if policy is None:
        context.mem_free(freed)
    else:
        context.mem_free_ext(ze.MemoryFreeExtDesc(policy), freed)

    assert context.mem_get_alloc_properties(freed).type is ze.MemoryType.UNKNOWN
    with fails("INVALID_ARGUMENT"):
        context.mem_free(freed)
    assert spec_pair.statistics().object_count == objects
    event.host_signal()
    immediate.host_synchronize()
    assert context.memory_read(memory, 4) == b"kept"
    assert spec_pair.statistics().object_count == objects - 1


def test_a_blocking_free_waits_for_the_backlog(
    context: ze.Context,
    device: ze.Device,
    immediate: ze.CommandList,
    memory: int,
    event: ze.Event,
) -> None:
    blocking = ze.MemoryFreeExtDesc(Policy.BLOCKING_FREE)
    freed = context.mem_alloc_device(device, PAGE)
    context.memory_fill(freed, b"kept", PAGE)
    work_behind_a_full_ring(immediate, event, memory, freed)

    with pytest.raises(Stuck):
        context.mem_free_ext(blocking, freed)

    assert context.mem_get_alloc_properties(freed).type is ze.MemoryType.DEVICE
    event.host_signal()
    context.mem_free_ext(blocking, freed)
    immediate.host_synchronize(0)
    assert context.memory_read(memory, 4) == b"kept"
