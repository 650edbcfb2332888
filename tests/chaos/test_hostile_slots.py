"""Invariant: whatever a program stores into a shared event, the others get results and errors.

They never get an exception that is no `ZeError`, and their device queues never meet a bug.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from firmware.abi.ipc import IpcHandle, check_word
from firmware.abi.segment import FenceSlot
from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair
from tests.harness.events import INVALID, SMALL, Target, result_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from hostdriver.api.events import CounterEvent

IPC: Final = ze.EventCounterBasedDesc(ze.EventCounterBasedFlags.IPC)
U64: Final = (1 << 64) - 1
EDGES: Final = (0, 1, 2, U64 >> 1, 1 << 63, U64 - 1, U64)
ROUNDS: Final = 60


@pytest.fixture(name="world")
def make_world() -> Iterator[Pair]:
    # Devices of a pair raise on the first bug.
    with pair(SMALL) as made:
        yield made


@pytest.fixture(name="context")
def make_context(world: Pair) -> ze.Context:
    return world.driver.create_context()


@pytest.fixture(name="event")
def make_event(world: Pair, context: ze.Context) -> CounterEvent:
    return context.event_counter_based_create(world.driver.devices[0], IPC)


@pytest.fixture(name="theirs")
def open_event(world: Pair, event: CounterEvent) -> CounterEvent:
    """Return the event as another program has it."""
    other = world.connect("other").create_context()
    return other.event_counter_based_open_ipc_handle(event.counter_based_get_ipc_handle())


@pytest.mark.parametrize("nonsense", [U64, U64 - 1, 1 << 63])
def test_a_number_that_no_event_reaches_is_not_taken_over(
    context: ze.Context, event: CounterEvent, theirs: CounterEvent, nonsense: int
) -> None:
    target = Target(context)
    target.signal(event)
    slot = theirs.record.slot
    slot.pool.memory.arm(slot.index, nonsense)

    target.signal(event)
    event.host_synchronize()

    assert event.record.expected == 2
    assert event.counter_based_get_ipc_handle()
    target.wait(event)


def test_events_with_any_bytes_in_their_slots_answer_or_fail(
    world: Pair,
    context: ze.Context,
    event: CounterEvent,
    theirs: CounterEvent,
    chance: random.Random,
) -> None:
    device = world.driver.devices[0]
    flags = ze.EventPoolFlags.IPC | ze.EventPoolFlags.HOST_VISIBLE
    pool = context.event_pool_create(
        ze.EventPoolDesc(1, flags | ze.EventPoolFlags.KERNEL_TIMESTAMP)
    )
    timed = pool.event_create()
    memory = context.mem_alloc_host(4096)
    lists = context.command_list_create_immediate(device)
    results: set[ze.ZeResult] = set()
    for _ in range(ROUNDS):
        for shared in (theirs, timed):
            words = shared.record.slot.pool.memory._u64  # type: ignore[attr-defined]
            for word in range(FenceSlot.SIZE // 8):
                if chance.random() < 0.5:
                    words[word] = chance.choice(EDGES)
        one = chance.choice((event, timed))
        calls: tuple[Callable[[], object], ...] = (
            one.query_status,
            one.host_reset,
            one.host_signal,
            one.query_kernel_timestamp,
            partial(one.host_synchronize, 1000),
            partial(lists.append_signal_event, one),
            partial(lists.append_event_reset, one),
            partial(lists.append_memory_copy, memory, memory + 64, 64, one),
            one.counter_based_get_ipc_handle,
            one.counter_based_get_device_address,
        )
        try:
            chance.choice(calls)()
        except ze.ZeError as error:
            results.add(error.result)

    assert ze.ZeResult.ZE_RESULT_ERROR_UNKNOWN not in results
    world.check()


def test_a_handle_that_expects_what_no_event_reaches_opens_nothing(
    world: Pair, event: CounterEvent
) -> None:
    other = world.connect("other").create_context()
    handle = event.counter_based_get_ipc_handle()
    place = next(field for field in IpcHandle.FIELDS if field.name == "size_bytes")
    forged = handle[: place.offset] + U64.to_bytes(8, "little") + handle[place.end : -4]
    forged += check_word(forged + bytes(4)).to_bytes(4, "little")

    assert result_of(other.event_counter_based_open_ipc_handle, forged) is INVALID

    event.destroy()
    world.assert_nothing_left()
