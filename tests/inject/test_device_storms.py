"""Interrupts that come by themselves, while nobody does anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.effects import Notify, WakeAt
from tests.harness.devicepair import DevicePair
from tests.harness.injection import faults_in

if TYPE_CHECKING:
    from tests.harness.injection import Faults

MS = 1_000_000


class Idle:
    """A device whose clients do nothing."""

    def __init__(self, clients: int = 2) -> None:
        self.pair = DevicePair()
        self.clients = [self.pair.attach() for _ in range(clients)]
        self.faults: Faults = faults_in(self.pair)
        self.pair.step()

    def after(self, nanoseconds: int) -> list[Notify]:
        """Let time pass; return the interrupts that came then."""
        self.pair.now += nanoseconds
        self.pair.step()
        return [one for one in self.pair.effects if isinstance(one, Notify)]

    def wakes(self) -> bool:
        """Whether the device wants to work again."""
        return any(isinstance(one, WakeAt) for one in self.pair.effects)


def test_a_storm_comes_by_itself_again_and_again_until_its_rule_goes() -> None:
    idle = Idle()
    rule = idle.faults.add("link.interrupt spurious=3 every=0.002")
    assert idle.after(0) == []
    assert idle.after(2 * MS - 1) == []
    for _ in range(3):
        storm = idle.after(2 * MS)
        assert len(storm) == 3 * 2
        assert {one.client_id for one in storm} == {one.client_id for one in idle.clients}
        assert all(one.force for one in storm)
        assert idle.after(0) == []
    assert idle.wakes()
    idle.faults.remove(rule)
    assert idle.after(2 * MS) == []
    assert not idle.wakes()
    idle.pair.device.check()


def test_it_begins_and_ends_and_is_for_whom_its_rule_says() -> None:
    idle = Idle(3)
    idle.pair.port(idle.clients[1]).name = "victim"
    idle.faults.add("link.interrupt spurious every=0.001 after_seconds=1 times=2 process=victim")
    assert idle.after(999 * MS) == []
    found = [one.client_id for _ in range(9) for one in idle.after(MS)]
    assert found == [idle.clients[1].client_id] * 2


def test_what_comes_by_itself_is_no_work_of_the_device() -> None:
    idle = Idle()
    idle.faults.add("device.round lost name=lost")
    idle.faults.add("link.interrupt spurious every=0.001 name=storm")
    for _ in range(3):
        assert idle.after(MS)
    seen = {rule.name: rule.seen for rule in idle.faults.injector.rules()}
    assert seen == {"lost": 0, "storm": 6}


@pytest.mark.parametrize("rule", ["link.interrupt spurious=3", "link.interrupt drop"])
def test_without_every_nothing_comes_by_itself(rule: str) -> None:
    idle = Idle()
    idle.faults.add(rule)
    assert idle.after(0) == []
    assert idle.after(1000 * MS) == []
    assert not idle.wakes()


def test_a_rule_before_it_may_lose_what_comes_by_itself() -> None:
    idle = Idle()
    idle.faults.add("link.interrupt drop")
    idle.faults.add("link.interrupt spurious=3 every=0.002")
    assert idle.after(2 * MS) == []
    assert idle.after(2 * MS) == []
