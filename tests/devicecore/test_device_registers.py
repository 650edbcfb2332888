"""The register page: what the device publishes there, and what the host may store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import ObjectKind
from firmware.abi.faults import FaultReason
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, PAGE_SIZE
from firmware.abi.registers import (
    ABI_VERSION,
    CLOCK,
    DEVICE_ASLEEP,
    DEVICE_ID,
    FAULT_STATUS,
    FEATURES,
    FREE_MEMORY,
    RESET_COUNT,
    SPIN_HINT,
    STATUS,
    AbiVersion,
    DeviceStatus,
    FaultStatus,
    Phase,
)
from firmware.abi.work import MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

VA = 1 << 30


def status(client: RawClient) -> DeviceStatus:
    return DeviceStatus(client.load32(STATUS.offset))


def test_identity_and_agreement_stand_from_the_start() -> None:
    pair = DevicePair()
    client = pair.attach()

    assert client.load32(DEVICE_ID.offset) == pair.spec.device_id << 16 | pair.spec.vendor_id
    version = AbiVersion(client.load32(ABI_VERSION.offset))
    assert (version.major, version.minor) == (ABI_MAJOR, ABI_MINOR)
    assert client.load64(FEATURES.offset) == pair.device.features
    assert status(client).phase is Phase.RUNNING
    assert client.load64(FREE_MEMORY.offset) == pair.spec.vram_size
    assert client.load32(RESET_COUNT.offset) == 0


def test_free_memory_is_exact_for_everybody_after_every_command() -> None:
    pair = DevicePair()
    client, other = pair.attach(), pair.attach()

    for _ in range(3):
        client.object(5 * PAGE_SIZE)
        client.object(PAGE_SIZE, ObjectKind.SYSTEM)
        for reader in (client, other):
            assert reader.load64(FREE_MEMORY.offset) == pair.device.memory.free_bytes

    pair.detach(client)
    assert other.load64(FREE_MEMORY.offset) == pair.spec.vram_size


def test_the_clock_tells_the_time_of_the_last_work() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.now = 123_456_789_012

    client.space()

    assert client.load64(CLOCK.offset) == 123_456_789_012


def test_waiters_may_spin_however_many_clients_there_are() -> None:
    pair = DevicePair(cpu_count=2)

    clients = [pair.attach() for _ in range(4)]

    assert [client.load32(SPIN_HINT.offset) for client in clients] == [1, 1, 1, 1]


def test_nobody_spins_on_one_processor() -> None:
    assert DevicePair(cpu_count=1).attach().load32(SPIN_HINT.offset) == 0


def test_a_sleeping_device_says_so_until_it_works_again() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.step()
    assert client.load32(DEVICE_ASLEEP.offset) == 0

    pair.device.prepare_sleep()
    assert client.load32(DEVICE_ASLEEP.offset) == 1

    pair.device.work(pair.now)
    assert client.load32(DEVICE_ASLEEP.offset) == 0


def test_memory_errors_show_in_the_status() -> None:
    pair = DevicePair()
    client = pair.attach()
    assert not status(client).poison

    pair.device.memory.inject_poison(0x3000)
    client.space()

    assert status(client).poison


def test_scribbles_change_nothing_in_the_device() -> None:
    pair = DevicePair()
    client, other = pair.attach(), pair.attach()
    start = client.layout.registers_offset
    client.u8[start : start + 0x18] = b"\xff" * 0x18
    client.u8[start + 0x1C : start + 0x28] = b"\xff" * 12
    client.u8[start + 0x2C : start + 0x1000] = b"\xff" * (0x1000 - 0x2C)

    client.object(PAGE_SIZE)

    assert client.load64(FREE_MEMORY.offset) == pair.device.memory.free_bytes
    assert client.load64(CLOCK.offset) == pair.now
    assert status(other).phase is Phase.RUNNING
    pair.device.drain(pair.now)
    assert status(client).phase is Phase.DRAINING
    pair.device.check()


def test_the_host_acknowledges_faults_at_its_next_doorbell() -> None:
    pair = DevicePair()
    client = pair.attach()
    queue = client.queue(client.space())
    client.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=5, destination=VA, value=1))
    pair.step()
    pending = FaultStatus(client.load32(FAULT_STATUS.offset))
    assert pending.pending
    (fault,) = client.faults()
    assert (fault.reason, fault.va, fault.tag) == (FaultReason.NOT_PRESENT, VA, 5)

    acknowledge = FaultStatus.build(pending=1, acknowledge=1)
    client.store32(FAULT_STATUS.offset, int(acknowledge))
    client.ring()
    pair.step()

    assert client.load32(FAULT_STATUS.offset) == 0


def test_one_clients_registers_are_no_others() -> None:
    pair = DevicePair()
    client, other = pair.attach(), pair.attach()
    queue = client.queue(client.space())
    client.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA, value=1))
    pair.step()

    assert other.load32(FAULT_STATUS.offset) == 0
    assert other.faults() == []
