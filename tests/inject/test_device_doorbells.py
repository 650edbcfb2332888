"""Doorbells and interrupts that are lost, late, or come without a reason."""

from __future__ import annotations

import gc
import weakref

import pytest

from device.core.effects import Notify
from firmware.abi.control import Nop
from firmware.abi.status import Status
from hostdriver.testing.pair import DeviceSpec, pair
from hostdriver.testing.waiting import Stuck
from tests.harness.injection import faults_of
from tests.harness.injection_bench import Bench, add

SPEC = DeviceSpec(vram_size=64 << 20)
MS = 1_000_000


@pytest.fixture
def bench() -> Bench:
    return Bench()


def nop(bench: Bench) -> Nop:
    return Nop(request=bench.client.request())


def told(bench: Bench) -> list[Notify]:
    """Return the notices of the last step."""
    return [effect for effect in bench.pair.effects if isinstance(effect, Notify)]


# --- doorbells -----------------------------------------------------------------------------------


def test_work_whose_doorbell_was_lost_waits_until_its_client_asks_to_be_looked_after(
    bench: Bench,
) -> None:
    bench.faults.add("link.doorbell drop ring=work* nth=1")
    assert bench.run(add(1)) == 0
    assert not bench.pair.device.has_work
    assert bench.client.call(nop(bench)).status is Status.OK
    bench.client.ring()
    bench.pair.step()
    assert bench.completed == 1
    assert bench.run(add(2)) == 2
    assert bench.word() == 3
    bench.is_well()


def test_work_whose_doorbell_was_lost_is_found_when_the_rule_goes(bench: Bench) -> None:
    bench.faults.add("link.doorbell delay=100 ring=control")
    rule = bench.faults.add("link.doorbell drop ring=work*")
    assert bench.run(add(1)) == 0
    bench.faults.remove(rule)
    bench.pair.step()
    assert bench.completed == 1
    bench.is_well()


def test_a_command_whose_doorbell_was_lost_is_answered_when_the_rule_goes(bench: Bench) -> None:
    bench.faults.add("link.doorbell drop ring=control")
    bench.client.send(nop(bench).pack())
    bench.client.ring()
    bench.pair.step()
    assert bench.client.replies() == []
    bench.faults.clear()
    bench.pair.step()
    assert [reply.status for reply in bench.client.replies()] == [Status.OK]
    bench.is_well()


@pytest.mark.parametrize("ring", ["work*", "control"])
def test_a_late_doorbell_is_heard_then(bench: Bench, ring: str) -> None:
    bench.faults.add(f"link.doorbell delay=0.003 ring={ring}")
    bench.client.send(nop(bench).pack())
    done = bench.run(add(1))
    answers = bench.client.replies()
    assert (done == 0) is (ring == "work*")
    assert (answers == []) is (ring == "control")
    bench.pair.now += 3 * MS - 1
    bench.pair.step()
    assert len(bench.client.replies()) + bench.completed + len(answers) == 1
    bench.pair.now += 1
    bench.pair.step()
    assert len(bench.client.replies()) + len(answers) + bench.completed >= 1
    assert bench.completed == 1
    bench.is_well()


def test_a_doorbell_that_is_heard_again_does_no_harm(bench: Bench) -> None:
    turns = bench.pair.device.inside.blocks.scheduler.statistics
    bench.run(add(1))
    before = turns().turns
    bench.run(add(1))
    usual = turns().turns - before
    bench.faults.add("link.doorbell repeat=5 ring=work*")
    before = turns().turns
    assert bench.run(add(1)) == 3
    assert turns().turns - before == usual + 5
    assert bench.word() == 3
    bench.is_well()


def test_rules_reach_clients_and_queues_that_come_later(bench: Bench) -> None:
    bench.faults.add("link.doorbell drop ring=work*")
    later = bench.pair.attach()
    vmid = later.space()
    queue = later.queue(vmid)
    later.submit(queue, add(1))
    bench.pair.step()
    assert bench.faults.fired == ["link.doorbell"]
    bench.pair.detach(later)
    bench.is_well()


