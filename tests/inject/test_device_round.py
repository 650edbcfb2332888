"""The device as a whole: reset, hung, wedged, pulled out, lost; and well again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import Nop
from firmware.abi.registers import RESET_REQUEST, STATUS, DeviceStatus, Phase
from firmware.abi.status import Status
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.testing.pair import DeviceSpec, pair
from hostdriver.testing.waiting import Stuck
from tests.harness.devicepair import DevicePair
from tests.harness.injection import faults_in, faults_of
from tests.harness.levelzero import fails

if TYPE_CHECKING:
    from hostdriver import levelzero as ze
    from hostdriver.testing.pair import Pair

SPEC = DeviceSpec(vram_size=64 << 20)
LOST = ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


def works(driver: ze.Driver, device: int = 0) -> bool:
    """Whether a program can allocate, fill and read memory of a device."""
    with driver.create_context() as context:
        pointer = context.mem_alloc_device(driver.devices[device], 1 << 16)
        context.memory_fill(pointer, b"\x5a", 256)
        found = context.memory_read(pointer, 256)
        context.mem_free(pointer)
    return found == b"\x5a" * 256


def phase(p: Pair) -> Phase:
    return p.device.status.phase


@pytest.mark.parametrize("action", ["reset", "wedge", "remove", "lost"])
def test_a_program_is_told_that_the_device_is_lost_and_goes_on_after_the_rule(action: str) -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        assert works(p.driver)
        context = p.driver.create_context()
        rule = faults.add(f"device.round {action} times=1")
        with fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert faults.fired == ["device.round"]
        assert context.get_status() is LOST
        with fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        p.device.check()
        faults.remove(rule)
        later = p.connect("later")
        assert works(later)
        later.close()
        assert phase(p) is Phase.RUNNING
        assert p.statistics().object_count == p.statistics().space_count == 0


@pytest.mark.parametrize(
    ("action", "expected"), [("wedge", Phase.HALTED), ("remove", Phase.HALTED)]
)
def test_nobody_attaches_to_a_device_that_is_gone_and_no_reset_helps(
    action: str, expected: Phase
) -> None:
    with pair(SPEC, devices=2) as p:
        faults = faults_of(p)
        rule = faults.add(f"device.round {action} device=1 times=1")
        with p.driver.create_context() as context, fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[1], 1 << 16)
        assert p.devices[1].status.phase is expected
        for _ in range(2):
            with pytest.raises(ZeError):
                p.connect("refused")
            with pytest.raises(Exception, match="DEVICE_LOST"):
                p.devices[1].reset(p.now)
        assert works(p.driver, 0), "the other device goes on"
        faults.remove(rule)
        p.statistics(1)
        assert works(p.connect("later"), 1)


def test_a_lost_device_answers_new_programs_so_until_it_is_reset() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        faults.add("device.round lost times=1")
        with fails("DEVICE_LOST"), p.driver.create_context() as context:
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        with pytest.raises(ZeError) as caught:
            works(p.connect("still lost"))
        assert caught.value.result is LOST
        p.device.reset(p.now)
        assert works(p.connect("later"))
        assert len(faults.hits) == 1


def test_a_device_that_hangs_does_nothing_until_the_rule_goes_and_then_all_of_it() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        context = p.driver.create_context()
        rule = faults.add("device.round hang times=1")
        with pytest.raises(Stuck):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert not p.device.has_work
        assert p.statistics().object_count == 0
        p.device.check()
        faults.remove(rule)
        assert p.statistics().object_count == 1, "the command that waited was carried out"
        assert works(p.connect("later"))


def test_a_client_resets_a_device_that_hangs() -> None:
    p = DevicePair()
    faults = faults_in(p)
    client = p.attach()
    client.space()
    faults.add("device.round hang times=1")
    client.store32(RESET_REQUEST.offset, 1)
    p.step()
    client.ring()
    p.step()
    assert DeviceStatus(client.load32(STATUS.offset)).client_lost
    assert p.attach().space()
    p.device.check()


@pytest.mark.parametrize("others", [0, 1])
def test_a_rule_that_comes_or_goes_is_no_round_and_the_next_command_is(others: int) -> None:
    p = DevicePair()
    faults = faults_in(p)
    client = p.attach()
    client.space()
    p.step()
    for _ in range(others):
        faults.add("device.round reset nth=1000")
    faults.add("device.round lost times=1 name=lost")
    p.step()
    faults.add("link.reply drop nth=1000 name=other")
    p.step()
    faults.remove("other")
    p.step()
    assert faults.hits == []
    assert [rule.seen for rule in faults.injector.rules()] == [0] * (1 + others)
    reply = client.call(Nop(request=client.request()))
    assert reply.status is Status.DEVICE_LOST
    assert faults.fired == ["device.round"]


def test_a_rule_with_a_time_needs_nobody_who_gives_the_device_work() -> None:
    p = DevicePair()
    faults = faults_in(p)
    client = p.attach()
    faults.add("device.round lost after_seconds=2 device=0")
    faults.add("device.round lost after_seconds=1 device=1")
    p.step()
    (tick,) = p.wakes()
    assert 0 <= tick - p.now - 2_000_000_000 <= 10_000
    p.now = tick - 10_000
    p.step()
    assert faults.hits == []
    p.now = tick
    p.step()
    assert faults.fired == ["device.round"]
    assert DeviceStatus(client.load32(STATUS.offset)).client_lost
    assert p.wakes() == []


def test_a_device_that_hangs_is_reset_from_outside() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        context = p.driver.create_context()
        faults.add("device.round hang times=1")
        with pytest.raises(Stuck):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        p.device.reset(p.now)
        with fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert works(p.connect("later"))


def test_programs_end_while_their_device_hangs_and_leave_nothing() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        victim = p.connect("victim")
        context = victim.create_context()
        context.mem_alloc_device(victim.devices[0], 1 << 20)
        faults.add("device.round hang times=1")
        with pytest.raises(Stuck):
            context.mem_alloc_device(victim.devices[0], 1 << 16)
        victim.close()
        faults.clear()
        p.assert_nothing_left()


def test_a_rule_that_goes_ends_what_it_did_while_another_stays() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        wedge = faults.add("device.round wedge times=1")
        faults.add("device.round reset nth=1000000")
        with p.driver.create_context() as context, fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert phase(p) is Phase.HALTED
        faults.remove(wedge)
        p.statistics()
        assert phase(p) is Phase.RUNNING
        assert works(p.connect("later"))
