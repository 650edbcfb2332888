"""Memory objects: how they are made, charged, shared with the client, and freed."""

import pytest

from firmware.abi.control import ObjectCreate, ObjectFlags, ObjectKind, SegmentUnregister, Subject
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Rights
from firmware.abi.paging import Aperture
from firmware.abi.replies import Refused
from firmware.abi.statistics import ObjectProperties
from firmware.abi.status import Status
from firmware.abi.work import Copy, MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair
from tests.harness.stepped_client import RawClient, is_done

VA = 1 << 30
VRAM, SYSTEM = ObjectKind.VRAM, ObjectKind.SYSTEM
NONE = ObjectFlags.NONE


def refuse(
    client: RawClient,
    size: int = PAGE_SIZE,
    kind: ObjectKind = VRAM,
    flags: ObjectFlags = NONE,
    page_size: int = 0,
) -> Refused:
    return client.refused(
        ObjectCreate(
            request=client.request(), kind=kind, flags=flags, size_bytes=size, page_size=page_size
        )
    )


def properties(client: RawClient, object_id: int) -> ObjectProperties:
    record = ObjectProperties.unpack(client.properties(Subject.OBJECT, object_id))
    assert isinstance(record, ObjectProperties)
    return record


def test_vram_is_charged_and_given_back_to_the_byte() -> None:
    pair = DevicePair()
    client = pair.attach()
    before = pair.device.memory.free_bytes

    made = client.create(5 * PAGE_SIZE)

    assert pair.device.memory.free_bytes == before - 5 * PAGE_SIZE
    assert (made.size_bytes, made.bus_address, made.descriptors) == (5 * PAGE_SIZE, 0, 0)
    assert is_done(client.destroy(made.object_id))
    assert pair.device.memory.free_bytes == before
    pair.device.check()


def test_a_preferred_page_size_is_what_the_object_gets() -> None:
    client = DevicePair(vram_size=8 << 20).attach()

    assert client.create(4 << 20, page_size=2 << 20).page_size == 2 << 20
    assert client.create(1 << 16, page_size=1 << 16).page_size == 1 << 16
    assert client.create(PAGE_SIZE).page_size == PAGE_SIZE


def test_an_object_works_in_the_pieces_that_fragmentation_leaves() -> None:
    pair = DevicePair(vram_size=256 * 1024)
    client = pair.attach()
    vmid = client.space()
    singles = [client.object(PAGE_SIZE) for _ in range(50)]
    for object_id in singles[::2]:
        client.destroy(object_id)

    scattered = client.object(20 * PAGE_SIZE)

    assert client.map(vmid, VA, 20 * PAGE_SIZE, scattered) == 20
    queue = client.queue(vmid)
    for page in range(20):
        write = MemoryWrite(
            flags=WorkFlags.NONE, tag=0, destination=VA + page * PAGE_SIZE, value=page + 1
        )
        client.submit(queue, write)
    pair.step()
    firsts = [bytes(pair.vram[at : at + 8]) for at in range(0, len(pair.vram), PAGE_SIZE)]
    for page in range(20):
        assert firsts.count((page + 1).to_bytes(8, "little")) == 1
    pair.device.check()


def test_memory_that_is_not_there_is_refused_with_what_is_free() -> None:
    pair = DevicePair(vram_size=16 * PAGE_SIZE)
    client = pair.attach()
    client.object(10 * PAGE_SIZE)

    refused = refuse(client, 7 * PAGE_SIZE)

    assert (refused.status, refused.detail) == (Status.OUT_OF_DEVICE_MEMORY, 6 * PAGE_SIZE)
    pair.device.check()