def test_a_program_hangs_without_its_doorbell_until_the_rule_goes() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        other = p.connect("other")
        faults.add("link.doorbell drop process=other")
        with pytest.raises(Stuck):
            other.create_context().mem_alloc_device(other.devices[0], 1 << 16)
        with p.driver.create_context() as context:
            context.mem_free(context.mem_alloc_device(p.driver.devices[0], 1 << 16))
        faults.clear()
        assert p.statistics().object_count == 1, "it was carried out"
        other.close()
        p.assert_nothing_left()


# --- interrupts ----------------------------------------------------------------------------------


def test_a_lost_interrupt_is_given_when_its_rule_goes(bench: Bench) -> None:
    rule = bench.faults.add("link.interrupt drop ring=work*")
    assert bench.run(add(1)) == 1
    assert told(bench) == []
    assert bench.client.call(nop(bench)).status is Status.OK
    assert told(bench), "of the control ring it is told"
    bench.faults.remove(rule)
    bench.pair.step()
    assert {notice.word for notice in told(bench)} >= {bench.queue.header + 0xC0}
    bench.is_well()


def test_a_late_interrupt_comes_then(bench: Bench) -> None:
    bench.faults.add("link.interrupt delay=0.001")
    assert bench.run(add(1)) == 1
    assert told(bench) == []
    bench.pair.now += MS
    bench.pair.step()
    assert told(bench)
    bench.is_well()


def test_a_storm_tells_of_a_word_again_and_again(bench: Bench) -> None:
    bench.run(add(1))
    usual = len(told(bench))
    bench.faults.add("link.interrupt spurious=100 ring=work*")
    assert bench.run(add(1)) == 2
    storm = told(bench)
    assert len(storm) == usual * 101
    assert sum(notice.force for notice in storm) >= usual * 100
    bench.is_well()


def test_interrupts_of_a_client_that_has_gone_go_with_it(bench: Bench) -> None:
    bench.faults.add("link.interrupt drop")
    other = bench.pair.attach()
    other.send(nop(bench).pack())
    bench.pair.step()
    bench.pair.detach(other)
    bench.is_well()


def test_a_program_finds_its_answers_without_interrupts() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        faults.add("link.interrupt drop")
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        context.memory_fill(pointer, b"\x01", 64)
        assert context.memory_read(pointer, 64) == b"\x01" * 64
        context.mem_free(pointer)
        assert faults.fired
        faults.clear()
        p.assert_nothing_left()


@pytest.mark.parametrize("action", ["drop", "stale"])
def test_what_was_not_published_is_when_its_client_asks_to_be_looked_after(
    bench: Bench, action: str
) -> None:
    bench.faults.add(f"link.completed {action} nth=1")
    assert bench.run(add(1)) == 0
    bench.pair.step()
    assert bench.completed == 0
    bench.client.ring()
    bench.pair.step()
    bench.pair.step()
    assert bench.completed == 1
    bench.is_well()


@pytest.mark.parametrize(
    "rule",
    [
        "command.control bad_opcode nth=1000",
        "command.work drop nth=1000",
        "link.tail stale nth=1000",
        "link.reply drop nth=1000",
        "link.doorbell drop nth=1000",
        "os.device.map errno=EIO nth=1000",
    ],
)
def test_nothing_holds_on_to_a_client_that_has_gone_while_a_rule_is_there(
    bench: Bench, rule: str
) -> None:
    bench.faults.add(rule)
    assert bench.run(add(1)) == 1
    state = bench.pair.device.inside.blocks.state
    gone = weakref.ref(state.clients[bench.client.client_id])
    gc.disable()
    try:
        bench.pair.detach(bench.client)
        bench.pair.step()
        assert gone() is None
    finally:
        gc.enable()
