"""Attachment, death, reset and drain: who comes, who goes, and that all comes back."""

from __future__ import annotations

import gc

import pytest

from device.core.device import Device
from device.core.errors import DeviceError, InternalError
from device.core.ports import Ports
from device.core.spec import DeviceSpec
from device.mcu import BootCode
from firmware.abi.control import Nop
from firmware.abi.handshake import Purpose
from firmware.abi.ids import ABI_MINOR, PAGE_SIZE, Feature
from firmware.abi.registers import (
    RESET_COUNT,
    RESET_REQUEST,
    STATUS,
    DeviceStatus,
    Phase,
)
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import FenceWait, MemoryWrite, WorkFlags
from tests.harness.devicepair import EMULATOR_ID, DevicePair
from tests.harness.deviceworld import HeapPort
from tests.harness.furniture import VA, furnish, nop
from tests.harness.stepped_client import RawClient, is_done

# --- attachment ----------------------------------------------------------------------------------


def test_the_superblock_tells_who_and_what() -> None:
    pair = DevicePair()
    first, second = pair.attach(), pair.attach()

    assert first.layout.emulator_id == EMULATOR_ID
    assert first.layout.device_index == 0
    assert first.layout.features == pair.device.features
    assert first.client_id != second.client_id
    assert first.states() == {RingState.RUNNING}


def test_clients_and_observers_are_limited_each_for_themselves() -> None:
    pair = DevicePair(DeviceSpec(vram_size=1 << 20, max_clients=2))
    for _ in range(2):
        pair.attach()
        pair.attach(Purpose.OBSERVE)

    for purpose in (Purpose.WORK, Purpose.OBSERVE):
        with pytest.raises(DeviceError) as refusal:
            pair.attach(purpose)
        assert (refusal.value.status, refusal.value.detail) == (Status.LIMIT, 2)


def test_a_segment_of_another_size_is_refused_untouched() -> None:
    pair = DevicePair()
    segment = bytearray(pair.device.segment_plan.size + PAGE_SIZE)

    with pytest.raises(DeviceError) as refusal:
        pair.device.attach(HeapPort(memoryview(segment)), Purpose.WORK, pair.now)

    assert refusal.value.status is Status.MISMATCH
    assert refusal.value.detail == pair.device.segment_plan.size
    assert not any(segment)


def test_features_and_minor_version_are_what_both_have() -> None:
    pair = DevicePair()
    port = HeapPort(memoryview(bytearray(pair.device.segment_plan.size)))

    pair.device.attach(
        port,
        Purpose.WORK,
        0,
        features=Feature.IPC_RANGES | Feature.PEER_ACCESS,
        abi_minor=ABI_MINOR + 99,
    )
    client = RawClient(port.segment, pair.step, lambda: None)

    assert client.layout.features == Feature.IPC_RANGES
    assert client.layout.abi_minor == ABI_MINOR


def test_memory_of_another_size_than_specified_is_our_mistake() -> None:
    pair = DevicePair(vram_size=4 << 20)
    ports = Ports(tokens=pair.tokens, system_memory=pair.system_memory)

    with pytest.raises(InternalError, match="0x400000 bytes"):
        Device(DeviceSpec(vram_size=8 << 20), memoryview(pair.vram), ports, BootCode())


# --- death -------------------------------------------------------------------------------------


def test_a_death_gives_everything_back() -> None:
    pair = DevicePair()
    client = pair.attach()
    furnish(client)

    pair.detach(client)
    pair.step()

    assert pair.device.memory.free_bytes == pair.spec.vram_size
    assert pair.system_memory.open_files == []
    assert pair.device.statistics().export_count == 0
    pair.device.check()


def test_a_device_lets_go_of_a_dead_clients_segment() -> None:
    pair = DevicePair()
    segment = bytearray(pair.device.segment_plan.size)
    client_id = pair.device.attach(HeapPort(memoryview(segment)), Purpose.WORK, pair.now)
    client = RawClient(memoryview(segment), pair.step, lambda: None)
    furnish(client)
    pair.device.detach(client_id, pair.now)
    pair.step()
    pair.effects.clear()

    del client
    gc.collect()

    # Bytes that anybody still looks at cannot grow.
    segment.append(0)


def test_work_of_the_dead_is_dropped() -> None:
    pair = DevicePair()
    client, other = pair.attach(), pair.attach()
    vmid = client.space()
    queue = client.queue(vmid)
    wait = FenceWait(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1)
    client.submit(queue, wait)
    pair.step()

    pair.detach(client)

    assert is_done(other.call(nop(other)))
    pair.device.check()


