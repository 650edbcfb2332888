"""Waits that take long ask the device to look after them, ever more seldom."""

from __future__ import annotations

import pytest

from firmware.link.errors import LinkLost
from firmware.link.vigil import LONGEST_SECONDS, Vigil


class World:
    """A clock, a device that may be gone, and the times at which it was poked."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.gone = False
        self.pokes: list[float] = []
        self.vigil = Vigil(self._check, lambda: self.pokes.append(self.now), lambda: self.now)

    def _check(self) -> None:
        if self.gone:
            raise LinkLost("gone")

    def wait(self, seconds: float) -> None:
        """Nap for a tenth of a second, again and again."""
        for _ in range(round(seconds * 10)):
            self.now = round(self.now + 0.1, 1)
            self.vigil()


def test_a_short_wait_bothers_nobody() -> None:
    world = World()
    for _ in range(20):
        world.wait(0.4)
        world.now += 1.0
    assert world.pokes == []


def test_a_long_wait_asks_ever_more_seldom() -> None:
    world = World()
    world.wait(40.0)
    asked = [round(poke - 1000.1, 1) for poke in world.pokes]
    assert asked == [0.5, 1.5, 3.5, 7.5, 15.5, 23.5, 31.5, 39.5]
    assert LONGEST_SECONDS == 8.0


def test_the_next_wait_begins_anew() -> None:
    world = World()
    world.wait(10.0)
    world.pokes.clear()
    world.now += 3.0
    world.wait(0.8)
    assert len(world.pokes) == 1


def test_a_device_that_is_gone_is_told_and_not_asked() -> None:
    world = World()
    world.wait(0.4)
    world.gone = True
    with pytest.raises(LinkLost):
        world.wait(1.0)
    assert world.pokes == []
