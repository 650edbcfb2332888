"""Commands that change on their way into the device: what it answers, and that it goes on after."""

from __future__ import annotations

import pytest

from firmware.abi.control import Nop, QueueReset
from firmware.abi.faults import FaultReason
from firmware.abi.replies import ObjectCreated, Refused
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import Copy, FenceWrite, MemoryWrite
from firmware.inject import RuleError
from tests.harness.injection_bench import NONE, VA, Bench, add, fill


@pytest.fixture
def bench() -> Bench:
    return Bench()


# --- control -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("flip field=opcode mask=0x8000", Status.UNKNOWN_OPCODE),
        ("flip field=size_bytes mask=0x1", Status.BAD_RANGE),
        ("flip=3", None),
        ("flip mask=0x8000", Status.UNKNOWN_OPCODE),
        ("set=size_bytes value=0", Status.BAD_RANGE),
        ("set=kind value=99", Status.MALFORMED),
        ("bad_opcode", Status.UNKNOWN_OPCODE),
        ("bad_opcode=0x7777", Status.UNKNOWN_OPCODE),
        ("bad_length", Status.OUT_OF_DEVICE_MEMORY),
    ],
)
def test_a_changed_control_command_is_refused_and_changes_nothing(
    bench: Bench, action: str, status: Status | None
) -> None:
    bench.faults.add(f"command.control {action} opcode=OBJECT_CREATE nth=1")
    bench.client.send(bench.create().pack())
    bench.pair.step()
    (reply,) = bench.client.replies()
    assert bench.faults.fired == ["command.control"]
    if status is not None:
        assert isinstance(reply, Refused)
        assert reply.status in (status, Status.BAD_ALIGNMENT)
        assert bench.pair.device.statistics().object_count == bench.objects
    bench.client.ask(bench.create(), ObjectCreated)
    bench.is_well()


def test_a_field_that_a_command_does_not_have_changes_nothing(bench: Bench) -> None:
    bench.faults.add("command.control set=page_size value=3")
    assert bench.client.call(Nop(request=bench.client.request())).status is Status.OK
    assert len(bench.faults.hits) == 1
    bench.is_well()


def test_a_control_command_without_a_length_gets_a_byte_too_many(bench: Bench) -> None:
    bench.faults.add("command.control bad_length opcode=NOP")
    reply = bench.client.refused(Nop(request=bench.client.request()))
    assert reply.status is Status.MALFORMED
    bench.is_well()


def test_a_dropped_control_command_is_carried_out_when_its_rule_goes(bench: Bench) -> None:
    kept = bench.faults.add("command.control drop opcode=OBJECT_CREATE")
    bench.faults.add("command.control bad_opcode opcode=SPACE_DESTROY")
    bench.client.send(bench.create().pack())
    bench.pair.step()
    assert bench.client.replies() == []
    assert bench.client.call(Nop(request=bench.client.request())).status is Status.OK
    bench.faults.remove(kept)
    bench.pair.step()
    (reply,) = bench.client.replies()
    assert isinstance(reply, ObjectCreated)
    bench.is_well()


def test_removing_all_rules_lets_dropped_control_commands_go(bench: Bench) -> None:
    bench.faults.add("command.control drop")
    for _ in range(3):
        bench.client.send(bench.create().pack())
    bench.pair.step()
    assert bench.client.replies() == []
    bench.faults.clear()
    bench.pair.step()
    assert [type(reply) for reply in bench.client.replies()] == [ObjectCreated] * 3
    assert bench.client.call(Nop(request=bench.client.request())).status is Status.OK
    bench.is_well()


def test_a_dropped_control_command_of_a_dead_client_is_forgotten(bench: Bench) -> None:
    bench.faults.add("command.control drop opcode=OBJECT_CREATE")
    other = bench.pair.attach()
    other.send(bench.create().pack())
    bench.pair.step()
    bench.pair.detach(other)
    bench.is_well()


def test_a_repeated_control_command_is_carried_out_and_answered_again(bench: Bench) -> None:
    bench.faults.add("command.control repeat=2 opcode=OBJECT_CREATE nth=1")
    bench.client.send(bench.create().pack())
    bench.pair.step()
    replies = bench.client.replies()
    assert [type(reply) for reply in replies] == [ObjectCreated] * 3
    assert len({reply.request for reply in replies}) == 1
    assert bench.pair.device.statistics().object_count == bench.objects + 3
    bench.is_well()


