"""What the memory file of an object tells of its export."""

import pytest

from firmware.abi.control import ExportFind, ObjectFlags, ObjectKind, SegmentRegister
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Exported, ObjectCreated
from firmware.abi.status import Status
from tests.harness.devicepair import DevicePair
from tests.harness.deviceworld import HeapFile
from tests.harness.stepped_client import RawClient

VA = 1 << 30
SIZE = 4 * PAGE_SIZE


def with_file(
    pair: DevicePair, client: RawClient, kind: ObjectKind = ObjectKind.VRAM
) -> tuple[int, HeapFile]:
    """Make an object with a memory file; return its number and the file."""
    flags = ObjectFlags.DATA_DESCRIPTOR if kind is ObjectKind.VRAM else ObjectFlags.NONE
    created = client.create(SIZE, kind, flags)
    _, (file,) = pair.port(client).received[-1]
    assert isinstance(file, HeapFile)
    return created.object_id, file


def find(pair: DevicePair, client: RawClient, file: HeapFile | str | None) -> ExportFind:
    command = ExportFind(request=client.request())
    if file is not None:
        pair.port(client).passed[command.request] = file
    return command


@pytest.mark.parametrize("kind", [ObjectKind.VRAM, ObjectKind.SYSTEM])
def test_whoever_has_the_file_is_told_the_export(kind: ObjectKind) -> None:
    pair = DevicePair()
    exporter, importer = pair.attach(), pair.attach()
    vmid = exporter.space()
    object_id, file = with_file(pair, exporter, kind)
    exporter.map(vmid, VA, SIZE, object_id)
    exported = exporter.export(vmid, VA, 100)

    found = importer.ask(find(pair, importer, file), Exported)

    assert (found.token, found.size_bytes) == (exported.token, 100)
    opened = importer.open(importer.space(), found, VA)
    importer.close(opened.import_id)
    pair.device.check()


def test_the_newest_export_is_told_and_none_that_was_put() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    object_id, file = with_file(pair, client)
    client.map(vmid, VA, SIZE, object_id)
    first = client.export(vmid, VA, SIZE)
    second = client.export(vmid, VA, SIZE - 5)

    assert client.ask(find(pair, client, file), Exported).token == second.token
    client.put(second.token)
    assert client.ask(find(pair, client, file), Exported).token == first.token
    client.put(first.token)
    assert client.refused(find(pair, client, file)).status is Status.BAD_TOKEN
    pair.device.check()


def test_an_export_of_a_part_or_of_several_objects_is_not_the_file_s() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    object_id, file = with_file(pair, client)
    client.map(vmid, VA, SIZE, object_id)
    client.map(vmid, VA + SIZE, SIZE, client.object(SIZE))
    for va, size in ((VA + PAGE_SIZE, PAGE_SIZE), (VA + 1, PAGE_SIZE), (VA, 2 * SIZE)):
        client.export(vmid, va, size)

    assert client.refused(find(pair, client, file)).status is Status.BAD_TOKEN


def test_the_exporter_s_end_ends_it() -> None:
    pair = DevicePair()
    exporter, importer = pair.attach(), pair.attach()
    vmid = exporter.space()
    object_id, file = with_file(pair, exporter)
    exporter.map(vmid, VA, SIZE, object_id)
    exporter.export(vmid, VA, SIZE)
    pair.detach(exporter)

    assert importer.refused(find(pair, importer, file)).status is Status.BAD_TOKEN
    assert file.closed


@pytest.mark.parametrize("passed", [None, "not sealed"])
def test_without_a_file_nothing_is_told(passed: str | None) -> None:
    pair = DevicePair()
    client = pair.attach()

    assert client.refused(find(pair, client, passed)).status is Status.BAD_DESCRIPTOR
    assert client.refused(find(pair, client, HeapFile(SIZE))).status is Status.BAD_TOKEN


def test_an_export_of_what_begins_later_in_a_file_is_not_the_file_s() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    file = HeapFile(2 * SIZE)
    for va, offset in ((VA, 0), (2 * VA, SIZE)):
        register = SegmentRegister(
            request=client.request(),
            kind=ObjectKind.CLIENT_DESCRIPTOR,
            flags=ObjectFlags.NONE,
            address=offset,
            size_bytes=SIZE,
        )
        pair.port(client).passed[register.request] = file
        client.map(vmid, va, SIZE, client.ask(register, ObjectCreated).object_id)
    whole = client.export(vmid, VA, SIZE)
    client.export(vmid, 2 * VA, SIZE)

    assert client.ask(find(pair, client, file), Exported).token == whole.token