@pytest.mark.parametrize(
    ("size", "kind", "flags", "page_size", "status"),
    [
        (0, VRAM, NONE, 0, Status.BAD_RANGE),
        (100, VRAM, NONE, 0, Status.BAD_ALIGNMENT),
        (PAGE_SIZE, VRAM, NONE, 8192, Status.BAD_ALIGNMENT),
        (PAGE_SIZE, VRAM, ObjectFlags.READ_ONLY, 0, Status.UNSUPPORTED),
        (PAGE_SIZE, SYSTEM, ObjectFlags.DATA_DESCRIPTOR, 0, Status.UNSUPPORTED),
        (PAGE_SIZE, ObjectKind.CLIENT_PAGES, NONE, 0, Status.UNSUPPORTED),
        (PAGE_SIZE, ObjectKind.IMPORT, NONE, 0, Status.UNSUPPORTED),
    ],
)
def test_what_cannot_be_made_is_refused(
    size: int, kind: ObjectKind, flags: ObjectFlags, page_size: int, status: Status
) -> None:
    pair = DevicePair()
    client = pair.attach()

    assert refuse(client, size, kind, flags, page_size).status is status

    assert pair.device.memory.free_bytes == pair.spec.vram_size
    assert pair.system_memory.files == []


def test_the_number_of_objects_is_limited() -> None:
    pair = DevicePair()
    client = pair.attach()
    state = pair.device._state.clients[client.client_id]
    limit = pair.device.spec.max_objects
    made = client.object(PAGE_SIZE)
    state.objects |= {-number: state.objects[made] for number in range(1, limit)}

    refused = refuse(client)

    assert (refused.status, refused.detail) == (Status.LIMIT, limit)


def test_system_memory_reaches_the_client_before_the_reply() -> None:
    pair = DevicePair()
    client = pair.attach()

    made = client.create(2 * PAGE_SIZE, SYSTEM)

    ((note, (file,)),) = pair.port(client).received
    assert (note.object_id, note.count, note.size_bytes) == (made.object_id, 1, 2 * PAGE_SIZE)
    assert (made.descriptors, file.size) == (1, 2 * PAGE_SIZE)
    assert made.bus_address % PAGE_SIZE == 0
    assert pair.device.memory.free_bytes == pair.spec.vram_size


def test_engines_and_client_see_the_same_system_memory() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    client.map(vmid, VA, PAGE_SIZE, client.object(PAGE_SIZE, SYSTEM))
    client.map(vmid, VA + PAGE_SIZE, PAGE_SIZE, client.object(PAGE_SIZE))
    file = pair.system_memory.files[0]
    file.view[0:5] = b"hello"

    client.submit(
        client.queue(vmid),
        Copy(flags=WorkFlags.NONE, tag=0, source=VA, destination=VA + PAGE_SIZE + 8, size_bytes=5),
        Copy(
            flags=WorkFlags.NONE, tag=0, source=VA + PAGE_SIZE, destination=VA + 16, size_bytes=16
        ),
    )
    pair.step()

    assert bytes(file.view[16:32]) == bytes(8) + b"hello" + bytes(3)


def test_system_memory_is_closed_when_its_object_goes() -> None:
    pair = DevicePair()
    client = pair.attach()
    object_id = client.object(PAGE_SIZE, SYSTEM)

    assert is_done(client.destroy(object_id))

    assert pair.system_memory.open_files == []
    pair.device.check()


def test_no_host_memory_is_refused_and_leaves_nothing() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.system_memory.room = PAGE_SIZE

    assert refuse(client, 2 * PAGE_SIZE, SYSTEM).status is Status.OUT_OF_HOST_MEMORY
    flags = ObjectFlags.DATA_DESCRIPTOR
    assert refuse(client, 2 * PAGE_SIZE, VRAM, flags).status is Status.OUT_OF_HOST_MEMORY

    assert pair.device.memory.free_bytes == pair.spec.vram_size
    pair.device.check()


def test_a_descriptor_that_cannot_be_sent_undoes_the_object() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.port(client).refuses = True

    assert refuse(client, PAGE_SIZE, SYSTEM).status is Status.OUT_OF_HOST_MEMORY
    flags = ObjectFlags.DATA_DESCRIPTOR
    assert refuse(client, PAGE_SIZE, VRAM, flags).status is Status.OUT_OF_HOST_MEMORY

    assert pair.system_memory.open_files == []
    assert pair.device.memory.free_bytes == pair.spec.vram_size
    pair.device.check()