def test_a_command_that_was_not_taken_dies_with_its_client() -> None:
    pair = DevicePair()
    client = pair.attach()
    client.send(nop(client).pack())

    pair.detach(client)
    pair.step()

    assert pair.device.statistics().control_commands == 0


def test_unknown_clients_are_ignored() -> None:
    pair = DevicePair()

    pair.device.ring(999)
    pair.device.detach(999, pair.now)

    assert not pair.device.has_work


# --- reset -------------------------------------------------------------------------------------


def test_a_reset_ends_every_session_and_frees_everything() -> None:
    pair = DevicePair()
    clients = [pair.attach(), pair.attach()]
    for client in clients:
        furnish(client)

    pair.device.reset(pair.now)
    pair.step()

    assert pair.device.memory.free_bytes == pair.spec.vram_size
    assert pair.system_memory.open_files == []
    for client in clients:
        assert client.states() == {RingState.LOST}
        status = DeviceStatus(client.load32(STATUS.offset))
        assert (status.phase, status.client_lost) == (Phase.RUNNING, True)
        assert client.load32(RESET_COUNT.offset) == 1
        assert any(notice.force for notice in pair.notices(client))
    pair.device.check()


def test_work_rings_of_lost_sessions_are_lost() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    queue = client.queue(vmid)

    pair.device.reset(pair.now)
    client.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA, value=1))
    pair.step()

    header = client.header(queue.header)
    assert (header.state, header.status, header.completed) == (
        RingState.LOST,
        Status.DEVICE_LOST,
        0,
    )
    assert client.faults() == []


@pytest.mark.decision("FAULT-05")
@pytest.mark.case("D18")
def test_lost_sessions_hear_so_until_they_detach() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.device.reset(pair.now)

    for _ in range(3):
        assert client.refused(nop(client)).status is Status.DEVICE_LOST
    pair.detach(client)

    assert is_done(pair.attach().call(Nop(request=1)))
    pair.device.check()


@pytest.mark.decision("FAULT-05")
@pytest.mark.case("D18")
def test_new_sessions_work_after_a_reset() -> None:
    pair = DevicePair()
    old = pair.attach()
    furnish(old)
    pair.device.reset(pair.now)

    new = pair.attach()
    furnish(new)

    assert not DeviceStatus(new.load32(STATUS.offset)).client_lost
    assert new.load32(RESET_COUNT.offset) == 1
    assert old.refused(nop(old)).status is Status.DEVICE_LOST
    pair.device.check()


def test_a_host_resets_the_device_through_its_register() -> None:
    pair = DevicePair()
    client, other = pair.attach(), pair.attach()
    pair.step()
    client.store32(RESET_REQUEST.offset, 1)
    pair.step()
    assert pair.device.statistics().reset_count == 0, "taken at a doorbell only"

    client.ring()
    pair.step()

    assert pair.device.statistics().reset_count == 1
    assert other.states() == {RingState.LOST}
    client.ring()
    pair.step()
    assert pair.device.statistics().reset_count == 1, "the same value is no new request"
    client.store32(RESET_REQUEST.offset, 7)
    client.ring()
    pair.step()
    assert pair.device.statistics().reset_count == 1, "its session is lost, it has no say"
    later = pair.attach()
    later.store32(RESET_REQUEST.offset, 7)
    later.ring()
    pair.step()
    assert pair.device.statistics().reset_count == 2


def test_an_observer_cannot_reset_the_device() -> None:
    pair = DevicePair()
    observer = pair.attach(Purpose.OBSERVE)

    observer.store32(RESET_REQUEST.offset, 1)
    observer.ring()
    pair.step()

    assert pair.device.statistics().reset_count == 0


def test_a_reset_without_firmware_needs_a_boot() -> None:
    pair = DevicePair(image=None)

    pair.device.reset(pair.now)

    assert pair.device.phase is Phase.RESET
    assert pair.device.statistics().reset_count == 1


# --- drain -------------------------------------------------------------------------------------


def test_a_draining_device_serves_whom_it_has_and_takes_nobody() -> None:
    pair = DevicePair()
    client = pair.attach()

    pair.device.drain(pair.now)

    assert DeviceStatus(client.load32(STATUS.offset)).phase is Phase.DRAINING
    furnish(client)
    with pytest.raises(DeviceError) as refusal:
        pair.attach()
    assert refusal.value.status is Status.DEVICE_LOST
    pair.device.reset(pair.now)
    assert pair.device.phase is Phase.DRAINING
