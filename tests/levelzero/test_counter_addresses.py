"""Addresses of counting events: devices read there what the event holds, and nobody stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hostdriver.api.event_structures import (
    EventCounterBasedDesc,
    EventCounterBasedExternalAggregateStorageDesc,
    EventPoolCounterBasedExpDesc,
    EventPoolDesc,
)
from hostdriver.core.work_enums import EventCounterBasedFlags
from tests.harness.events import INVALID, NOT_READY, Target, result_of
from tests.harness.levelzero import fails

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.events import EventBase
    from hostdriver.testing.pair import Pair

IPC = EventCounterBasedDesc(EventCounterBasedFlags.IPC)


@pytest.fixture(params=["alone", "shared", "of a pool"])
def event(request: pytest.FixtureRequest, context: Context, device: Device) -> EventBase:
    if request.param == "alone":
        return context.event_counter_based_create(device)
    if request.param == "shared":
        return context.event_counter_based_create(device, IPC)
    counting = EventPoolDesc(4, p_next=(EventPoolCounterBasedExpDesc(),))
    return context.event_pool_create(counting).event_create()


def held(context: Context, address: int) -> int:
    """Return the number at an address, as a device copies it to memory of its own."""
    device = context.driver.devices[0]
    with_room = context.mem_alloc_device(device, 8)
    context.memory_copy(with_room, address, 8)
    found = context.memory_read(with_room, 8)
    context.mem_free(with_room)
    return int.from_bytes(found, "little")


def test_devices_read_what_the_event_holds(context: Context, event: EventBase) -> None:
    queue = Target(context)
    go = context.event_pool_create(EventPoolDesc(1)).event_create()
    for signals in range(3):
        value, address = event.counter_based_get_device_address()
        assert value == signals
        assert held(context, address) == signals
        queue.wait(go)
        queue.signal(event)
        assert event.counter_based_get_device_address() == (signals + 1, address)
        assert result_of(event.query_status) is NOT_READY
        assert held(context, address) == signals
        go.host_signal()
        event.host_synchronize()
        go.host_reset()


def test_an_event_that_a_queue_waits_for_has_an_address(context: Context, event: EventBase) -> None:
    held_back = context.event_pool_create(EventPoolDesc(1)).event_create()
    signalling, waiting = Target(context), Target(context)
    signalling.wait(held_back)
    signalling.signal(event)
    waiting.wait(event)

    expected, address = event.counter_based_get_device_address()

    held_back.host_signal()
    event.host_synchronize()
    assert held(context, address) == expected == 1


def test_every_event_has_an_address_of_its_own(context: Context, device: Device) -> None:
    events = [context.event_counter_based_create(device) for _ in range(5)]
    events += [context.event_counter_based_create(device, IPC) for _ in range(3)]

    addresses = [event.counter_based_get_device_address()[1] for event in events]

    assert len(set(addresses)) == len(events)


def test_an_event_in_memory_of_the_application_tells_that(context: Context, device: Device) -> None:
    memory = context.mem_alloc_device(device, 64)
    storage = EventCounterBasedExternalAggregateStorageDesc(memory + 8, 3, 9)
    event = context.event_counter_based_create(device, EventCounterBasedDesc(p_next=(storage,)))

    assert event.counter_based_get_device_address() == (9, memory + 8)


def test_devices_cannot_store_there(context: Context, event: EventBase) -> None:
    value, address = event.counter_based_get_device_address()
    device = context.driver.devices[0]
    source = context.mem_alloc_device(device, 8)
    context.memory_fill(source, b"\x55", 8)

    with fails("DEVICE_LOST"):
        context.memory_copy(address, source, 8)

    assert held(context, address) == value == 0


def test_who_opened_an_event_reads_the_same(world: Pair, context: Context, device: Device) -> None:
    event = context.event_counter_based_create(device, IPC)
    other = world.connect("opener").create_context()
    peer = other.event_counter_based_open_ipc_handle(event.counter_based_get_ipc_handle())
    _, address = peer.counter_based_get_device_address()

    Target(context).signal(event)
    event.host_synchronize()

    assert held(other, address) == 1


def test_the_address_ends_with_the_event(world: Pair, context: Context, device: Device) -> None:
    before = world.driver.devices[0].get_memory_properties()
    event = context.event_counter_based_create(device, IPC)
    _, address = event.counter_based_get_device_address()
    assert context.mem_get_address_range(address)

    event.destroy()

    with fails("ADDRESS_NOT_FOUND"):
        context.mem_get_address_range(address)
    assert world.driver.devices[0].get_memory_properties() == before
    world.check()


def test_freeing_the_memory_of_an_address_costs_the_event_nothing(
    context: Context, device: Device
) -> None:
    event = context.event_counter_based_create(device, IPC)
    _, address = event.counter_based_get_device_address()
    context.mem_free(context.mem_get_address_range(address).base)

    value, address = event.counter_based_get_device_address()

    assert held(context, address) == value
    event.destroy()


@pytest.mark.error("EventCounterBasedGetDeviceAddress", "IA")
def test_only_events_that_live_and_count_have_an_address(context: Context, device: Device) -> None:
    plain = context.event_pool_create(EventPoolDesc(1)).event_create()
    gone = context.event_counter_based_create(device)
    gone.destroy()

    assert result_of(plain.counter_based_get_device_address) is INVALID
    assert result_of(gone.counter_based_get_device_address) is INVALID
