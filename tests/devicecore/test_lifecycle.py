"""Phases and triggers: every pair, those that lead somewhere and those that do not."""

import pytest

from device.core.errors import InternalError
from device.core.lifecycle import TRANSITIONS, Lifecycle, Trigger
from firmware.abi.registers import BootError, Phase

PAIRS = [(phase, trigger) for phase in Phase for trigger in Trigger]
EXPECTED = {
    (Phase.RESET, Trigger.BOOTED): Phase.RUNNING,
    (Phase.RESET, Trigger.REFUSED): Phase.BOOT,
    (Phase.RESET, Trigger.RESET): Phase.RESET,
    (Phase.RESET, Trigger.FATAL): Phase.HALTED,
    (Phase.BOOT, Trigger.BOOTED): Phase.RUNNING,
    (Phase.BOOT, Trigger.REFUSED): Phase.BOOT,
    (Phase.BOOT, Trigger.RESET): Phase.RESET,
    (Phase.BOOT, Trigger.FATAL): Phase.HALTED,
    (Phase.RUNNING, Trigger.DRAIN): Phase.DRAINING,
    (Phase.RUNNING, Trigger.RESET): Phase.RESET,
    (Phase.RUNNING, Trigger.FATAL): Phase.HALTED,
    (Phase.DRAINING, Trigger.DRAIN): Phase.DRAINING,
    (Phase.DRAINING, Trigger.RESET): Phase.RESET,
    (Phase.DRAINING, Trigger.FATAL): Phase.HALTED,
    (Phase.HALTED, Trigger.POWER): Phase.RESET,
}


def in_phase(phase: Phase) -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.phase = phase
    return lifecycle


@pytest.mark.parametrize(("phase", "trigger"), PAIRS)
def test_each_trigger_leads_where_it_should_or_is_refused(phase: Phase, trigger: Trigger) -> None:
    lifecycle = in_phase(phase)
    expected = EXPECTED.get((phase, trigger))

    assert lifecycle.allows(trigger) is (expected is not None)
    if expected is None:
        with pytest.raises(InternalError, match=f"{trigger.name} in phase {phase.name}"):
            lifecycle.fire(trigger)
        assert lifecycle.phase is phase
    else:
        assert lifecycle.fire(trigger) is expected
        assert lifecycle.phase is expected


def test_every_phase_has_a_row() -> None:
    assert set(TRANSITIONS) == set(Phase)


def test_nothing_but_power_leaves_halted() -> None:
    assert set(TRANSITIONS[Phase.HALTED]) == {Trigger.POWER}


def test_a_device_begins_without_firmware() -> None:
    assert Lifecycle().status().phase is Phase.RESET


def test_status_tells_why_an_image_was_refused() -> None:
    lifecycle = Lifecycle()

    lifecycle.fire(Trigger.REFUSED, BootError.WRONG_MACHINE, 62)

    status = lifecycle.status(client_lost=True, poison=True)
    assert (status.phase, status.boot_error) == (Phase.BOOT, BootError.WRONG_MACHINE)
    assert status.client_lost
    assert status.poison
    assert lifecycle.boot_detail == 62


def test_a_good_image_clears_the_refusal() -> None:
    lifecycle = Lifecycle()
    lifecycle.fire(Trigger.REFUSED, BootError.NOT_ELF, 1)

    lifecycle.fire(Trigger.BOOTED)

    assert lifecycle.status().boot_error is BootError.NONE
    assert lifecycle.boot_detail == 0