# --- work --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("bad_opcode", FaultReason.BAD_COMMAND),
        ("bad_length", FaultReason.NOT_PRESENT),
        ("flip field=destination mask=0x4000000000", FaultReason.NOT_PRESENT),
        ("set=pattern_size value=5", FaultReason.BAD_COMMAND),
        ("flip field=flags mask=0x8000", FaultReason.BAD_COMMAND),
    ],
)
def test_a_changed_work_command_stops_its_queue_with_a_fault(
    bench: Bench, action: str, reason: FaultReason
) -> None:
    bench.faults.add(f"command.work {action} opcode=FILL nth=2")
    assert bench.run(fill(1)) == 1
    assert bench.run(fill(2), fill(3)) == 1
    (fault,) = bench.client.faults()
    assert (fault.reason, fault.seqno, bench.state) == (reason, 2, RingState.STOPPED)
    assert bench.word() == 0x0101_0101_0101_0101
    bench.is_well()


def test_the_fault_record_shows_the_opcode_that_the_device_saw(bench: Bench) -> None:
    bench.faults.add("command.work bad_opcode=0x4321")
    bench.run(fill())
    assert bench.client.faults()[0].opcode == 0x4321


def test_a_changed_address_is_where_the_device_writes(bench: Bench) -> None:
    bench.faults.add(f"command.work set=destination value={VA + 8:#x} opcode=FILL")
    assert bench.run(fill()) == 1
    assert bench.word() == 0
    bench.is_well()


@pytest.mark.parametrize("count", [1, 40])
def test_a_dropped_work_command_counts_and_does_nothing(bench: Bench, count: int) -> None:
    bench.faults.add(f"command.work drop opcode=MEMORY_ADD nth={count}")
    assert bench.run(*[add(1)] * count) == count
    assert bench.word() == count - 1
    assert bench.state is RingState.RUNNING
    bench.is_well()


def test_a_fence_that_was_dropped_is_signalled_when_the_rule_goes(bench: Bench) -> None:
    bench.faults.add("command.work drop opcode=FENCE_WRITE")
    fence = FenceWrite(flags=NONE, tag=0, pool=0, slot=3, value=9)
    assert bench.run(fence) == 1
    assert bench.client.fence(3).value == 0
    bench.faults.clear()
    bench.pair.step()
    assert bench.client.fence(3).value == 9
    bench.is_well()


def test_a_fence_is_not_signalled_late_in_a_queue_that_was_reset(bench: Bench) -> None:
    bench.faults.add("command.work drop opcode=FENCE_WRITE")
    bench.run(FenceWrite(flags=NONE, tag=0, pool=0, slot=3, value=9))
    reset = QueueReset(request=bench.client.request(), queue_id=bench.queue.queue_id)
    assert bench.client.call(reset).status is Status.OK
    bench.faults.clear()
    bench.pair.step()
    assert bench.client.fence(3).value == 0


@pytest.mark.parametrize(("count", "others"), [(1, 0), (3, 0), (2, 30)])
def test_a_repeated_work_command_is_run_again_and_counts_once(
    bench: Bench, count: int, others: int
) -> None:
    bench.faults.add(f"command.work repeat={count} opcode=MEMORY_ADD nth=1")
    assert bench.run(add(1), *[add(1)] * others) == 1 + others
    assert bench.word() == 1 + count + others
    bench.is_well()


def test_a_repeated_plain_copy_goes_both_times_through_the_engine(bench: Bench) -> None:
    copy = Copy(flags=NONE, tag=0, source=VA, destination=VA + 4096, size_bytes=64)
    bench.faults.add("command.work repeat opcode=COPY")
    assert bench.run(*[copy] * 30) == 30
    client = bench.pair.device.inside.blocks.state.clients[bench.client.client_id]
    assert client.queues[bench.queue.queue_id].bytes_moved == 2 * 30 * 64
    bench.is_well()


@pytest.mark.parametrize(
    ("where", "fires"),
    [
        ("opcode=FILL", True),
        ("opcode=COPY*", False),
        (f"address={VA:#x}", True),
        (f"address={VA + 8:#x}+0x100", False),
        ("ring=work*", True),
        ("ring=control", False),
        ("pid=4242", False),
    ],
)
def test_rules_select_commands_by_what_they_say(bench: Bench, where: str, fires: bool) -> None:
    bench.faults.add(f"command.work drop {where}")
    assert bench.run(fill()) == 1
    assert (bench.word() == 0) is fires
    assert bool(bench.faults.hits) is fires


def test_the_same_seed_flips_the_same_bits(bench: Bench) -> None:
    found = []
    for _ in range(2):
        again = Bench()
        again.faults.add("command.work flip=2 field=size_bytes opcode=MEMORY_WRITE")
        again.faults.add("command.work flip=2 field=value opcode=MEMORY_WRITE")
        again.run(MemoryWrite(flags=NONE, tag=0, destination=VA, value=0))
        found.append(again.word())
    assert found[0] == found[1]


def test_a_field_that_no_command_has_is_no_rule(bench: Bench) -> None:
    with pytest.raises(RuleError, match="has no field 'colour'"):
        bench.faults.add("command.work set=colour value=3")
