"""Fence slots: order of stores, waits across rings, and who is woken."""

from __future__ import annotations

import pytest

from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.rings import COMPLETED, HEAD
from firmware.abi.segment import FENCE_HOST_SLEEPERS, FENCE_START_TICKS, FENCE_VALUE
from firmware.abi.work import FenceWait, FenceWrite, WorkFlags
from tests.harness.engine import (
    NONE,
    Rig,
    RigClient,
    copy,
    nop,
    notices_of,
    signal,
    store,
    wait_for,
)

A = 0x10_0000


@pytest.fixture
def client() -> RigClient:
    client = Rig().client()
    client.map(A, 16 * PAGE_SIZE)
    return client


def test_signal_stores_value_and_times_and_wakes_sleepers(client: RigClient) -> None:
    lane = client.queue()
    client.rig.now = 5000

    lane.submit(signal(3, 41), signal(3, 42))
    client.rig.run()

    slot = client.slot(3)
    assert (slot.value, slot.status) == (42, 0)
    assert (slot.start_ticks, slot.end_ticks) == (5000, 5000)
    at = client.slot_offset(3)
    (notice,) = notices_of(client.rig.notices, at + FENCE_VALUE)
    assert notice.sleepers == at + FENCE_HOST_SLEEPERS
    assert not notice.force


@pytest.mark.parametrize("start", [0, 7000, (1 << 64) - 2, (1 << 64) - 1])
def test_end_is_kept_in_64_bits_whatever_start_stands_in_the_slot(
    client: RigClient, start: int
) -> None:
    lane = client.queue()
    client.rig.now = 5000
    at = (client.slot_offset(3) + FENCE_START_TICKS) >> 3
    client.words.u64[at] = start
    keeping = FenceWrite(flags=WorkFlags.KEEP_START, tag=0, pool=0, slot=3, value=1)

    lane.submit(keeping)
    client.rig.run()

    slot = client.slot(3)
    assert slot.value == 1
    assert (slot.start_ticks, slot.end_ticks) == (start, max(5000, min(start + 1, (1 << 64) - 1)))


def test_values_are_64_bits(client: RigClient) -> None:
    lane = client.queue()

    lane.submit(wait_for(0, 1 << 63), nop())
    client.rig.run()
    assert lane.completed == 0

    other = client.queue()
    other.submit(signal(0, (1 << 63) + 1))
    client.rig.run()
    assert lane.completed == 2


def test_wait_holds_its_ring_while_others_go_on(client: RigClient) -> None:
    waiting, other = client.queue(), client.queue()

    waiting.submit(store(A, 1), wait_for(1, 5), store(A + 8, 2))
    other.submit(signal(1, 4), store(A + 16, 3))
    client.rig.run()

    assert (waiting.completed, other.completed) == (1, 2)
    assert client.peek(A, 24) == b"\1" + bytes(15) + b"\3" + bytes(7)
    assert client.slot(1).device_waits == 1
    assert not client.rig.scheduler.has_work


def test_device_signal_releases_a_wait_in_the_same_call(client: RigClient) -> None:
    waiting, other = client.queue(), client.queue()
    waiting.submit(wait_for(1, 5), nop())
    client.rig.run()

    other.submit(signal(1, 5))
    client.rig.step()
    assert client.slot(1).device_waits == 0
    client.rig.step()

    assert waiting.completed == 2


def test_host_store_releases_a_wait_at_the_next_look(client: RigClient) -> None:
    waiting = client.queue()
    waiting.submit(wait_for(1, 5), nop())
    client.rig.run()

    client.words.store64(client.slot_offset(1) + FENCE_VALUE, 7)
    assert client.rig.scheduler.has_work
    client.rig.run()

    assert waiting.completed == 2
    assert client.slot(1).device_waits == 0


def test_wait_that_is_reached_already_costs_no_turn(client: RigClient) -> None:
    lane = client.queue()

    lane.submit(signal(0, 3), wait_for(0, 3), wait_for(0, 2), nop())
    client.rig.step()

    assert lane.completed == 4
    assert lane.queue.statistics().waits == 0


