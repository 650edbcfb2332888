"""Events by the Python API: made, set, reset, waited for, and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.status import Status
from hostdriver.api.event_structures import (
    EventDesc,
    EventPoolCounterBasedExpDesc,
    EventPoolDesc,
)
from hostdriver.core.results import ZeResult
from hostdriver.core.work_enums import EventPoolFlags, EventScopeFlags
from hostdriver.testing.pair import Pair, pair
from tests.harness.events import (
    FOREVER,
    IN_USE,
    INVALID,
    LOST,
    NOT_READY,
    SMALL,
    TIMES,
    WRONG_KIND,
    Target,
    result_of,
)

if TYPE_CHECKING:
    from hostdriver.api.context import Context


def test_an_event_is_signalled_until_it_is_reset(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()

    assert result_of(event.query_status) is NOT_READY
    event.host_signal()
    event.query_status()
    event.host_synchronize()
    event.host_reset()
    assert result_of(event.host_synchronize, 0) is NOT_READY
    assert result_of(event.host_synchronize, 1_000_000) is NOT_READY


def test_a_queue_signals_an_event_and_waits_for_another(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(2))
    go, done = pool.event_create(EventDesc(0)), pool.event_create(EventDesc(1))
    queue = Target(context)

    queue.wait(go)
    queue.signal(done)
    assert result_of(done.host_synchronize, 1_000_000) is NOT_READY

    go.host_signal()
    done.host_synchronize(FOREVER)


def test_several_queues_wait_for_one_event(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(8))
    go = pool.event_create(EventDesc(0))
    ends = [pool.event_create(EventDesc(index)) for index in range(1, 5)]
    for end in ends:
        queue = Target(context)
        queue.wait(go)
        queue.signal(end)

    go.host_signal()

    for end in ends:
        end.host_synchronize()


def test_a_queue_resets_an_event(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()
    event.host_signal()
    queue = Target(context)

    queue.submit(lambda state: event.record.reset_commands(state, queue))

    assert result_of(event.query_status) is NOT_READY


def test_waiters_of_a_queue_that_faults_are_told_so(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(3))
    before, after, late = (pool.event_create(EventDesc(index)) for index in range(3))
    queue = Target(context)
    queue.signal(before)
    queue.fault()
    queue.signal(after)

    before.host_synchronize()
    assert result_of(after.host_synchronize) is LOST
    assert result_of(after.query_status) is LOST

    queue.signal(late)
    assert result_of(late.host_synchronize) is LOST


def test_a_queue_that_waits_for_a_lost_event_is_lost_as_well(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(2))
    first, second = pool.event_create(EventDesc(0)), pool.event_create(EventDesc(1))
    waiting, failing = Target(context), Target(context)
    waiting.wait(first)
    waiting.signal(second)

    failing.fault()
    failing.signal(first)

    assert result_of(second.host_synchronize) is LOST


def test_a_lost_event_can_be_reset_and_used_again(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue = Target(context)
    queue.fault()
    queue.signal(event)
    assert result_of(event.query_status) is LOST

    event.host_reset()
    Target(context).signal(event)

    event.host_synchronize()


def test_a_reset_of_the_device_ends_waits(world: Pair, context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue = Target(context)
    other = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue.wait(other)
    queue.signal(event)

    world.device.reset(world.now)

    assert result_of(event.host_synchronize) is LOST


def test_kernel_timestamps_tell_begin_and_end(world: Pair, context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1, TIMES)).event_create()
    queue = Target(context)
    assert result_of(event.query_kernel_timestamp) is NOT_READY
    before = world.now

    queue.signal(event)

    times = event.query_kernel_timestamp()
    assert before <= times.context.kernel_start < times.context.kernel_end
    assert times.global_ == times.context
    device = world.driver.devices[0]
    assert event.query_timestamps_exp(device) == (times,)
    assert event.query_kernel_timestamps_ext(device) == (times,)


def test_times_of_an_event_are_stored_by_the_device(context: Context, world: Pair) -> None:
    event = context.event_pool_create(EventPoolDesc(1, TIMES)).event_create()
    memory = context.mem_alloc_device(world.driver.devices[0], 4096)
    queue = Target(context)
    queue.signal(event)

    class At:
        address = memory
        is_client = False

    queue.submit(lambda state: event.record.times_commands(state, queue, At()))

    times = event.query_kernel_timestamp()
    stored = context.memory_read(memory, 32)
    numbers = [int.from_bytes(stored[at : at + 8], "little") for at in range(0, 32, 8)]
    assert numbers == [*times.global_, *times.context]
    context.mem_free(memory)


def test_an_event_without_times_tells_none(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()
    event.host_signal()

    assert result_of(event.query_kernel_timestamp) is WRONG_KIND


def test_thousands_of_events_are_independent(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(5000))
    events = [pool.event_create(EventDesc(index)) for index in range(5000)]

    for event in events[::7]:
        event.host_signal()

    assert [index for index, event in enumerate(events) if event.is_signalled()] == list(
        range(0, 5000, 7)
    )


def test_an_event_made_anew_is_not_signalled(context: Context) -> None:
    for flags in (EventPoolFlags(0), EventPoolFlags.IPC):
        pool = context.event_pool_create(EventPoolDesc(1, flags))
        event = pool.event_create()
        event.host_signal()
        event.destroy()

        assert result_of(pool.event_create().query_status) is NOT_READY


def test_queries_tell_what_was_asked_for(context: Context) -> None:
    flags = EventPoolFlags.HOST_VISIBLE | TIMES
    pool = context.event_pool_create(EventPoolDesc(1, flags))
    event = pool.event_create(EventDesc(0, EventScopeFlags.HOST, EventScopeFlags.DEVICE))

    assert pool.get_flags() == flags
    assert pool.get_context_handle() is context
    assert event.get_event_pool() is pool
    assert event.get_signal_scope() == EventScopeFlags.HOST
    assert event.get_wait_scope() == EventScopeFlags.DEVICE
    assert event.get_counter_based_flags() == 0


def test_what_is_in_use_is_not_destroyed(context: Context) -> None:
    pool = context.event_pool_create(EventPoolDesc(1))
    event = pool.event_create()
    queue = Target(context)
    queue.wait(event)

    assert result_of(event.destroy) is IN_USE
    event.host_signal()
    event.destroy()
    assert result_of(event.host_signal) is INVALID
    assert result_of(event.destroy) is INVALID


@pytest.mark.error("EventPoolDestroy", "HIU")
@pytest.mark.parametrize("flags", [EventPoolFlags(0), EventPoolFlags.IPC])
def test_a_pool_with_events_is_not_destroyed(context: Context, flags: EventPoolFlags) -> None:
    pool = context.event_pool_create(EventPoolDesc(1, flags))
    event = pool.event_create()

    assert result_of(pool.destroy) is IN_USE
    event.destroy()
    pool.destroy()
    assert result_of(pool.destroy) is INVALID
    assert result_of(pool.event_create) is INVALID


@pytest.mark.error("EventPoolCreate", "NP")
@pytest.mark.error("EventPoolCreate", "IE")
@pytest.mark.error("EventPoolCreate", "UE")
@pytest.mark.error("EventPoolCreate", "IS")
@pytest.mark.parametrize(
    ("desc", "expected"),
    [
        (None, ZeResult.ZE_RESULT_ERROR_INVALID_NULL_POINTER),
        (EventPoolDesc(1, 0x10), ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventPoolDesc(1, EventPoolFlags(0xC)), ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION),
        (
            EventPoolDesc(1, EventPoolFlags.IPC, (EventPoolCounterBasedExpDesc(),)),
            ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
        ),
        (EventPoolDesc(0), ZeResult.ZE_RESULT_ERROR_INVALID_SIZE),
    ],
)
def test_pools_that_cannot_be_are_refused(
    context: Context, desc: EventPoolDesc | None, expected: ZeResult
) -> None:
    assert result_of(context.event_pool_create, desc) is expected


def test_a_pool_for_no_device_is_refused(context: Context, world: Pair) -> None:
    assert (
        result_of(context.event_pool_create, EventPoolDesc(1), [])
        is ZeResult.ZE_RESULT_ERROR_INVALID_SIZE
    )
    assert (
        result_of(context.event_pool_create, EventPoolDesc(1), [None])
        is ZeResult.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    )
    context.event_pool_create(EventPoolDesc(1), world.driver.devices).destroy()


@pytest.mark.parametrize(
    ("desc", "expected"),
    [
        (None, ZeResult.ZE_RESULT_ERROR_INVALID_NULL_POINTER),
        (EventDesc(0, 8), ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventDesc(0, wait=8), ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventDesc(2), INVALID),
        (EventDesc(1), INVALID),
    ],
)
def test_events_that_cannot_be_are_refused(
    context: Context, desc: EventDesc | None, expected: ZeResult
) -> None:
    pool = context.event_pool_create(EventPoolDesc(2))
    pool.event_create(EventDesc(1))

    assert result_of(pool.event_create, desc) is expected


def test_an_event_of_a_pool_has_no_handle_of_its_own(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()

    assert result_of(event.counter_based_get_ipc_handle) is WRONG_KIND
    assert result_of(event.counter_based_close_ipc_handle) is WRONG_KIND


def test_two_devices_know_an_event() -> None:
    with pair(SMALL, devices=2) as world:
        context = world.driver.create_context()
        for flags in (EventPoolFlags(0), EventPoolFlags.IPC):
            pool = context.event_pool_create(EventPoolDesc(1, flags))
            numbers = pool.event_create().record.slot.pool.numbers
            assert sorted(numbers) == [0, 1]


def test_the_status_of_a_lost_fence_is_that_of_its_queue(context: Context) -> None:
    event = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue = Target(context)
    queue.fault()
    queue.signal(event)

    slot = event.record.slot
    assert slot.pool.memory.load(slot.index).status == Status.FAULT
