"""NOP, properties and statistics; what an observer may say."""

from __future__ import annotations

import pytest

from firmware.abi.control import (
    GetProperties,
    GetStatistics,
    Nop,
    ObjectKind,
    SpaceCreate,
    Subject,
)
from firmware.abi.handshake import Purpose
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Statistics
from firmware.abi.segment import SpecBlock
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags
from tests.harness.devicepair import DevicePair
from tests.harness.stepped_client import RawClient, is_done

VA = 1 << 30
TARGET = 2 * VA + (1 << 20)


def busy_pair() -> tuple[DevicePair, RawClient]:
    """Return a device with one client that has one of everything and copied a page."""
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    client.map(vmid, VA, 4 * PAGE_SIZE, client.object(4 * PAGE_SIZE))
    client.map(vmid, TARGET, PAGE_SIZE, client.object(PAGE_SIZE, ObjectKind.SYSTEM))
    client.open(vmid, client.export(vmid, VA, 2 * PAGE_SIZE), 3 * VA)
    copy = Copy(flags=WorkFlags.NONE, tag=0, source=VA, destination=TARGET, size_bytes=PAGE_SIZE)
    client.submit(client.queue(vmid), copy)
    pair.step()
    return pair, client


def test_nop_is_answered() -> None:
    client = DevicePair().attach()

    assert is_done(client.call(Nop(request=client.request())))


def test_properties_of_the_device_are_the_specification_block() -> None:
    pair, client = busy_pair()

    found = SpecBlock.unpack(client.properties(Subject.DEVICE))

    assert found == pair.device.spec.to_block()
    assert found == client.spec()


@pytest.mark.parametrize(
    ("subject", "status"),
    [
        (Subject.OBJECT, Status.BAD_OBJECT),
        (Subject.EXPORT, Status.BAD_OBJECT),
        (Subject.QUEUE, Status.UNSUPPORTED),
        (Subject.CLIENT, Status.UNSUPPORTED),
        (Subject.SPACE, Status.UNSUPPORTED),
    ],
)
def test_what_has_no_properties_is_refused(subject: Subject, status: Status) -> None:
    client = DevicePair().attach()
    command = GetProperties(
        request=client.request(), subject=subject, payload_offset=0, payload_size=64, target=99
    )

    assert client.refused(command).status is status


def test_the_device_counts_what_is_there() -> None:
    pair, client = busy_pair()

    (data,) = client.statistics(Subject.DEVICE)
    found = DeviceStatistics.unpack(data)

    assert isinstance(found, DeviceStatistics)
    assert found == pair.device.statistics()
    assert (found.client_count, found.space_count, found.queue_count) == (1, 1, 1)
    assert (found.object_count, found.export_count, found.import_count) == (2, 1, 1)
    assert found.mapped_pages == 7
    assert found.free_bytes == pair.device.memory.free_bytes
    assert (found.bytes_read, found.bus_bytes_written) == (PAGE_SIZE, PAGE_SIZE)
    assert (found.work_commands, found.faults) == (1, 0)
    assert found.control_commands == 9
    assert found.doorbells >= 2
    assert (found.reset_count, found.uptime_ticks) == (0, pair.now)


def test_counters_do_not_fall_when_clients_go() -> None:
    pair, client = busy_pair()
    (data,) = client.statistics(Subject.DEVICE)
    before = DeviceStatistics.unpack(data)
    assert isinstance(before, DeviceStatistics)

    pair.detach(client)

    after = pair.device.statistics()
    assert after.control_commands >= before.control_commands
    assert after.work_commands == before.work_commands
    assert after.doorbells >= before.doorbells
    assert after.tlb_misses == before.tlb_misses
    assert (after.client_count, after.object_count) == (0, 0)


def test_what_observers_do_is_not_counted() -> None:
    pair, _ = busy_pair()
    before = pair.device.statistics()
    observer = pair.attach(Purpose.OBSERVE)

    for _ in range(3):
        observer.statistics(Subject.DEVICE)
        pair.device.note_interrupt(observer.client_id)
    pair.detach(observer)

    assert pair.device.statistics() == before