def test_memory_with_a_data_descriptor_is_a_file_charged_to_vram() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    before = pair.device.memory.free_bytes

    made = client.create(4 * PAGE_SIZE, VRAM, ObjectFlags.DATA_DESCRIPTOR)

    assert pair.device.memory.free_bytes == before - 4 * PAGE_SIZE
    assert made.descriptors == 1
    assert len(pair.port(client).received) == 1
    client.map(vmid, VA, 4 * PAGE_SIZE, made.object_id)
    entry = pair.device._state.clients[client.client_id].spaces[vmid].space.translate_page(VA, 0)
    assert (entry >> 5) & 3 == Aperture.BUS
    write = MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA + 8, value=0x1234)
    client.submit(client.queue(vmid), write)
    pair.step()
    assert bytes(pair.system_memory.files[0].view[8:10]) == b"\x34\x12"
    pair.device.check()


def test_read_only_system_memory_cannot_be_mapped_writable() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    made = client.create(PAGE_SIZE, SYSTEM, ObjectFlags.READ_ONLY)

    command = client.map_command(vmid, VA, PAGE_SIZE, made.object_id, rights=READ_WRITE)
    refused = client.refused(command)

    assert (refused.status, refused.detail) == (Status.BAD_RIGHTS, VA)
    assert client.map(vmid, VA, PAGE_SIZE, made.object_id, rights=Rights.READ) == 1


def test_mapped_memory_is_in_use() -> None:
    client = DevicePair().attach()
    vmid = client.space()
    object_id = client.object(2 * PAGE_SIZE)
    client.map(vmid, VA, PAGE_SIZE, object_id)
    client.map(vmid, VA + (1 << 20), PAGE_SIZE, object_id)

    reply = client.destroy(object_id)

    assert isinstance(reply, Refused)
    assert (reply.status, reply.detail) == (Status.IN_USE, 2)
    client.unmap(vmid, VA, 1 << 21)
    assert is_done(client.destroy(object_id))


def test_an_object_belongs_to_its_client() -> None:
    pair = DevicePair()
    owner, other = pair.attach(), pair.attach()
    object_id = owner.object(PAGE_SIZE)
    vmid = other.space()

    command = other.map_command(vmid, VA, PAGE_SIZE, object_id)

    assert other.refused(command).status is Status.BAD_OBJECT
    reply = other.destroy(object_id)
    assert isinstance(reply, Refused)
    assert reply.status is Status.BAD_OBJECT
    assert is_done(owner.destroy(object_id))


def test_numbers_of_objects_are_never_used_again() -> None:
    pair = DevicePair()
    client = pair.attach()
    numbers: list[int] = []
    for _ in range(5):
        numbers.append(client.object(PAGE_SIZE))
        client.destroy(numbers[-1])
    pair.device.reset(pair.now)
    numbers.append(pair.attach().object(PAGE_SIZE))

    assert len(set(numbers)) == 6


def test_each_operation_wants_its_own_kind_of_object() -> None:
    pair = DevicePair()
    client = pair.attach()
    object_id = client.object(PAGE_SIZE)

    command = SegmentUnregister(request=client.request(), object_id=object_id)

    assert client.refused(command).status is Status.BAD_OBJECT


def test_properties_tell_kind_place_and_uses() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    made = client.create(3 * PAGE_SIZE, SYSTEM)
    client.map(vmid, VA, 3 * PAGE_SIZE, made.object_id)
    client.unmap(vmid, VA + PAGE_SIZE, PAGE_SIZE)
    client.export(vmid, VA, 100)

    found = properties(client, made.object_id)

    assert (found.object_id, found.kind, found.size_bytes) == (
        made.object_id,
        SYSTEM,
        3 * PAGE_SIZE,
    )
    assert (found.mapping_count, found.export_count) == (2, 1)
    assert found.bus_address == made.bus_address
    pair.device.check()
