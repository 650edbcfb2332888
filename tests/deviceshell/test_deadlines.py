"""When devices want to work again."""

from __future__ import annotations

import math

from device.shell.deadlines import Deadlines


class Clock:
    ticks = 0

    def __call__(self) -> int:
        return self.ticks


def test_nobody_is_due_who_asked_for_nothing() -> None:
    deadlines = Deadlines(Clock(), 2)

    assert not deadlines.is_due(0)
    assert deadlines.seconds_left() == math.inf


def test_the_earliest_of_several_deadlines_counts() -> None:
    clock = Clock()
    deadlines = Deadlines(clock, 2)

    deadlines.add(0, 3_000_000_000)
    deadlines.add(0, 1_000_000_000)
    deadlines.add(0, 2_000_000_000)
    deadlines.add(1, 5_000_000_000)

    assert deadlines.seconds_left() == 1.0
    clock.ticks = 999_999_999
    assert not deadlines.is_due(0)
    clock.ticks = 1_000_000_000
    assert deadlines.is_due(0)
    assert not deadlines.is_due(1)


def test_a_deadline_that_has_passed_leaves_no_time() -> None:
    clock = Clock()
    deadlines = Deadlines(clock, 1)
    deadlines.add(0, 10)
    clock.ticks = 20

    assert deadlines.seconds_left() == 0.0


def test_a_device_that_works_asks_anew() -> None:
    clock = Clock()
    deadlines = Deadlines(clock, 1)
    deadlines.add(0, 10)
    clock.ticks = 20

    deadlines.clear(0)

    assert not deadlines.is_due(0)
