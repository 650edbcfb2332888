"""Event pools in two programs: every order of lives, both forms of handle, and every death."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hostdriver.api.event_structures import EventDesc, EventPoolDesc
from hostdriver.api.structures import PhysicalMemDesc
from hostdriver.core.results import ZeResult
from hostdriver.core.work_enums import EventPoolFlags
from hostdriver.testing.pair import Pair, pair
from tests.harness.events import INVALID, LOST, NOT_READY, SMALL, WRONG_KIND, Target, result_of

if TYPE_CHECKING:
    from hostdriver.api.context import Context

IPC = EventPoolFlags.IPC | EventPoolFlags.HOST_VISIBLE
SHARED = EventPoolDesc(4, IPC)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only


@pytest.fixture
def exporter(world: Pair) -> Context:
    return world.driver.create_context()


@pytest.fixture
def opener(world: Pair) -> Context:
    return world.connect("opener").create_context()


def test_an_event_signalled_in_one_program_is_signalled_in_the_other(
    exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    other = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())
    here, there = pool.event_create(EventDesc(2)), other.event_create(EventDesc(2))

    assert result_of(there.query_status) is NOT_READY
    here.host_signal()
    there.host_synchronize()
    there.host_reset()
    assert result_of(here.query_status) is NOT_READY
    there.host_signal()
    here.query_status()
    assert other.get_flags() == IPC


def test_a_queue_of_one_program_waits_for_the_others_host_and_queue(
    exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    other = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())
    go, done = pool.event_create(EventDesc(0)), pool.event_create(EventDesc(1))
    peer_go, peer_done = other.event_create(EventDesc(0)), other.event_create(EventDesc(1))
    queue, peer_queue = Target(exporter), Target(opener)

    queue.wait(go)
    queue.signal(done)
    peer_queue.wait(peer_done)
    last = other.event_create(EventDesc(3))
    peer_queue.signal(last)
    assert result_of(last.query_status) is NOT_READY

    peer_go.host_signal()

    last.host_synchronize()


def test_an_event_that_was_made_later_keeps_what_the_peer_signalled(
    exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    here = pool.event_create()
    other = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())

    here.host_signal()

    other.event_create().host_synchronize()


def test_the_handle_is_the_same_until_the_last_put(exporter: Context, opener: Context) -> None:
    pool = exporter.event_pool_create(SHARED)
    handle = pool.get_ipc_handle()
    assert pool.get_ipc_handle() == handle

    exporter.event_pool_put_ipc_handle(handle)
    opener.event_pool_open_ipc_handle(handle).close_ipc_handle()
    exporter.event_pool_put_ipc_handle(handle)
    assert result_of(opener.event_pool_open_ipc_handle, handle) is INVALID
    exporter.event_pool_put_ipc_handle(handle)

    again = pool.get_ipc_handle()
    assert again != handle
    opener.event_pool_open_ipc_handle(again)


def test_a_put_of_memory_gives_no_handle_of_events_back(exporter: Context, opener: Context) -> None:
    pool = exporter.event_pool_create(SHARED)
    handle = pool.get_ipc_handle()

    exporter.mem_put_ipc_handle(handle)

    opener.event_pool_open_ipc_handle(handle[:4] + bytes(60))
    exporter.event_pool_put_ipc_handle(handle)
    assert result_of(opener.event_pool_open_ipc_handle, handle) is INVALID


def test_a_handle_is_known_by_its_descriptor_alone(exporter: Context) -> None:
    handle = exporter.event_pool_create(SHARED).get_ipc_handle()

    opened = exporter.event_pool_open_ipc_handle(handle[:4] + bytes(60))

    assert opened.get_flags() == IPC


def test_each_open_makes_a_new_pool(exporter: Context, opener: Context) -> None:
    handle = exporter.event_pool_create(SHARED).get_ipc_handle()
    first, second = (opener.event_pool_open_ipc_handle(handle) for _ in range(2))

    first.close_ipc_handle()

    second.event_create().host_signal()
    assert result_of(first.close_ipc_handle) is INVALID


def test_an_opened_pool_is_closed_and_one_that_was_made_is_destroyed(
    exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    opened = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())

    assert result_of(pool.close_ipc_handle) is INVALID
    assert result_of(opened.destroy) is INVALID
    assert result_of(opened.get_ipc_handle) is WRONG_KIND
    opened.close_ipc_handle()
    pool.destroy()


@pytest.mark.case("E03")
def test_a_handle_of_a_pool_that_was_destroyed_opens_nothing(
    exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    event = pool.event_create()
    handle = pool.get_ipc_handle()
    event.destroy()
    pool.destroy()

    assert result_of(opener.event_pool_open_ipc_handle, handle) is INVALID
    assert result_of(exporter.event_pool_open_ipc_handle, handle) is INVALID


@pytest.mark.case("E01")
def test_a_thousand_gets_and_puts_leave_no_descriptor(exporter: Context) -> None:
    pool = exporter.event_pool_create(SHARED)
    exporter.event_pool_put_ipc_handle(pool.get_ipc_handle())
    before = open_descriptors()

    for _ in range(1000):
        exporter.event_pool_put_ipc_handle(pool.get_ipc_handle())

    assert open_descriptors() == before


@pytest.mark.error("EventPoolGetIpcHandle", "ISO")
def test_a_pool_without_the_flag_has_no_handle(exporter: Context) -> None:
    pool = exporter.event_pool_create(EventPoolDesc(1))

    assert result_of(pool.get_ipc_handle) is WRONG_KIND


@pytest.mark.parametrize("handle", [bytes(64), b"\xff" * 64, bytes(63)])
def test_bytes_that_name_no_pool_open_nothing(exporter: Context, handle: bytes) -> None:
    assert result_of(exporter.event_pool_open_ipc_handle, handle) is INVALID


def test_a_handle_of_memory_opens_no_pool_and_the_reverse(world: Pair, exporter: Context) -> None:
    device = world.driver.devices[0]
    page = exporter.virtual_mem_query_page_size(device, 1)
    memory = exporter.virtual_mem_reserve(page)
    physical = exporter.physical_mem_create(device, PhysicalMemDesc(page))
    exporter.virtual_mem_map(memory, page, physical)
    of_memory = exporter.mem_get_ipc_handle(memory)
    of_pool = exporter.event_pool_create(SHARED).get_ipc_handle()

    assert result_of(exporter.event_pool_open_ipc_handle, of_memory) is INVALID
    assert result_of(exporter.mem_open_ipc_handle, device, of_pool) is INVALID
    exporter.mem_put_ipc_handle(of_memory)
    exporter.virtual_mem_unmap(memory, page)
    exporter.physical_mem_destroy(physical)
    exporter.virtual_mem_free(memory, page)


def test_openers_keep_the_pool_when_its_maker_goes(world: Pair, opener: Context) -> None:
    maker = world.connect("maker")
    pool = maker.create_context().event_pool_create(SHARED)
    handle = pool.get_ipc_handle()
    third = world.connect("third").create_context()
    one, two = (who.event_pool_open_ipc_handle(handle).event_create() for who in (opener, third))

    maker.close()

    one.host_signal()
    two.host_synchronize()
    assert result_of(opener.event_pool_open_ipc_handle, handle) is INVALID


def test_waiters_are_told_when_the_program_goes_whose_queue_was_to_signal(
    world: Pair, exporter: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    waited, never = pool.event_create(EventDesc(0)), pool.event_create(EventDesc(1))
    signaller = world.connect("signaller")
    context = signaller.create_context()
    other = context.event_pool_open_ipc_handle(pool.get_ipc_handle())
    queue = Target(context)
    queue.wait(other.event_create(EventDesc(1)))
    queue.signal(other.event_create(EventDesc(0)))
    assert result_of(waited.query_status) is NOT_READY

    signaller.close()

    assert result_of(waited.host_synchronize) is LOST
    assert result_of(never.query_status) is NOT_READY


def test_a_program_that_goes_while_its_queue_waits_leaves_no_trace(
    world: Pair, exporter: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    event = pool.event_create()
    waiter = world.connect("waiter")
    context = waiter.create_context()
    queue = Target(context)
    queue.wait(context.event_pool_open_ipc_handle(pool.get_ipc_handle()).event_create())
    slot = event.record.slot
    assert slot.pool.memory.load(slot.index).device_waits == 1

    waiter.close()
    world.device.check()

    world.statistics()
    assert slot.pool.memory.load(slot.index).device_waits == 0
    event.destroy()
    pool.destroy()


def test_a_reset_of_the_device_ends_waits_of_both_programs(
    world: Pair, exporter: Context, opener: Context
) -> None:
    pool = exporter.event_pool_create(SHARED)
    other = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())
    here, there = pool.event_create(), other.event_create()

    world.device.reset(world.now)

    assert result_of(here.host_synchronize) is LOST
    assert result_of(there.host_synchronize) is LOST


def test_a_pool_on_two_devices_is_opened_on_both() -> None:
    with pair(SMALL, devices=2) as world:
        exporter = world.driver.create_context()
        opener = world.connect("opener").create_context()
        pool = exporter.event_pool_create(SHARED)
        opened = opener.event_pool_open_ipc_handle(pool.get_ipc_handle())

        assert sorted(opened.event_create().record.slot.pool.numbers) == [0, 1]
        assert result_of(opener.event_pool_open_ipc_handle, bytes(64)) is (
            ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
        )


def test_a_pool_has_no_more_events_than_the_device_can_be_asked_for(exporter: Context) -> None:
    huge = EventPoolDesc(1 << 32, IPC)

    assert result_of(exporter.event_pool_create, huge) is ZeResult.ZE_RESULT_ERROR_INVALID_SIZE
