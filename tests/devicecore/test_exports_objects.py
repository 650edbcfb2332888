"""EXPORT_OBJECT and IMPORT_FILES: exports without mappings, and the memory files behind exports."""

import pytest

from firmware.abi.control import ExportObject, FileExtent, ImportFiles, ObjectKind
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Exported, FilesTold
from firmware.abi.status import Status
from tests.harness.sharing import THERE, VA, Shared, export

VRAM, SYSTEM = ObjectKind.VRAM, ObjectKind.SYSTEM
MIXED = (SYSTEM, VRAM, SYSTEM)


def export_object(shared: Shared, at: int, offset: int, size: int) -> ExportObject:
    return ExportObject(
        request=shared.exporter.request(),
        object_id=shared.objects[at],
        object_offset=offset,
        size_bytes=size,
    )


def files_of(shared: Shared, import_id: int, first: int = 0, capacity: int = 8) -> ImportFiles:
    return ImportFiles(
        request=shared.importer.request(),
        import_id=import_id,
        first=first,
        capacity=capacity,
        payload_offset=64,
    )


def told(shared: Shared, command: ImportFiles) -> list[tuple[int, int, int, int]]:
    reply = shared.importer.ask(command, FilesTold)
    rows = shared.importer.payload(64, reply.count * FileExtent.SIZE)
    found: list[tuple[int, int, int, int]] = []
    for at in range(reply.count):
        row = FileExtent.unpack(rows, at * FileExtent.SIZE)
        assert isinstance(row, FileExtent)
        start, size, offset = (
            number // PAGE_SIZE for number in (row.offset, row.size_bytes, row.file_offset)
        )
        found.append((start, size, offset, row.descriptor))
    return found


def test_part_of_an_object_is_exported_without_a_mapping() -> None:
    shared = Shared()
    command = export_object(shared, 1, PAGE_SIZE + 8, PAGE_SIZE)
    exported = shared.exporter.ask(command, Exported)
    shared.exporter.unmap(shared.vmid, VA, 9 * PAGE_SIZE)

    opened = shared.importer.open(shared.there, exported, THERE)

    assert (exported.window_offset, exported.size_bytes, exported.object_count) == (8, PAGE_SIZE, 1)
    assert opened.mapped_size == 2 * PAGE_SIZE
    assert shared.pages_seen(2) == [3, 4]
    shared.pair.device.check()


@pytest.mark.parametrize(
    ("offset", "size"), [(0, 0), (0, 3 * PAGE_SIZE + 1), (3 * PAGE_SIZE, 1), ((1 << 64) - 1, 2)]
)
def test_bytes_outside_the_object_are_refused(offset: int, size: int) -> None:
    shared = Shared()

    refused = shared.exporter.refused(export_object(shared, 0, offset, size))

    assert (refused.status, refused.detail) == (Status.BAD_RANGE, offset)
    assert refused.expected == 3 * PAGE_SIZE


def test_object_of_another_client_is_not_exported() -> None:
    shared = Shared()

    refused = shared.importer.refused(export_object(shared, 0, 0, 1))

    assert (refused.status, refused.detail) == (Status.BAD_OBJECT, shared.objects[0])


def test_files_of_system_memory_are_told_and_sent_those_of_device_memory_are_not() -> None:
    shared = Shared(MIXED)
    exported = shared.exporter.export(shared.vmid, VA + 5, 9 * PAGE_SIZE - 5)
    opened = shared.importer.open(shared.there, exported, THERE)
    assert opened.file_count == 2

    command = files_of(shared, opened.import_id)

    assert told(shared, command) == [(0, 3, 0, 0), (5, 4, 0, 1)]
    note, files = shared.pair.port(shared.importer).received[-1]
    assert (note.request, note.count) == (command.request, 2)
    assert [file.size for file in files] == [3 * PAGE_SIZE, 4 * PAGE_SIZE]


def test_files_go_on_where_the_last_answer_ended() -> None:
    shared = Shared(MIXED)
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert told(shared, files_of(shared, opened.import_id, capacity=1)) == [(0, 3, 0, 0)]
    assert told(shared, files_of(shared, opened.import_id, first=1)) == [(5, 4, 0, 0)]
    assert told(shared, files_of(shared, opened.import_id, first=2)) == []


def test_device_memory_has_no_files() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert opened.file_count == 0
    assert told(shared, files_of(shared, opened.import_id)) == []
    assert shared.pair.port(shared.importer).received == []


def test_files_are_refused_to_whom_did_not_open_and_where_there_is_no_room() -> None:
    shared = Shared(MIXED)
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)
    port = shared.pair.port(shared.importer)

    assert shared.importer.refused(files_of(shared, 99)).status is Status.BAD_OBJECT
    large = files_of(shared, opened.import_id, capacity=1 << 30)
    assert shared.importer.refused(large).status is Status.BAD_PAYLOAD
    port.refuses = True
    command = files_of(shared, opened.import_id)
    assert shared.importer.refused(command).status is Status.OUT_OF_HOST_MEMORY
    assert port.received == []
    port.refuses = False
    assert len(told(shared, files_of(shared, opened.import_id))) == 2


def test_export_of_unmapped_memory_by_address_is_still_refused() -> None:
    shared = Shared()
    shared.exporter.unmap(shared.vmid, VA, 9 * PAGE_SIZE)

    refused = shared.exporter.refused(export(shared.exporter, shared.vmid, VA, PAGE_SIZE))

    assert refused.status is Status.NOT_MAPPED
