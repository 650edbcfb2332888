"""The micro-controller: wrong, late and missing answers, crashes, and images that are refused."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError
from firmware.abi.control import Nop
from firmware.abi.registers import STATUS, BootError, DeviceStatus, Phase
from firmware.abi.replies import ObjectCreated, Refused
from firmware.abi.status import Status
from firmware.inject import RuleError
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.devicepair import IMAGE, DevicePair
from tests.harness.injection import faults_in, faults_of
from tests.harness.injection_bench import Bench
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 << 20)
MS = 1_000_000


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_command_is_refused_with_another_status_and_changes_nothing(bench: Bench) -> None:
    bench.faults.add("mcu.command status=OUT_OF_HOST_MEMORY opcode=OBJECT_CREATE nth=2")
    bench.client.ask(bench.create(), ObjectCreated)
    assert bench.client.refused(bench.create()).status is Status.OUT_OF_HOST_MEMORY
    assert bench.pair.device.statistics().object_count == bench.objects + 1
    assert bench.faults.fired == ["mcu.command"]
    bench.client.ask(bench.create(), ObjectCreated)
    bench.is_well()


@pytest.mark.parametrize(
    ("status", "result"),
    [
        ("OUT_OF_DEVICE_MEMORY", "OUT_OF_DEVICE_MEMORY"),
        ("OUT_OF_HOST_MEMORY", "OUT_OF_HOST_MEMORY"),
        ("DEVICE_LOST", "DEVICE_LOST"),
        ("UNSUPPORTED", "UNSUPPORTED_FEATURE"),
    ],
)
def test_a_program_is_told_what_the_status_means_and_its_next_call_works(
    status: str, result: str
) -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        rule = faults.add(f"mcu.command status={status} opcode=ALLOCATE")
        with fails(result):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults.remove(rule)
        context.mem_free(context.mem_alloc_device(p.driver.devices[0], 1 << 16))
        p.assert_nothing_left()


def test_a_late_answer_lets_others_overtake_it(bench: Bench) -> None:
    bench.faults.add("mcu.command delay=0.005 opcode=OBJECT_CREATE")
    bench.client.send(bench.create().pack())
    bench.pair.step()
    assert bench.client.replies() == []
    assert bench.client.call(Nop(request=bench.client.request())).status is Status.OK
    bench.pair.now += 5 * MS - 1
    bench.pair.step()
    assert bench.client.replies() == []
    bench.pair.now += 1
    bench.pair.step()
    assert [type(reply) for reply in bench.client.replies()] == [ObjectCreated]
    bench.is_well()


def test_a_program_waits_for_a_late_answer_no_longer_than_it_takes() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        faults.add("mcu.command delay=0.5 opcode=ALLOCATE")
        begun = p.now
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert 500 * MS <= p.now - begun < 510 * MS
        context.mem_free(pointer)
        faults.clear()
        p.assert_nothing_left()


@pytest.mark.parametrize("other", ["", "mcu.command delay=0.1 opcode=NOP"])
def test_an_answer_that_never_comes_comes_when_its_rule_goes(bench: Bench, other: str) -> None:
    if other:
        bench.faults.add(other)
    rule = bench.faults.add("mcu.command drop opcode=OBJECT_CREATE")
    bench.client.send(bench.create().pack())
    bench.pair.now += 10_000 * MS
    bench.pair.step()
    assert bench.client.replies() == []
    assert bench.pair.device.statistics().object_count == bench.objects + 1, "it was carried out"
    bench.faults.remove(rule)
    bench.pair.step()
    assert [type(reply) for reply in bench.client.replies()] == [ObjectCreated]
    bench.is_well()


def test_a_client_dies_while_its_answer_is_held_back(bench: Bench) -> None:
    bench.faults.add("mcu.command drop opcode=OBJECT_CREATE")
    other = bench.pair.attach()
    other.send(bench.create().pack())
    bench.pair.step()
    bench.pair.detach(other)
    bench.pair.step()
    bench.is_well()


def test_a_crash_resets_the_device_and_loses_its_sessions() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        other = p.connect("other")
        faults.add("mcu.command crash opcode=ALLOCATE nth=1")
        with fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert p.statistics().reset_count == 1
        with fails("DEVICE_LOST"), other.create_context() as lost:
            lost.mem_alloc_device(other.devices[0], 1 << 16)
        p.device.check()
        later = p.connect("later")
        with later.create_context() as works:
            works.mem_free(works.mem_alloc_device(later.devices[0], 1 << 16))
        faults.clear()
    assert faults.fired == ["mcu.command"]


def test_rules_reach_the_firmware_that_a_reset_has_started(bench: Bench) -> None:
    bench.faults.add("mcu.command status=LIMIT opcode=NOP")
    bench.pair.device.reset(bench.pair.now)
    bench.pair.step()
    later = bench.pair.attach()
    reply = later.call(Nop(request=later.request()))
    assert isinstance(reply, Refused)
    assert reply.status is Status.LIMIT


def phase(p: DevicePair) -> Phase:
    return p.device.status.phase


def test_a_status_that_nobody_knows_is_no_rule(bench: Bench) -> None:
    with pytest.raises(RuleError, match="no status of a reply is called 'OK'"):
        bench.faults.add("mcu.command status=OK")
    with pytest.raises(RuleError, match="no reason to refuse an image is called 'UGLY'"):
        bench.faults.add("mcu.boot bad_image=UGLY")


# --- boot --------------------------------------------------------------------------------------


def test_a_refused_image_leaves_the_device_in_its_boot_state_until_the_rule_goes() -> None:
    p = DevicePair(image=None)
    faults = faults_in(p)
    rule = faults.add("mcu.boot bad_image=WRONG_VERSION")
    refused = p.device.boot(IMAGE, p.now)
    assert refused is not None
    assert phase(p) is Phase.BOOT
    assert p.device.status.boot_error is BootError.WRONG_VERSION
    with pytest.raises(DeviceError, match="DEVICE_LOST"):
        p.attach()
    assert faults.fired == ["mcu.boot"]
    p.device.check()
    faults.remove(rule)
    p.step()
    assert phase(p) is Phase.RUNNING
    assert p.attach().space()
    p.device.check()


def test_an_image_that_is_good_again_may_be_booted_while_the_rule_is_there() -> None:
    p = DevicePair(image=None)
    faults = faults_in(p)
    faults.add("mcu.boot bad_image nth=1")
    assert p.device.boot(IMAGE, p.now) is not None
    assert p.device.boot(IMAGE, p.now) is None
    assert p.attach().space()
    faults.clear()
    p.step()
    assert phase(p) is Phase.RUNNING


@pytest.mark.parametrize("other", [False, True])
def test_an_image_may_be_refused_after_a_reset(other: bool) -> None:
    p = DevicePair()
    faults = faults_in(p)
    client = p.attach()
    rule = faults.add("mcu.boot bad_image=NO_NOTE")
    if other:
        faults.add("mcu.boot bad_image nth=1000")
    p.device.reset(p.now)
    p.step()
    status = DeviceStatus(client.load32(STATUS.offset))
    assert (status.phase, status.boot_error) == (Phase.BOOT, BootError.NO_NOTE)
    assert status.client_lost
    faults.remove(rule)
    p.step()
    assert p.attach().space()
    p.device.check()
