"""Turns, shares and model time: nobody starves, and everything happens when it should."""

from __future__ import annotations

import pytest

from device.core.effects import Notify, RunChunk, WakeAt
from device.core.engine import Priority
from device.core.engine.scheduler import MOST_BYTES
from device.core.errors import InternalError
from device.core.spec import Latencies
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.rings import COMPLETED, RingState
from firmware.abi.status import Status
from tests.harness.engine import (
    Lane,
    Rig,
    RigClient,
    copy,
    fill,
    make_spec,
    nop,
    notices_of,
    region,
    signal,
    store,
)

A = 0x1000_0000
B = 0x2000_0000
MIB = 1 << 20


def with_memory(rig: Rig, size: int = 16 * PAGE_SIZE) -> RigClient:
    client = rig.client()
    client.map(A, size)
    client.map(B, size)
    return client


def test_ring_of_huge_copies_does_not_starve_one_of_tiny_ones() -> None:
    rig = Rig(make_spec(vram_size=32 * MIB, copy_engines=2))
    client = with_memory(rig, 4 * MIB)
    huge, tiny = client.queue(entries=256), client.queue(entries=1024)
    huge.submit(*(copy(A, B, 4 * MIB) for _ in range(256)))
    tiny.submit(*(copy(A + 64 * index, A, 64) for index in range(1, 1001)))

    calls = 0
    while tiny.completed < 1000:
        rig.step()
        while rig.chunks:
            rig.finish_chunk()
        calls += 1

    assert calls <= 20
    assert huge.completed < 20


def test_ring_of_inline_copies_ends_its_turn_by_bytes() -> None:
    rig = Rig(make_spec(vram_size=16 * MIB))
    client = with_memory(rig, MIB)
    large, small = client.queue(), client.queue()
    large.submit(*(copy(A, B, MIB) for _ in range(60)))
    small.submit(nop())

    rig.step()

    assert small.completed == 1
    assert large.completed == 1


@pytest.mark.parametrize("first", [0, 1, 2])
def test_every_ready_ring_has_a_turn_before_any_has_a_second(first: int) -> None:
    rig = Rig(make_spec(slice_commands=4))
    client = with_memory(rig)
    lanes = [client.queue() for _ in range(3)]
    for lane in lanes[first:] + lanes[:first]:
        lane.submit(*(nop() for _ in range(40)))

    for turn in range(1, 11):
        rig.step()
        assert [lane.completed for lane in lanes] == [4 * turn] * 3


def test_a_client_with_many_rings_has_no_more_turns_than_one_with_a_single_ring() -> None:
    rig = Rig(make_spec(slice_commands=4))
    greedy, modest = with_memory(rig), with_memory(rig)
    many = [greedy.queue() for _ in range(20)]
    for lane in many:
        lane.submit(*(nop() for _ in range(40)))
    single = modest.queue()
    single.submit(*(nop() for _ in range(40)))

    rig.step()

    # One turn in two: 21 rings were ready.
    assert single.completed == 40
    assert [lane.completed for lane in many] == [4] * 11 + [0] * 9


def test_one_call_moves_a_few_megabytes_at_most_whatever_stands_in_line() -> None:
    rig = Rig(make_spec(vram_size=16 * MIB))
    client = with_memory(rig, MIB)
    lanes = [client.queue() for _ in range(12)]
    for lane in lanes:
        lane.submit(copy(A, B, MIB))

    rig.step()

    assert sum(lane.completed for lane in lanes) == MOST_BYTES // MIB
    rig.run()
    assert all(lane.completed == 1 for lane in lanes)


def test_engines_serve_clients_alike_however_many_rings_each_has() -> None:
    rig = Rig(make_spec(vram_size=64 * MIB, copy_engines=1))
    greedy, modest = with_memory(rig, 4 * MIB), with_memory(rig, 4 * MIB)
    many = [greedy.queue() for _ in range(10)]
    for lane in many:
        lane.submit(*(copy(A, B, 4 * MIB) for _ in range(10)))
    single = modest.queue()
    single.submit(*(copy(A, B, 4 * MIB) for _ in range(10)))

    while single.completed < 10:
        rig.step()
        while rig.chunks:
            rig.finish_chunk()

    done = [lane.completed for lane in many]
    assert sum(done) <= 11
    # Its own rings are alike, too.
    assert max(done) - min(done) <= 1


def test_priorities_share_the_turns() -> None:
    rig = Rig(make_spec(slice_commands=8))
    client = with_memory(rig)
    lanes = {priority: client.queue(1024, priority) for priority in Priority}
    for lane in lanes.values():
        lane.submit(*(nop() for _ in range(1000)))

    for _ in range(10):
        rig.step()

    done = {priority: lane.completed for priority, lane in lanes.items()}
    assert done == {Priority.LOW: 40, Priority.NORMAL: 80, Priority.HIGH: 160}


def test_one_call_is_bounded_and_says_that_there_is_more() -> None:
    rig = Rig()
    clients = [with_memory(rig) for _ in range(4)]
    lanes = [client.queue(entries=4) for client in clients for _ in range(10)]
    for lane in lanes:
        lane.submit(nop())

    rig.step()
    assert sum(lane.completed for lane in lanes) == 32
    assert rig.scheduler.has_work
    rig.step()
    assert sum(lane.completed for lane in lanes) == 40
    assert not rig.scheduler.has_work


def test_kick_is_harmless_at_any_time() -> None:
    rig = Rig()
    client = with_memory(rig)
    lane = client.queue()
    for _ in range(3):
        rig.scheduler.kick(lane.queue)
    rig.run()
    lane.submit(store(0x7000, 1))
    rig.run()
    rig.scheduler.kick(lane.queue)
    rig.run()

    assert lane.header.state is RingState.STOPPED
    assert rig.scheduler.statistics().faults == 1


