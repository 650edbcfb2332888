"""Memory of the client's own: files that it passes, pages that stay where they are."""

import pytest

from firmware.abi.control import (
    ObjectFlags,
    ObjectKind,
    SegmentRegister,
    SegmentUnregister,
    Subject,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Feature, Rights
from firmware.abi.replies import ObjectCreated, Refused
from firmware.abi.statistics import SpaceStatistics
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags
from tests.harness.devicepair import DevicePair
from tests.harness.deviceworld import HeapFile
from tests.harness.stepped_client import RawClient, is_done

VA = 1 << 30
HEAP = 0x7F00_0000_0000
FILE, PAGES = ObjectKind.CLIENT_DESCRIPTOR, ObjectKind.CLIENT_PAGES
NONE, READ_ONLY = ObjectFlags.NONE, ObjectFlags.READ_ONLY


def register(
    client: RawClient, kind: ObjectKind, address: int, size: int, flags: ObjectFlags = NONE
) -> SegmentRegister:
    return SegmentRegister(
        request=client.request(), kind=kind, flags=flags, address=address, size_bytes=size
    )


def unregister(client: RawClient, object_id: int) -> SegmentUnregister:
    return SegmentUnregister(request=client.request(), object_id=object_id)


def copy(client: RawClient, pair: DevicePair, vmid: int, source: int, destination: int) -> None:
    client.submit(
        client.queue(vmid),
        Copy(
            flags=WorkFlags.NONE,
            tag=0,
            source=source,
            destination=destination,
            size_bytes=PAGE_SIZE,
        ),
    )
    pair.step()


# --- files that the client passes --------------------------------------------------------------


def test_a_passed_file_is_read_and_written_in_place() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    file = HeapFile(4 * PAGE_SIZE)
    command = register(client, FILE, PAGE_SIZE, 2 * PAGE_SIZE)
    pair.port(client).passed[command.request] = file
    made = client.ask(command, ObjectCreated)
    client.map(vmid, VA, 2 * PAGE_SIZE, made.object_id)
    file.view[PAGE_SIZE : PAGE_SIZE + 4] = b"abcd"

    copy(client, pair, vmid, VA, VA + PAGE_SIZE)

    assert bytes(file.view[2 * PAGE_SIZE : 2 * PAGE_SIZE + 4]) == b"abcd"
    pair.device.check()


def test_a_passed_file_is_closed_when_it_is_unregistered() -> None:
    pair = DevicePair()
    client = pair.attach()
    file = HeapFile(PAGE_SIZE)
    command = register(client, FILE, 0, PAGE_SIZE)
    pair.port(client).passed[command.request] = file
    made = client.ask(command, ObjectCreated)

    assert is_done(client.call(unregister(client, made.object_id)))

    assert file.closed
    pair.device.check()


@pytest.mark.parametrize(
    ("offset", "size", "flags", "status"),
    [
        (0, 3 * PAGE_SIZE, NONE, Status.BAD_DESCRIPTOR),
        (2 * PAGE_SIZE, PAGE_SIZE, NONE, Status.BAD_DESCRIPTOR),
        (100, PAGE_SIZE, NONE, Status.BAD_ALIGNMENT),
        (0, 0, NONE, Status.BAD_RANGE),
        (0, 100, NONE, Status.BAD_ALIGNMENT),
        (0, PAGE_SIZE, ObjectFlags.DATA_DESCRIPTOR, Status.UNSUPPORTED),
    ],
)
def test_a_file_that_does_not_fit_the_request_is_refused_and_closed(
    offset: int, size: int, flags: ObjectFlags, status: Status
) -> None:
    pair = DevicePair()
    client = pair.attach()
    file = HeapFile(2 * PAGE_SIZE)
    command = register(client, FILE, offset, size, flags)
    pair.port(client).passed[command.request] = file

    assert client.refused(command).status is status

    assert file.closed
    pair.device.check()


def test_a_descriptor_has_to_come_and_to_be_sealed_memory() -> None:
    pair = DevicePair()
    client = pair.attach()

    missing = client.refused(register(client, FILE, 0, PAGE_SIZE))
    command = register(client, FILE, 0, PAGE_SIZE)
    pair.port(client).passed[command.request] = "not sealed"
    unsealed = client.refused(command)

    assert (missing.status, unsealed.status) == (Status.BAD_DESCRIPTOR, Status.BAD_DESCRIPTOR)


def test_a_file_that_can_only_be_read_is_registered_read_only() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    port = pair.port(client)

    writable = register(client, FILE, 0, PAGE_SIZE)
    port.passed[writable.request] = HeapFile(PAGE_SIZE, read_only=True)
    assert client.refused(writable).status is Status.BAD_DESCRIPTOR

    command = register(client, FILE, 0, PAGE_SIZE, READ_ONLY)
    port.passed[command.request] = HeapFile(PAGE_SIZE, read_only=True)
    made = client.ask(command, ObjectCreated)
    assert client.refused(client.map_command(vmid, VA, PAGE_SIZE, made.object_id)).status is (
        Status.BAD_RIGHTS
    )
    client.map(vmid, VA, PAGE_SIZE, made.object_id, rights=Rights.READ)


# --- the client's own pages ----------------------------------------------------------------------


def test_the_clients_own_pages_are_reached_where_they_are() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    heap = pair.port(client).pages.add(HEAP, 2 * PAGE_SIZE)
    made = client.ask(register(client, PAGES, HEAP, 2 * PAGE_SIZE), ObjectCreated)
    client.map(vmid, VA, 2 * PAGE_SIZE, made.object_id)
    heap[:4] = b"heap"

    copy(client, pair, vmid, VA, VA + PAGE_SIZE)

    assert heap[PAGE_SIZE : PAGE_SIZE + 4] == b"heap"
    pair.device.check()


def test_pages_that_cannot_be_reached_are_refused_at_the_first_of_them() -> None:
    pair = DevicePair()
    client = pair.attach()
    pages = pair.port(client).pages
    pages.add(HEAP, 2 * PAGE_SIZE)
    pages.add(HEAP + 2 * PAGE_SIZE, PAGE_SIZE, writable=False)

    hole = client.refused(register(client, PAGES, HEAP, 4 * PAGE_SIZE, READ_ONLY))
    locked = client.refused(register(client, PAGES, HEAP, 3 * PAGE_SIZE))

    assert (hole.status, hole.detail) == (Status.CLIENT_MEMORY, HEAP + 3 * PAGE_SIZE)
    assert (locked.status, locked.detail) == (Status.CLIENT_MEMORY, HEAP + 2 * PAGE_SIZE)
    client.ask(register(client, PAGES, HEAP, 3 * PAGE_SIZE, READ_ONLY), ObjectCreated)


@pytest.mark.parametrize(
    ("address", "size", "status"),
    [
        (HEAP + 1, PAGE_SIZE, Status.BAD_ALIGNMENT),
        (HEAP, PAGE_SIZE + 1, Status.BAD_ALIGNMENT),
        (HEAP, 0, Status.BAD_RANGE),
        ((1 << 64) - PAGE_SIZE, 2 * PAGE_SIZE, Status.BAD_RANGE),
    ],
)
def test_addresses_that_are_no_pages_are_refused(address: int, size: int, status: Status) -> None:
    client = DevicePair().attach()

    assert client.refused(register(client, PAGES, address, size)).status is status


def test_pages_may_be_registered_more_than_once() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    heap = pair.port(client).pages.add(HEAP, 8 * PAGE_SIZE)
    first = client.ask(register(client, PAGES, HEAP + 2 * PAGE_SIZE, 2 * PAGE_SIZE), ObjectCreated)
    second = client.ask(register(client, PAGES, HEAP, 8 * PAGE_SIZE), ObjectCreated)
    client.call(unregister(client, first.object_id))
    client.map(vmid, HEAP, 8 * PAGE_SIZE, second.object_id)
    heap[3 * PAGE_SIZE] = 7

    copy(client, pair, vmid, HEAP + 3 * PAGE_SIZE, HEAP)

    assert heap[0] == 7
    pair.device.check()


def test_pages_at_their_own_address_need_few_tables_whatever_their_number() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    start, size = HEAP + 5 * PAGE_SIZE, 64 << 20
    pair.port(client).pages.add(start, size)
    made = client.ask(register(client, PAGES, start, size), ObjectCreated)
    client.map(vmid, start, size, made.object_id)

    space = SpaceStatistics.unpack(client.statistics(Subject.SPACE)[0])

    assert isinstance(space, SpaceStatistics)
    assert space.mapped_pages == size // PAGE_SIZE
    # Three upper ones, and one for the small pages at each end.
    assert space.table_count == 5
    pair.device.check()


def test_a_system_that_denies_access_is_told_from_a_hole() -> None:
    pair = DevicePair()
    client = pair.attach()
    port = pair.port(client)
    port.pages.add(HEAP, PAGE_SIZE)
    port.pages.denied = True
    assert client.refused(register(client, PAGES, HEAP, PAGE_SIZE)).status is Status.PERMISSION

    port.pages.denied = False
    port.pid = 0

    assert client.refused(register(client, PAGES, HEAP, PAGE_SIZE)).status is Status.PERMISSION


def test_client_memory_has_to_be_agreed_on() -> None:
    pair = DevicePair()
    client = pair.attach(features=Feature.IPC_RANGES)
    pair.port(client).pages.add(HEAP, PAGE_SIZE)

    assert client.refused(register(client, PAGES, HEAP, PAGE_SIZE)).status is Status.UNSUPPORTED


def test_pages_that_the_client_unmaps_fault_at_the_next_access() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    pages = pair.port(client).pages
    pages.add(HEAP, PAGE_SIZE)
    made = client.ask(register(client, PAGES, HEAP, PAGE_SIZE), ObjectCreated)
    client.map(vmid, VA, PAGE_SIZE, made.object_id)
    client.map(vmid, VA + PAGE_SIZE, PAGE_SIZE, client.object(PAGE_SIZE))

    pages.drop(HEAP)
    copy(client, pair, vmid, VA, VA + PAGE_SIZE)

    (fault,) = client.faults()
    assert (fault.reason, fault.va) == (FaultReason.CLIENT_MEMORY, VA)


def test_a_registered_segment_is_in_use_while_mapped() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    pair.port(client).pages.add(HEAP, PAGE_SIZE)
    made = client.ask(register(client, PAGES, HEAP, PAGE_SIZE), ObjectCreated)
    client.map(vmid, VA, PAGE_SIZE, made.object_id)

    assert client.refused(unregister(client, made.object_id)).status is Status.IN_USE
    reply = client.destroy(made.object_id)
    assert isinstance(reply, Refused)
    assert reply.status is Status.BAD_OBJECT
    client.unmap(vmid, VA, PAGE_SIZE)
    assert is_done(client.call(unregister(client, made.object_id)))
    pair.device.check()


def test_a_kind_that_cannot_be_registered_is_refused() -> None:
    client = DevicePair().attach()

    refused = client.refused(register(client, ObjectKind.VRAM, 0, PAGE_SIZE))

    assert refused.status is Status.UNSUPPORTED
