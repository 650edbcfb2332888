"""Counting events: a signal that is asked for arms them, a wait takes down what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hostdriver.api.event_structures import (
    EventCounterBasedDesc,
    EventCounterBasedExternalAggregateStorageDesc,
    EventCounterBasedExternalSyncAllocationDesc,
    EventPoolCounterBasedExpDesc,
    EventPoolDesc,
)
from hostdriver.core.events import COUNTER_MAX
from hostdriver.core.results import ZeResult
from hostdriver.core.work_enums import EventCounterBasedFlags, EventPoolFlags, EventScopeFlags
from hostdriver.testing.pair import Pair, pair
from tests.harness.events import INVALID, NOT_READY, SMALL, WRONG_KIND, Target, result_of

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.events import CounterEvent, EventBase
    from hostdriver.core.state import DriverState

IPC = EventCounterBasedDesc(EventCounterBasedFlags.IPC)
COUNTING = EventPoolDesc(2, EventPoolFlags(0), (EventPoolCounterBasedExpDesc(),))
NULL_HANDLE = ZeResult.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
NULL_POINTER = ZeResult.ZE_RESULT_ERROR_INVALID_NULL_POINTER
INVALID_ENUMERATION = ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION
UNSUPPORTED_ENUMERATION = ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION


@pytest.fixture(params=["alone", "of a pool"])
def event(request: pytest.FixtureRequest, context: Context, device: Device) -> EventBase:
    if request.param == "alone":
        return context.event_counter_based_create(device)
    return context.event_pool_create(COUNTING).event_create()


def test_an_event_of_which_nothing_is_expected_is_signalled(event: EventBase) -> None:
    event.query_status()
    event.host_synchronize()


def test_an_event_is_armed_when_its_signal_is_asked_for(context: Context, event: EventBase) -> None:
    queue = Target(context)
    go = context.event_pool_create(EventPoolDesc(1)).event_create()
    for _ in range(3):  # nobody resets it
        queue.wait(go)
        queue.signal(event)
        assert result_of(event.query_status) is NOT_READY
        go.host_signal()
        event.host_synchronize()
        go.host_reset()


def test_a_wait_is_for_what_was_expected_when_it_was_asked_for(
    context: Context, event: EventBase
) -> None:
    first, second, waiting = Target(context), Target(context), Target(context)
    pool = context.event_pool_create(EventPoolDesc(2))
    done = pool.event_create()
    blocker = context.event_pool_create(EventPoolDesc(1)).event_create()
    first.signal(event)
    second.wait(blocker)
    waiting.wait(event)
    second.signal(event)
    waiting.signal(done)

    done.host_synchronize()
    assert result_of(event.query_status) is NOT_READY
    blocker.host_signal()
    event.host_synchronize()


def test_signals_out_of_order_never_take_the_event_back(context: Context, event: EventBase) -> None:
    slow, fast = Target(context), Target(context)
    blocker = context.event_pool_create(EventPoolDesc(1)).event_create()
    slow.wait(blocker)
    slow.signal(event)
    fast.signal(event)
    event.host_synchronize()

    blocker.host_signal()

    event.query_status()


def test_the_host_sets_and_resets_no_counter(context: Context, event: EventBase) -> None:
    queue = Target(context)

    assert result_of(event.host_signal) is WRONG_KIND
    assert result_of(event.host_reset) is WRONG_KIND
    assert (
        result_of(queue.submit, lambda state: event.record.reset_commands(state, queue))
        is WRONG_KIND
    )


def test_a_list_that_runs_again_arms_the_event_again(context: Context, event: EventBase) -> None:
    queue = Target(context)
    kept: list[bytes] = []

    def first(state: DriverState) -> bytes:
        kept.append(event.record.signal_commands(state, queue).after)
        return kept[0]

    queue.submit(first)
    event.host_synchronize()
    blocker = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue.wait(blocker)

    queue.submit(lambda _: event.record.again(kept[0]))

    assert result_of(event.query_status) is NOT_READY
    blocker.host_signal()
    event.host_synchronize()


def test_counters_keep_times(context: Context, device: Device) -> None:
    desc = EventCounterBasedDesc(EventCounterBasedFlags.DEVICE_TIMESTAMP)
    event = context.event_counter_based_create(device, desc)

    Target(context).signal(event)

    times = event.query_kernel_timestamp().context
    assert times.kernel_start < times.kernel_end


def test_queries_tell_how_it_was_made(context: Context, device: Device) -> None:
    flags = EventCounterBasedFlags.IMMEDIATE | EventCounterBasedFlags.HOST_VISIBLE
    desc = EventCounterBasedDesc(flags, EventScopeFlags.HOST, EventScopeFlags.DEVICE)
    event = context.event_counter_based_create(device, desc)

    assert event.get_counter_based_flags() == flags
    assert event.get_signal_scope() == EventScopeFlags.HOST
    assert event.get_wait_scope() == EventScopeFlags.DEVICE
    assert result_of(event.get_event_pool) is INVALID
    assert context.event_pool_create(COUNTING).event_create().get_counter_based_flags() == 1


def test_external_memory_signals_an_event(context: Context, device: Device) -> None:
    memory = context.mem_alloc_host(4096)
    desc = EventCounterBasedExternalSyncAllocationDesc(memory, memory, 5)
    event = context.event_counter_based_create(device, EventCounterBasedDesc(p_next=(desc,)))
    queue = Target(context)
    done = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue.wait(event)
    queue.signal(done)
    assert result_of(event.query_status) is NOT_READY
    assert result_of(event.host_synchronize, 3_000_000) is NOT_READY
    assert result_of(queue.signal, event) is WRONG_KIND

    context.host_view(memory, 8)[:] = (5).to_bytes(8, "little")

    event.query_status()
    event.host_synchronize()
    done.host_synchronize()
    event.destroy()
    context.mem_free(memory)


def test_signals_add_up_in_external_memory(context: Context, device: Device) -> None:
    memory = context.mem_alloc_device(device, 4096)
    context.memory_fill(memory, b"\0", 4096)
    desc = EventCounterBasedExternalAggregateStorageDesc(memory, 2, 6)
    event = context.event_counter_based_create(device, EventCounterBasedDesc(p_next=(desc,)))
    queues = [Target(context) for _ in range(3)]
    for queue in queues[:2]:
        queue.signal(event)
    assert result_of(event.host_synchronize, 1_000_000) is NOT_READY

    queues[2].signal(event)

    event.host_synchronize()
    assert context.memory_read(memory, 8) == (6).to_bytes(8, "little")
    context.mem_free(memory)


@pytest.mark.error("EventCounterBasedCreate", "NH")
@pytest.mark.error("EventCounterBasedCreate", "NP")
@pytest.mark.error("EventCounterBasedCreate", "IE")
@pytest.mark.error("EventCounterBasedCreate", "UE")
@pytest.mark.error("EventCounterBasedCreate", "IA")
@pytest.mark.parametrize(
    ("desc", "expected"),
    [
        (None, NULL_POINTER),
        (EventCounterBasedDesc(0x80), INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventCounterBasedDesc(signal=8), INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventCounterBasedDesc(wait=8), INVALID_ENUMERATION),  # type: ignore[arg-type]
        (EventCounterBasedDesc(EventCounterBasedFlags(0x30)), UNSUPPORTED_ENUMERATION),
        (
            EventCounterBasedDesc(
                p_next=(EventCounterBasedExternalAggregateStorageDesc(8, 1, COUNTER_MAX + 1),)
            ),
            INVALID,
        ),
        (
            EventCounterBasedDesc(
                p_next=(EventCounterBasedExternalSyncAllocationDesc(8, 8, COUNTER_MAX + 1),)
            ),
            INVALID,
        ),
        (
            EventCounterBasedDesc(p_next=(EventCounterBasedExternalSyncAllocationDesc(4, 8, 1),)),
            INVALID,
        ),
        (
            EventCounterBasedDesc(
                p_next=(EventCounterBasedExternalSyncAllocationDesc(8, None, 1),)
            ),
            INVALID,
        ),
    ],
)
def test_counters_that_cannot_be_are_refused(
    context: Context, device: Device, desc: EventCounterBasedDesc | None, expected: ZeResult
) -> None:
    assert result_of(context.event_counter_based_create, device, desc) is expected
    assert result_of(context.event_counter_based_create, None, desc) is NULL_HANDLE


def opened(world: Pair, event: CounterEvent) -> CounterEvent:
    """Return the event as another program opened it."""
    other = world.connect("opener").create_context()
    return other.event_counter_based_open_ipc_handle(event.counter_based_get_ipc_handle())


def test_who_opens_an_event_waits_for_what_was_expected_at_the_get(
    world: Pair, context: Context, device: Device
) -> None:
    event = context.event_counter_based_create(device, IPC)
    go = context.event_pool_create(EventPoolDesc(1)).event_create()
    queue = Target(context)
    queue.wait(go)
    queue.signal(event)
    peer = opened(world, event)
    assert result_of(peer.query_status) is NOT_READY

    go.host_signal()

    peer.host_synchronize()
    go.host_reset()
    queue.wait(go)
    queue.signal(event)
    peer.query_status()
    again = opened(world, event)
    assert result_of(again.query_status) is NOT_READY


@pytest.mark.decision("C15", profile="spec")
def test_who_opened_an_event_may_signal_it(world: Pair, context: Context, device: Device) -> None:
    event = context.event_counter_based_create(device, IPC)
    other = world.connect("opener").create_context()
    peer = other.event_counter_based_open_ipc_handle(event.counter_based_get_ipc_handle())
    go = other.event_pool_create(EventPoolDesc(1)).event_create()
    queue = Target(other)
    queue.wait(go)
    queue.signal(peer)
    assert result_of(event.query_status) is NOT_READY

    go.host_signal()

    event.host_synchronize()
    peer.host_synchronize()


@pytest.mark.decision("C15", profile="intel")
def test_who_opened_an_event_may_only_wait_for_it() -> None:
    with pair(SMALL, profile="intel") as world:
        context = world.driver.create_context()
        event = context.event_counter_based_create(world.driver.devices[0], IPC)
        peer = opened(world, event)

        assert result_of(Target(context).signal, peer) is WRONG_KIND
        peer.host_synchronize()


@pytest.mark.error("EventCounterBasedGetIpcHandle", "ISO")
@pytest.mark.error("EventCounterBasedGetIpcHandle", "IA")
def test_only_an_event_that_may_be_shared_has_a_handle(context: Context, device: Device) -> None:
    plain = context.event_counter_based_create(device)
    flags = EventCounterBasedFlags.IPC | EventCounterBasedFlags.DEVICE_TIMESTAMP
    timed = context.event_counter_based_create(device, EventCounterBasedDesc(flags))

    assert result_of(plain.counter_based_get_ipc_handle) is WRONG_KIND
    assert result_of(timed.counter_based_get_ipc_handle) is INVALID


@pytest.mark.case("E03")
@pytest.mark.error("EventCounterBasedOpenIpcHandle", "IA")
def test_a_handle_of_an_event_that_is_gone_opens_nothing(
    world: Pair, context: Context, device: Device
) -> None:
    event = context.event_counter_based_create(device, IPC)
    handle = event.counter_based_get_ipc_handle()
    event.destroy()
    other = world.connect("opener").create_context()

    assert result_of(other.event_counter_based_open_ipc_handle, handle) is INVALID
    assert result_of(other.event_counter_based_open_ipc_handle, bytes(64)) is INVALID


@pytest.mark.error("EventCounterBasedCloseIpcHandle", "ISO")
def test_only_what_was_opened_is_closed(world: Pair, context: Context, device: Device) -> None:
    event = context.event_counter_based_create(device, IPC)
    peer = opened(world, event)

    assert result_of(event.counter_based_close_ipc_handle) is WRONG_KIND
    assert result_of(peer.counter_based_get_ipc_handle) is WRONG_KIND
    event.destroy()
    peer.host_synchronize()
    peer.counter_based_close_ipc_handle()
    assert result_of(peer.counter_based_close_ipc_handle) is INVALID