def run_to_times(rig: Rig, lane: Lane) -> list[int]:
    """Run with a jumping clock; return the device time of each completion."""
    times: list[int] = []
    while True:
        effects = rig.step()
        while len(times) < lane.completed:
            times.append(lane.header.ended_ticks)
        wake = [effect.tick for effect in effects if isinstance(effect, WakeAt)]
        if not wake and not rig.scheduler.has_work:
            return times
        if wake:
            rig.now = min(wake)


def test_commands_take_model_time() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=100, copy_ticks_per_kib=10)))
    client = with_memory(rig)
    lane = client.queue()
    rig.now = 10_000

    lane.submit(nop(), copy(A, B, 4096), fill(A, 1, b"x"), copy(A, B, 0), signal(0, 1))

    assert run_to_times(rig, lane) == [10_100, 10_240, 10_350, 10_450, 10_550]
    assert (client.slot(0).start_ticks, client.slot(0).end_ticks) == (10_450, 10_550)


def test_effects_of_a_command_show_when_its_time_is_over() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=100)))
    client = with_memory(rig)
    lane = client.queue()
    lane.submit(store(A, 1))

    rig.now = 1000
    assert WakeAt(1100) in rig.step()
    rig.now = 1099
    assert WakeAt(1100) in rig.step()
    assert client.peek(A, 1) == b"\0"
    rig.now = 1100
    assert not any(isinstance(effect, WakeAt) for effect in rig.step())
    assert client.peek(A, 1) == b"\1"


def test_late_call_catches_up_with_model_time() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=100)))
    client = with_memory(rig)
    lane = client.queue()
    lane.submit(*(nop() for _ in range(10)))
    rig.now = 1000
    rig.step()

    rig.now = 1550
    effects = rig.step()

    assert lane.completed == 5
    assert WakeAt(1600) in effects


def test_rings_spend_model_time_side_by_side() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=100)))
    client = with_memory(rig)
    lanes = [client.queue(), client.queue()]
    for lane in lanes:
        lane.submit(nop(), nop())
    rig.now = 0

    rig.run(wait=True)

    assert rig.now == 200
    assert [lane.completed for lane in lanes] == [2, 2]


def test_reset_and_removal_end_a_delay() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=100)))
    client = with_memory(rig)
    first, second = client.queue(), client.queue()
    first.submit(store(A, 1))
    second.submit(store(A, 1))
    rig.step()

    first.reset()
    assert rig.scheduler.remove(second.queue)
    assert not any(isinstance(effect, WakeAt) for effect in rig.step())
    rig.now += 1000
    rig.run()
    assert client.peek(A, 1) == b"\0"


def test_lost_queue_tells_its_waiters() -> None:
    rig = Rig()
    client = with_memory(rig)
    lane = client.queue()
    lane.submit(nop())
    rig.run()
    rig.notices.clear()

    assert rig.scheduler.lose(lane.queue)
    rig.step()

    header = lane.header
    assert (header.state, header.status) == (RingState.LOST, Status.DEVICE_LOST)
    assert header.completed == 1
    assert len(notices_of(rig.notices, lane.queue.header + COMPLETED)) == 1
    lane.submit(nop())
    rig.run()
    assert lane.completed == 1


def test_queue_cannot_come_twice_or_back() -> None:
    rig = Rig()
    lane = with_memory(rig).queue()

    with pytest.raises(InternalError, match="added while IDLE"):
        rig.scheduler.add(lane.queue)
    rig.scheduler.remove(lane.queue)
    with pytest.raises(InternalError, match="added while GONE"):
        rig.scheduler.add(lane.queue)


def test_statistics_keep_what_removed_queues_did() -> None:
    rig = Rig()
    client = with_memory(rig)
    lane = client.queue()
    lane.submit(nop(), nop(), copy(A, B, 100), store(0x5000, 1))
    rig.run()
    record = lane.queue.statistics()
    assert (record.completed, record.bytes_copied, record.faults) == (3, 100, 1)

    rig.scheduler.remove(lane.queue)

    statistics = rig.scheduler.statistics()
    assert (statistics.commands, statistics.faults, statistics.queue_count) == (3, 1, 0)
    assert client.engine.past_commands == 3


def test_effects_come_as_notices_then_chunks_then_time() -> None:
    rig = Rig(make_spec(Latencies(command_ticks=10), vram_size=16 * MIB))
    client = with_memory(rig, 2 * MIB)
    big, slow = client.queue(), client.queue()
    big.submit(copy(A, B, 2 * MIB))
    rig.step()
    rig.now += 10
    slow.submit(nop(), nop())
    rig.step()
    rig.now += 10
    kinds = [type(effect) for effect in rig.step()]

    order: list[type[object]] = [Notify, RunChunk, WakeAt]
    assert kinds == sorted(kinds, key=order.index)
    assert set(kinds) == {Notify, WakeAt}
    rig.run(wait=True)
    assert (big.completed, slow.completed) == (1, 2)


def test_boxes_take_time_for_their_bytes_and_impossible_sizes_take_none() -> None:
    rig = Rig(make_spec(Latencies(copy_ticks_per_kib=100)))
    client = with_memory(rig)
    lane = client.queue()
    rig.now = 0

    lane.submit(region(A, B, (1024, 3, 2), (1024, 4096), (1024, 4096)), copy(A, B, 1 << 63))

    assert run_to_times(rig, lane) == [600]
    (record,) = client.faults()
    assert (record.reason, record.time_ticks) == (FaultReason.BAD_COMMAND, 600)