def test_many_rings_wait_for_different_values_of_one_slot(client: RigClient) -> None:
    lanes = [client.queue(entries=4) for _ in range(4)]
    for number, lane in enumerate(lanes, start=1):
        lane.submit(wait_for(2, number))
    client.rig.run()
    assert client.slot(2).device_waits == 4

    signaller = client.queue()
    for value, released in ((2, 2), (3, 3), (9, 4)):
        signaller.submit(signal(2, value))
        client.rig.run()
        assert sum(lane.completed for lane in lanes) == released
        assert client.slot(2).device_waits == 4 - released


def test_rings_that_signal_each_other_take_turns(client: RigClient) -> None:
    ping, pong = client.queue(), client.queue()
    for turn in range(1, 20):
        ping.submit(wait_for(1, turn - 1), signal(0, turn))
        pong.submit(wait_for(0, turn), signal(1, turn))

    client.rig.run()

    assert (ping.completed, pong.completed) == (38, 38)


def test_clients_slots_are_their_own(client: RigClient) -> None:
    stranger = client.rig.client()
    mine, theirs = client.queue(), stranger.queue()

    mine.submit(wait_for(0, 1))
    theirs.submit(signal(0, 1))
    client.rig.run()

    assert (mine.completed, theirs.completed) == (0, 1)


def test_value_is_stored_after_what_it_stands_for(client: RigClient) -> None:
    """At the moment of the store everything before it in the ring has happened."""
    lane = client.queue()
    client.poke(A, b"payload!")
    seen: list[bytes] = []
    slots = client.words.u64

    class Spy:
        def __getitem__(self, index: int) -> int:
            return slots[index]

        def __setitem__(self, index: int, value: int) -> None:
            if index == (client.slot_offset(0) + FENCE_VALUE) >> 3:
                seen.append(client.peek(A + 64, 8) + slots[index + 9].to_bytes(8, "little"))
            slots[index] = value

    client.rig.now = 99
    client.engine.pools[0]._u64 = Spy()  # type: ignore[assignment]
    lane.submit(copy(A, A + 64, 8), signal(0, 1))
    client.rig.run()

    assert seen == [b"payload!" + (99).to_bytes(8, "little")]


@pytest.mark.case("D05")
@pytest.mark.parametrize("kind", [FenceWrite, FenceWait])
@pytest.mark.parametrize(("pool", "slot", "detail"), [(1, 0, 8), (0, 16, 12), (0, 1 << 31, 12)])
def test_slot_that_does_not_exist_is_a_bad_command(
    client: RigClient, kind: type[FenceWrite | FenceWait], pool: int, slot: int, detail: int
) -> None:
    lane = client.queue()

    lane.submit(kind(flags=NONE, tag=0, pool=pool, slot=slot, value=1))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.detail) == (FaultReason.BAD_COMMAND, detail)


def test_reset_and_removal_end_a_wait(client: RigClient) -> None:
    first, second = client.queue(), client.queue()
    first.submit(wait_for(0, 1))
    second.submit(wait_for(0, 1))
    client.rig.run()

    first.reset()
    assert client.slot(0).device_waits == 1
    assert client.rig.scheduler.remove(second.queue)
    assert client.slot(0).device_waits == 0

    first.submit(nop())
    client.rig.run()
    assert first.completed == 2


def test_interrupt_flag_forces_the_notice_of_completion(client: RigClient) -> None:
    lane = client.queue()

    lane.submit(nop())
    client.rig.run()
    lane.submit(signal(0, 1, WorkFlags.INTERRUPT), nop())
    client.rig.run()
    lane.submit(nop())
    client.rig.run()

    done = notices_of(client.rig.notices, lane.queue.header + COMPLETED)
    assert [notice.force for notice in done] == [False, True, False]


def test_one_notice_for_each_word_of_a_ring_and_call(client: RigClient) -> None:
    lane = client.queue()

    lane.submit(*(nop() for _ in range(50)))
    client.rig.step()

    (head,) = notices_of(client.rig.notices, lane.queue.header + HEAD)
    assert (head.old, head.new) == (0, 50)
    assert len(notices_of(client.rig.notices, lane.queue.header + COMPLETED)) == 1
    assert lane.producer.free == 64


def test_queue_that_was_released_can_still_be_removed(client: RigClient) -> None:
    lane = client.queue()
    lane.submit(wait_for(0, 1), store(A, 1))
    client.rig.run()
    client.words.store64(client.slot_offset(0) + FENCE_VALUE, 1)
    assert client.rig.scheduler.has_work

    assert client.rig.scheduler.remove(lane.queue)
    client.rig.run()

    assert client.peek(A, 1) == b"\0"