def test_interrupts_at_clients_are_counted() -> None:
    pair, client = busy_pair()

    pair.device.note_interrupt(client.client_id)
    pair.device.note_interrupt(999)

    assert pair.device.statistics().interrupts == 1


def test_each_client_is_counted_for_itself() -> None:
    pair, client = busy_pair()
    other = pair.attach()

    records = [ClientStatistics.unpack(data) for data in client.statistics(Subject.CLIENT)]

    first, second = (record for record in records if isinstance(record, ClientStatistics))
    assert (first.client_id, second.client_id) == (client.client_id, other.client_id)
    assert (first.pid, first.name.rstrip(b"\0")) == (4711, b"test")
    assert (first.object_count, first.object_bytes) == (2, 5 * PAGE_SIZE)
    assert first.vram_bytes == 4 * PAGE_SIZE + pair.device.memory.table_bytes
    assert (first.space_count, first.queue_count) == (1, 1)
    assert (first.export_count, first.import_count) == (1, 1)
    assert (first.mapped_pages, first.work_commands) == (7, 1)
    assert (second.object_count, second.work_commands) == (0, 0)


def test_queues_and_spaces_of_everybody_are_listed() -> None:
    pair, client = busy_pair()
    other = pair.attach()
    other.queue(other.space())

    queues = [QueueStatistics.unpack(data) for data in client.statistics(Subject.QUEUE)]
    spaces = [SpaceStatistics.unpack(data) for data in client.statistics(Subject.SPACE)]

    assert [q.client_id for q in queues if isinstance(q, QueueStatistics)] == [
        client.client_id,
        other.client_id,
    ]
    first = spaces[0]
    assert isinstance(first, SpaceStatistics)
    assert first.mapped_pages == 7
    assert first.tlb_misses == 2
    assert first.tlb_entries == 2
    assert len(spaces) == 2


def test_records_that_do_not_fit_are_counted_all_the_same() -> None:
    pair = DevicePair()
    client = pair.attach()
    for _ in range(3):
        client.space()
    command = GetStatistics(
        request=client.request(),
        subject=Subject.SPACE,
        payload_offset=0,
        payload_size=2 * SpaceStatistics.SIZE + 5,
    )

    reply = client.ask(command, Statistics)

    assert (reply.count, reply.total, reply.record_size) == (2, 3, SpaceStatistics.SIZE)


@pytest.mark.parametrize("subject", [Subject.OBJECT, Subject.EXPORT])
def test_what_has_no_statistics_is_refused(subject: Subject) -> None:
    client = DevicePair().attach()
    command = GetStatistics(
        request=client.request(), subject=subject, payload_offset=0, payload_size=64
    )

    assert client.refused(command).status is Status.UNSUPPORTED


@pytest.mark.parametrize(("offset", "size"), [(4 << 20, 1), (0, (4 << 20) + 1), (0xFFFFFFFF, 512)])
def test_records_go_nowhere_but_into_the_payload_area(offset: int, size: int) -> None:
    client = DevicePair().attach()
    before = bytes(client.u8[: client.layout.payload_offset])
    command = GetStatistics(
        request=client.request(), subject=Subject.DEVICE, payload_offset=offset, payload_size=size
    )

    refused = client.refused(command)

    assert (refused.status, refused.detail) == (Status.BAD_PAYLOAD, 4 << 20)
    ring = client.layout.control_ring_offset
    assert bytes(client.u8[:ring])[:256] == before[:256]


def test_an_observer_may_only_ask() -> None:
    pair = DevicePair()
    worker = pair.attach()
    observer = pair.attach(Purpose.OBSERVE)

    (data,) = observer.statistics(Subject.DEVICE)

    found = DeviceStatistics.unpack(data)
    assert isinstance(found, DeviceStatistics)
    assert found.client_count == 1
    assert is_done(observer.call(Nop(request=observer.request())))
    refused = observer.refused(SpaceCreate(request=observer.request()))
    assert refused.status is Status.UNSUPPORTED
    assert len(worker.statistics(Subject.CLIENT)) == 1
