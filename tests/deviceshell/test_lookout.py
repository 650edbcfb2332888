"""Polling, compiled and in Python: both find what there is, and end in time."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest

from device.core.memory.moves import copy_by_numpy
from device.shell import lookout
from device.shell.lookout import LOOKS, Lookout
from firmware.abi.control import Nop
from firmware.abi.work import FenceWait, WorkFlags
from firmware.link.compiled import VARIABLE, compiled, compiled_already
from firmware.link.waiting import SPIN_SECONDS
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

compiled_only = pytest.mark.skipif(compiled() is None, reason="nothing can be compiled here")


class Programs:
    """C programs that post into words of theirs."""

    def __init__(self) -> None:
        self.words = memoryview(bytearray(8))
        self.is_busy = False

    def posted(self) -> list[tuple[memoryview, bytes]] | None:
        return None if self.is_busy else [(self.words, bytes(8))]


class Stand:
    """A device with a client, polled; turns are counted and do nothing."""

    def __init__(self) -> None:
        self.pair = DevicePair()
        self.client: RawClient = self.pair.attach()
        self.pair.step()
        self.programs = Programs()
        self.lookout = Lookout((self.pair.device,))
        self.lookout.programs = self.programs  # type: ignore[assignment]
        self.lookout.prepare()
        self.turns: list[int] = []

    def turn(self, looks: int) -> bool:
        self.turns.append(looks)
        return self.pair.device.watch(looks) or self.programs.words[0] != 0

    def spin(self, seconds_left: float = math.inf) -> bool:
        return self.lookout.spin(self.turn, 1, seconds_left)


@pytest.fixture(name="stand", params=[pytest.param("1", marks=compiled_only), "0"])
def make_stand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Return a stand of each kind: compiled, and in Python."""
    monkeypatch.setenv(VARIABLE, request.param)
    return Stand()


@pytest.fixture(name="compiled_stand")
def make_compiled(monkeypatch: pytest.MonkeyPatch) -> Stand:
    monkeypatch.setenv(VARIABLE, "1")
    return Stand()


def test_a_spin_in_vain_takes_its_time(stand: Stand) -> None:
    begun = time.perf_counter()

    assert not stand.spin()

    assert time.perf_counter() - begun >= SPIN_SECONDS


def test_a_doorbell_is_found(stand: Stand) -> None:
    stand.client.send(Nop(request=1).pack())

    assert stand.spin()

    assert len(stand.turns) == 1


def test_a_turn_can_give_up_memory_that_was_looked_at(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = bytearray(8)
    monkeypatch.setattr(stand.programs, "posted", lambda: [(memoryview(memory), bytes(8))])

    def turn(looks: int) -> bool:
        stand.turns.append(looks)
        memory.clear()  # refused with a BufferError as long as there is a view
        return True

    assert stand.lookout.spin(turn, 1, math.inf)
    assert len(stand.turns) == 1


def test_what_a_program_posted_is_found(stand: Stand) -> None:
    stand.programs.words[0] = 1

    assert stand.spin()

    assert len(stand.turns) == 1


@compiled_only
def test_compiled_there_is_one_turn_at_the_end(compiled_stand: Stand) -> None:
    assert not compiled_stand.spin()

    assert compiled_stand.turns == [1]


@compiled_only
def test_a_deadline_ends_a_spin_and_comes_with_a_turn(
    compiled_stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A spin that did not look at the deadline would never end.
    monkeypatch.setattr(lookout, "SPIN_SECONDS", 3600.0)

    compiled_stand.spin(0.0)

    assert compiled_stand.turns == [1]


@compiled_only
def test_programs_that_are_busy_are_asked_again_and_again(compiled_stand: Stand) -> None:
    compiled_stand.programs.is_busy = True

    assert not compiled_stand.spin()

    assert set(compiled_stand.turns) == {LOOKS}


@compiled_only
def test_a_device_that_waits_for_more_than_a_doorbell_is_asked_too(compiled_stand: Stand) -> None:
    client = compiled_stand.client
    queue = client.queue(client.space())
    client.submit(queue, FenceWait(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1))
    compiled_stand.pair.step()

    assert not compiled_stand.spin()

    assert set(compiled_stand.turns) == {LOOKS}


def test_large_copies_of_devices_are_made_by_the_compiled_part_if_there_is_one(
    stand: Stand,
) -> None:
    module = compiled_already()
    copies = stand.pair.device.memory.local.copy_large

    assert copies == (copy_by_numpy if module is None else module.copy)
