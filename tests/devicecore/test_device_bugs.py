"""What a bug of ours costs: one client its session, or the device its life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from device.core.errors import DeviceError, InternalError, InvariantError
from device.mcu import BootCode
from firmware.abi.control import ControlOpcode
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.registers import STATUS, DeviceStatus, Phase
from firmware.abi.replies import Refused
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair
from tests.harness.furniture import VA, furnish, nop

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.clients import Client
    from device.core.firmware import BootImage, Firmware, Pending
    from device.core.hardware import Hardware
    from firmware.abi.boot import FirmwareLimits
    from firmware.abi.ids import Feature


@dataclass
class BuggyFirmware:
    """The reference firmware, save that NOP has a bug."""

    good: Firmware
    bug: Callable[[], None]

    def handle(self, client: Client, command: bytes, now: int) -> bytes | Pending:
        if command[0] == ControlOpcode.NOP:
            self.bug()
        return self.good.handle(client, command, now)


@dataclass
class BuggyImage:
    good: BootImage
    bug: Callable[[], None]

    @property
    def name(self) -> str:
        return self.good.name

    @property
    def version(self) -> str:
        return self.good.version

    @property
    def limits(self) -> FirmwareLimits:
        return self.good.limits

    @property
    def features(self) -> Feature:
        return self.good.features

    def start(self, hardware: Hardware) -> Firmware:
        return BuggyFirmware(self.good.start(hardware), self.bug)


@dataclass
class BuggyBoot:
    bug: Callable[[], None]

    def load(self, image: bytes) -> BuggyImage:
        return BuggyImage(BootCode().load(image), self.bug)


def raising(bug: Exception) -> Callable[[], None]:
    def meet() -> None:
        raise bug

    return meet


def test_a_bug_ends_one_client_and_nobody_else() -> None:
    bug = KeyError("a bug")
    pair = DevicePair(loader=BuggyBoot(raising(bug)), strict=False)
    victim, other = pair.attach(), pair.attach()
    furnish(victim)
    furnish(other)

    reply = victim.call(nop(victim))

    assert isinstance(reply, Refused)
    assert reply.status is Status.INTERNAL
    assert victim.states() == {RingState.LOST}
    assert DeviceStatus(victim.load32(STATUS.offset)).client_lost
    assert [effect.status for effect in pair.disconnected()] == [Status.INTERNAL]
    assert pair.device.last_bug is bug
    assert pair.device.phase is Phase.RUNNING
    furnish(pair.attach())
    other.object(PAGE_SIZE)
    assert victim.refused(nop(victim)).status is Status.DEVICE_LOST
    pair.device.check()
    pair.detach(victim)
    pair.device.check()


def test_a_bug_that_broke_the_device_halts_it() -> None:
    def lose_a_frame() -> None:
        pair.device.memory.frames.allocate(1)
        raise InternalError("a frame was lost")

    pair = DevicePair(loader=BuggyBoot(lose_a_frame), strict=False)
    victim, other = pair.attach(), pair.attach()
    other.object(PAGE_SIZE)

    victim.call(nop(victim))

    assert pair.device.phase is Phase.HALTED
    (reason,) = pair.halted()
    assert "VRAM" in reason
    for client in (victim, other):
        assert client.states() == {RingState.LOST}
        assert DeviceStatus(client.load32(STATUS.offset)).phase is Phase.HALTED
    assert other.refused(nop(other)).status is Status.DEVICE_LOST
    with pytest.raises(DeviceError):
        pair.device.reset(pair.now)
    with pytest.raises(DeviceError):
        pair.attach()
    with pytest.raises(InvariantError):
        pair.device.check()


def test_engines_of_a_halted_device_stand_still() -> None:
    def lose_a_frame() -> None:
        pair.device.memory.frames.allocate(1)
        raise InternalError("a frame was lost")

    pair = DevicePair(loader=BuggyBoot(lose_a_frame), strict=False)
    victim, other = pair.attach(), pair.attach()
    vmid = other.space()
    other.map(vmid, VA, PAGE_SIZE, other.object(PAGE_SIZE))
    queue = other.queue(vmid)
    victim.send(nop(victim).pack())
    other.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA, value=1))

    pair.device.work(pair.now)
    pair.device.work(pair.now)

    assert pair.device.phase is Phase.HALTED
    assert other.header(queue.header).completed == 0


def test_a_bug_in_an_engine_ends_the_client_whose_turn_it_was() -> None:
    pair = DevicePair(strict=False)
    victim, other = pair.attach(), pair.attach()
    queue = victim.queue(victim.space())
    furnish(other)
    state = pair.device._state.clients[victim.client_id]
    real = state.queues[queue.queue_id].consumer

    class Broken:
        def fetch(self) -> bytes:
            raise RuntimeError("a bug")

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

    state.queues[queue.queue_id].consumer = Broken()  # type: ignore[assignment]
    victim.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA, value=1))

    pair.step()

    assert [effect.client_id for effect in pair.disconnected()] == [victim.client_id]
    assert isinstance(pair.device.last_bug, RuntimeError)
    other.object(PAGE_SIZE)
    pair.device.check()


def test_a_strict_device_raises_its_bugs() -> None:
    pair = DevicePair(loader=BuggyBoot(raising(KeyError("a bug"))))
    client = pair.attach()

    with pytest.raises(KeyError, match="a bug"):
        client.call(nop(client))
