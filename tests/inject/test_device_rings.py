"""Tails that are read wrong, and entries that are read before they were written."""

from __future__ import annotations

import pytest

from firmware.abi.control import Nop
from firmware.abi.faults import FaultReason
from firmware.abi.rings import HEAD, TAIL, RingState
from firmware.abi.status import Status
from firmware.link.rings import Consumer
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.injection import faults_of
from tests.harness.injection_bench import Bench, add
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 << 20)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def nop(bench: Bench) -> Nop:
    return Nop(request=bench.client.request())


def control_state(bench: Bench) -> RingState:
    return bench.client.header(bench.client.layout.control_ring_offset).state


def begin_at(bench: Bench, index: int) -> None:
    """Let the indices of the work ring begin there."""
    client = bench.pair.device.inside.blocks.state.clients[bench.client.client_id]
    queue = client.queues[bench.queue.queue_id]
    for word in (TAIL, HEAD):
        bench.client.u32[(queue.header + word) >> 2] = index
    queue.consumer = Consumer(client.words, queue.header, queue.consumer.shape, start=index)
    bench.queue.tail = index


def test_work_behind_a_stale_tail_waits_for_the_next_doorbell(bench: Bench) -> None:
    bench.faults.add("link.tail stale ring=work* nth=2")
    assert bench.run(add(1)) == 1
    assert bench.run(add(2)) == 1
    assert bench.state is RingState.RUNNING
    assert bench.run(add(4)) == 3
    assert bench.word() == 7
    bench.is_well()


@pytest.mark.parametrize("ring", ["work*", "control"])
def test_what_is_behind_a_stale_tail_is_found_when_the_rule_goes(bench: Bench, ring: str) -> None:
    bench.faults.add(f"link.tail stale ring={ring}")
    bench.client.send(nop(bench).pack())
    done = bench.run(add(1))
    answers = len(bench.client.replies())
    assert (done, answers) == ((0, 1) if ring == "work*" else (1, 0))
    bench.faults.clear()
    bench.pair.step()
    assert (bench.completed, answers + len(bench.client.replies())) == (1, 1)
    bench.is_well()


def test_a_torn_tail_has_the_lower_half_of_the_new_and_the_upper_of_the_old(bench: Bench) -> None:
    begin_at(bench, 0xFFFF)
    bench.faults.add("link.tail torn ring=work*")
    bench.run(add(1))
    (fault,) = bench.client.faults()
    assert (fault.reason, fault.va) == (FaultReason.BAD_TAIL, 0)
    assert bench.state is RingState.STOPPED
    bench.is_well()


def test_a_torn_tail_is_right_where_its_halves_are_those_of_the_old(bench: Bench) -> None:
    bench.faults.add("link.tail torn ring=work*")
    assert bench.run(add(1)) == 1
    bench.is_well()


def test_a_tail_out_of_range_stops_the_queue(bench: Bench) -> None:
    bench.faults.add("link.tail value=0x12345 ring=work* nth=1")
    assert bench.run(add(1)) == 0
    (fault,) = bench.client.faults()
    assert (fault.reason, fault.va, bench.state) == (
        FaultReason.BAD_TAIL,
        0x12345,
        RingState.STOPPED,
    )
    bench.is_well()


def test_a_tail_that_is_too_large_stops_its_queue_at_what_was_never_written(bench: Bench) -> None:
    bench.faults.add("link.tail value=3 ring=work* nth=1")
    assert bench.run(add(1)) == 1
    assert (bench.word(), bench.state) == (1, RingState.STOPPED)
    assert bench.client.faults()[0].reason is FaultReason.BAD_COMMAND
    bench.is_well()


def test_a_tail_out_of_range_stops_a_control_ring(bench: Bench) -> None:
    bench.faults.add("link.tail value=0x12345 ring=control")
    bench.client.send(nop(bench).pack())
    bench.pair.step()
    assert control_state(bench) is RingState.STOPPED
    assert bench.client.header(bench.client.layout.control_ring_offset).status == Status.BAD_TAIL
    bench.pair.detach(bench.client)
    bench.pair.device.check()
    bench.faults.clear()
    bench.pair.attach().space()


def test_a_program_whose_control_ring_was_stopped_has_lost_the_device() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        other = p.connect("other")
        context = other.create_context()
        faults.add("link.tail value=0x12345 ring=control process=other")
        with fails("DEVICE_LOST", "stopped the control ring"):
            context.mem_alloc_device(other.devices[0], 1 << 16)
        faults.clear()
        other.close()
        later = p.connect("later")
        with later.create_context() as works:
            works.mem_free(works.mem_alloc_device(later.devices[0], 1 << 16))


def test_entries_that_are_read_too_early_hold_what_was_there_before(bench: Bench) -> None:
    count = bench.queue.entry_count
    bench.faults.add(f"link.payload early ring=work* nth={count + 2}")
    for number in range(count):
        assert bench.run(add(1)) == number + 1
    assert bench.word() == count
    assert bench.run(add(1000)) == count + 1
    assert bench.run(add(1000)) == count + 2
    assert bench.word() == count + 1000 + 1, "the entry of the round before was run again"
    bench.is_well()


def test_an_entry_that_was_never_written_is_read_as_zeros(bench: Bench) -> None:
    bench.faults.add("link.payload early nth=1 ring=control")
    bench.client.send(nop(bench).pack())
    bench.pair.step()
    (reply,) = bench.client.replies()
    assert (reply.request, reply.status) == (0, Status.OK)
    bench.is_well()


def test_work_that_was_never_written_stops_its_queue_and_is_not_done_in_silence(
    bench: Bench,
) -> None:
    bench.faults.add("link.payload early nth=1 ring=work*")
    assert bench.run(add(1)) == 0
    assert bench.state is RingState.STOPPED
    (fault,) = bench.client.faults()
    assert (fault.reason, fault.opcode) == (FaultReason.BAD_COMMAND, 0)
    assert bench.word() == 0
    bench.is_well()


def test_a_program_whose_command_was_read_too_early_has_lost_the_device() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        other = p.connect("other")
        context = other.create_context()
        faults.add("link.payload early ring=control process=other")
        with fails("DEVICE_LOST", "which nobody made"):
            context.mem_alloc_device(other.devices[0], 1 << 16)
        faults.clear()
        other.close()
        p.assert_nothing_left()


def test_rules_of_one_ring_leave_the_others_alone(bench: Bench) -> None:
    other = bench.client.queue(bench.vmid)
    bench.faults.add(f"link.tail stale ring=work{other.queue_id}")
    assert bench.run(add(1)) == 1
    bench.client.submit(other, add(2))
    bench.pair.step()
    assert bench.word() == 1
    bench.is_well()
