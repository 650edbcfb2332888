"""Replies, and what is published of finished work: twice, in another order, late, never."""

from __future__ import annotations

import pytest

from firmware.abi.control import Nop, ObjectDestroy
from firmware.abi.rings import HEAD
from firmware.abi.status import Status
from firmware.abi.work import FenceWrite
from hostdriver.testing.pair import DeviceSpec, pair
from hostdriver.testing.waiting import Stuck
from tests.harness.injection import faults_of
from tests.harness.injection_bench import NONE, Bench, add
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 << 20)
MS = 1_000_000


@pytest.fixture
def bench() -> Bench:
    return Bench()


def ask(bench: Bench, count: int) -> list[int]:
    """Send so many NOPs at once; return the requests that were answered."""
    for _ in range(count):
        bench.client.send(Nop(request=bench.client.request()).pack())
    bench.pair.step()
    return answered(bench)


def answered(bench: Bench) -> list[int]:
    return [reply.request for reply in bench.client.replies()]


def test_a_reply_comes_twice(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply repeat=2 nth=2")
    assert ask(bench, 3) == [first, first + 1, first + 1, first + 1, first + 2]
    bench.is_well()


def test_repeated_replies_leave_room_for_those_that_wait(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply repeat=1000")
    answers = ask(bench, 40)
    assert set(answers) == {first}, "the ring is full of the first"
    found = set(answers)
    for _ in range(60):
        bench.client.ring()
        bench.pair.step()
        found |= set(answered(bench))
    assert found == set(range(first, first + 40))
    bench.is_well()


def test_two_replies_change_places(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply reorder nth=2")
    assert ask(bench, 4) == [first, first + 2, first + 1, first + 3]
    bench.is_well()


def test_a_reply_without_a_next_one_comes_a_moment_later(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply reorder")
    assert ask(bench, 1) == []
    bench.pair.now += 10 * MS
    bench.pair.step()
    assert answered(bench) == [first]
    bench.is_well()


def test_a_late_reply_comes_then(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply delay=0.002 nth=1")
    assert ask(bench, 2) == [first + 1]
    bench.pair.now += 2 * MS
    bench.pair.step()
    assert answered(bench) == [first]
    bench.is_well()


def test_a_lost_reply_comes_when_its_rule_goes(bench: Bench) -> None:
    first = bench.client.request() + 1
    bench.faults.add("link.reply repeat opcode=MAP")
    rule = bench.faults.add("link.reply drop nth=1 opcode=NOP")
    assert ask(bench, 2) == [first + 1]
    bench.faults.remove(rule)
    bench.pair.step()
    assert answered(bench) == [first]
    bench.is_well()


def test_replies_that_are_held_back_keep_their_places(bench: Bench) -> None:
    entries = bench.client.layout.reply_ring_entries
    rule = bench.faults.add("link.reply drop")
    for _ in range(3):
        assert ask(bench, entries // 2) == []
    bench.faults.remove(rule)
    found: list[int] = []
    for _ in range(5):
        bench.pair.step()
        found += answered(bench)
        bench.client.ring()
    assert len(found) == entries // 2 * 3
    bench.is_well()


def test_a_client_that_stores_nonsense_meanwhile_is_stopped_and_nobody_else(bench: Bench) -> None:
    other = bench.pair.attach()
    bench.faults.add("link.reply drop")
    other.send(Nop(request=1).pack())
    bench.pair.step()
    other.u32[(other.layout.reply_ring_offset + HEAD) >> 2] = 0x8000_0000
    bench.faults.clear()
    other.ring()
    bench.pair.step()
    bench.pair.device.check()
    bench.pair.detach(other)
    bench.is_well()


def test_a_program_takes_replies_in_any_order_and_late() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        faults.add("link.reply reorder")
        context.mem_free(context.mem_alloc_device(p.driver.devices[0], 1 << 16))
        faults.clear()
        faults.add("link.reply delay=0.01")
        context.mem_free(context.mem_alloc_device(p.driver.devices[0], 1 << 16))
        faults.clear()
        p.assert_nothing_left()


def test_a_program_that_gets_a_reply_twice_has_lost_the_device() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        other = p.connect("other")
        context = other.create_context()
        faults.add("link.reply repeat process=other nth=1")
        with fails("DEVICE_LOST", "which nobody made"):
            for _ in range(3):
                context.mem_alloc_device(other.devices[0], 1 << 16)
        faults.clear()
        other.close()
        p.assert_nothing_left()


# --- finished work -------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["drop", "stale"])
def test_what_was_not_published_is_with_the_next_or_when_the_rule_goes(
    bench: Bench, action: str
) -> None:
    rule = bench.faults.add(f"link.completed {action} nth=1")
    assert bench.run(add(1)) == 0
    assert bench.word() == 1
    assert bench.run(add(2)) == 2
    bench.faults.remove(rule)
    bench.faults.add(f"link.completed {action}")
    assert bench.run(add(4)) == 2
    bench.faults.clear()
    bench.pair.step()
    assert (bench.completed, bench.word()) == (3, 7)
    bench.is_well()


def test_a_stale_number_is_told_of_and_a_lost_one_is_not(bench: Bench) -> None:
    bench.faults.add("link.completed drop nth=1")
    bench.run(add(1))
    assert not bench.pair.notices(bench.client)
    bench.faults.clear()
    bench.pair.step()
    bench.faults.add("link.completed stale")
    assert bench.run(add(1)) == 1
    assert bench.pair.notices(bench.client)
    bench.is_well()


def test_a_number_is_published_late(bench: Bench) -> None:
    bench.faults.add("link.completed delay=0.001")
    assert bench.run(add(1)) == 0
    bench.pair.now += MS
    bench.pair.step()
    assert bench.completed == 1
    assert bench.pair.notices(bench.client)
    bench.is_well()


@pytest.mark.parametrize(("action", "later"), [("drop", 0), ("stale", 0), ("delay=0.001", 9)])
def test_a_fence_is_signalled_late_or_when_the_rule_goes(
    bench: Bench, action: str, later: int
) -> None:
    bench.faults.add(f"link.completed {action} nth=1")
    fence = FenceWrite(flags=NONE, tag=0, pool=0, slot=2, value=9)
    assert bench.run(fence, add(1)) == 2
    assert (bench.client.fence(2).value, bench.word()) == (0, 1)
    bench.pair.now += MS
    bench.pair.step()
    assert bench.client.fence(2).value == later
    bench.faults.clear()
    bench.pair.step()
    assert bench.client.fence(2).value == 9
    bench.is_well()


def test_a_client_dies_while_its_completions_are_held_back(bench: Bench) -> None:
    other = bench.pair.attach()
    queue = other.queue(other.space())
    bench.faults.add("link.completed drop")
    other.submit(queue, FenceWrite(flags=NONE, tag=0, pool=0, slot=2, value=9))
    bench.pair.step()
    bench.pair.detach(other)
    bench.is_well()


def test_a_program_waits_without_completions_until_the_rule_goes() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        context = p.driver.create_context()
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults.add("link.completed drop")
        with pytest.raises(Stuck):
            context.memory_fill(pointer, b"\x01", 64)
        faults.clear()
        p.statistics()
        later = p.connect("later").create_context()
        other = later.mem_alloc_device(later.driver.devices[0], 1 << 16)
        later.memory_fill(other, b"\x02", 64)
        assert later.memory_read(other, 64) == b"\x02" * 64


def test_destroying_is_not_confused_by_what_is_held_back(bench: Bench) -> None:
    bench.faults.add("link.reply drop opcode=OBJECT_DESTROY")
    object_id = bench.client.object(4096)
    bench.client.send(ObjectDestroy(request=bench.client.request(), object_id=object_id).pack())
    bench.pair.step()
    assert bench.pair.device.statistics().object_count == bench.objects
    bench.faults.clear()
    bench.pair.step()
    assert [reply.status for reply in bench.client.replies()] == [Status.OK]
    bench.is_well()
