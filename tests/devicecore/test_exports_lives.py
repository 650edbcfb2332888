"""Exports and imports: who may end them, what lives how long, and whose memory it is."""

import pytest

from device.core.spec import DeviceSpec
from firmware.abi.control import (
    ExportClose,
    MapExtent,
    MapList,
    SpaceDestroy,
    Subject,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE
from firmware.abi.replies import Mapped, Refused
from firmware.abi.statistics import ExportProperties
from firmware.abi.status import Status
from firmware.abi.work import Copy, MemoryWrite
from tests.harness.devicepair import DevicePair
from tests.harness.sharing import NONE, THERE, VA, Shared, word_at, write_word
from tests.harness.stepped_client import is_done

# --- lives and deaths --------------------------------------------------------------------------


@pytest.mark.decision("C10")
def test_memory_lives_until_the_last_close() -> None:
    shared = Shared()
    pair = shared.pair
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    pair.detach(shared.exporter)

    assert shared.pages_seen(9) == list(range(9))
    pair.device.check()
    assert is_done(shared.importer.close(opened.import_id))
    pair.detach(shared.importer)
    assert pair.device.memory.free_bytes == pair.spec.vram_size
    pair.device.check()


@pytest.mark.decision("C10c")
def test_destroyed_objects_live_in_their_exports() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    shared.exporter.unmap(shared.vmid, VA, 9 * PAGE_SIZE)
    before = shared.pair.device.memory.free_bytes
    for object_id in shared.objects:
        assert is_done(shared.exporter.destroy(object_id))

    shared.importer.open(shared.there, exported, THERE)

    assert shared.pages_seen(9) == list(range(9))
    assert shared.pair.device.memory.free_bytes < before
    shared.pair.device.check()


def test_a_put_export_opens_no_more_but_what_is_open_stays() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert is_done(shared.exporter.put(exported.token))

    command = shared.importer.open_command(shared.there, exported, THERE + (1 << 30))
    assert shared.importer.refused(command).status is Status.BAD_TOKEN
    assert shared.pages_seen(9) == list(range(9))
    assert is_done(shared.importer.close(opened.import_id))
    shared.pair.device.check()


def test_the_exporters_death_revokes_its_exports() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)

    shared.pair.detach(shared.exporter)

    command = shared.importer.open_command(shared.there, exported, THERE)
    assert shared.importer.refused(command).status is Status.BAD_TOKEN
    shared.pair.device.check()


def test_only_the_exporter_may_put_and_only_once() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, PAGE_SIZE)

    stranger = shared.importer.put(exported.token)
    assert isinstance(stranger, Refused)
    assert stranger.status is Status.BAD_TOKEN
    assert is_done(shared.exporter.put(exported.token))
    again = shared.exporter.put(exported.token)

    assert isinstance(again, Refused)
    assert again.status is Status.BAD_TOKEN


def test_an_export_is_opened_any_number_of_times_also_by_its_exporter() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)

    first = shared.importer.open(shared.there, exported, THERE)
    second = shared.importer.open(shared.there, exported, THERE + (1 << 30))
    own = shared.exporter.open(shared.vmid, exported, THERE)

    assert len({first.import_id, second.import_id, own.import_id}) == 3
    assert is_done(shared.importer.close(first.import_id))
    assert shared.importer.unmap(shared.there, THERE + (1 << 30), 1 << 21) == 9
    shared.pair.device.check()


def test_an_import_can_be_exported_again_and_outlives_its_middleman() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    middleman = shared.pair.attach()
    vmid = middleman.space()
    middleman.open(vmid, exported, VA)
    again = middleman.export(vmid, VA + 2 * PAGE_SIZE, 4 * PAGE_SIZE)
    shared.importer.open(shared.there, again, THERE)

    shared.pair.detach(middleman)
    shared.pair.detach(shared.exporter)

    assert [page - 2 for page in shared.pages_seen(4)] == [0, 1, 2, 3]
    assert again.object_count == 3
    shared.pair.device.check()


def test_closing_leaves_what_was_mapped_there_meanwhile() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)
    shared.importer.unmap(shared.there, THERE + 4 * PAGE_SIZE, PAGE_SIZE)
    own = shared.importer.object(PAGE_SIZE)
    shared.importer.map(shared.there, THERE + 4 * PAGE_SIZE, PAGE_SIZE, own)

    assert is_done(shared.importer.close(opened.import_id))

    assert shared.importer.unmap(shared.there, THERE, 1 << 21) == 1
    shared.pair.device.check()


def test_an_import_can_be_closed_after_its_space_has_gone() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)
    request = shared.importer.request()
    assert is_done(shared.importer.call(SpaceDestroy(request=request, vmid=shared.there)))

    assert is_done(shared.importer.close(opened.import_id))

    shared.pair.device.check()


def test_an_import_is_its_clients_and_no_object() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    command = ExportClose(request=shared.exporter.request(), import_id=opened.import_id)
    assert shared.exporter.refused(command).status is Status.BAD_OBJECT
    mapping = shared.importer.map_command(shared.there, VA, PAGE_SIZE, opened.import_id)
    assert shared.importer.refused(mapping).status is Status.BAD_OBJECT
    destroyed = shared.importer.destroy(opened.import_id)
    assert isinstance(destroyed, Refused)
    assert destroyed.status is Status.BAD_OBJECT


def test_properties_tell_the_importer_about_the_export() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA + 5, 9 * PAGE_SIZE - 9)
    opened = shared.importer.open(shared.there, exported, THERE)
    shared.exporter.put(exported.token)

    data = shared.importer.properties(Subject.EXPORT, opened.import_id)
    found = ExportProperties.unpack(data)

    assert isinstance(found, ExportProperties)
    assert (found.size_bytes, found.window_offset) == (9 * PAGE_SIZE - 9, 5)
    assert (found.object_count, found.open_count, found.live) == (3, 1, 0)
    assert found.exporter_client == shared.exporter.client_id


def test_frames_that_an_importer_could_write_come_back_zeroed() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 3 * PAGE_SIZE)
    shared.importer.open(shared.there, exported, THERE)
    write_word(shared.pair, shared.importer, shared.there, THERE + 64, 0x5EC2E7)
    for client in (shared.importer, shared.exporter):
        shared.pair.detach(client)

    heir = shared.pair.attach()
    vmid = heir.space()
    heir.map(vmid, VA, 1 << 20, heir.object(1 << 20))

    words = {word_at(shared.pair, heir, vmid, VA + at) for at in range(0, 1 << 20, 64)}
    assert words == {0}


def test_an_exporter_does_not_get_back_what_its_importer_wrote() -> None:
    shared = Shared()
    pair = shared.pair
    exported = shared.exporter.export(shared.vmid, VA, 3 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)
    write_word(pair, shared.importer, shared.there, THERE + 64, 0x5EC2E7)
    shared.importer.close(opened.import_id)
    shared.exporter.put(exported.token)
    shared.exporter.unmap(shared.vmid, VA, 1 << 21)
    shared.exporter.destroy(shared.objects[0])

    free = pair.device.memory.free_bytes - 8 * PAGE_SIZE
    shared.exporter.map(shared.vmid, VA, free, shared.exporter.object(free))

    assert (0x5EC2E7).to_bytes(8, "little") not in pair.vram


def test_a_thousand_objects_make_one_window() -> None:
    pair = DevicePair(DeviceSpec(vram_size=8 << 20))
    client = pair.attach()
    vmid = client.space()
    objects = [client.object(PAGE_SIZE) for _ in range(1000)]
    extents = [
        MapExtent(
            va=VA + number * PAGE_SIZE,
            size_bytes=PAGE_SIZE,
            object_id=object_id,
            object_offset=0,
            rights=READ_WRITE,
        ).pack()
        for number, object_id in enumerate(reversed(objects))
    ]
    client.put_payload(b"".join(extents))
    command = MapList(request=client.request(), vmid=vmid, count=1000, payload_offset=0)
    assert client.ask(command, Mapped).page_count == 1000

    exported = client.export(vmid, VA, 1000 * PAGE_SIZE)
    other = pair.attach()
    there = other.space()
    opened = other.open(there, exported, THERE)

    assert (exported.object_count, opened.object_count) == (1000, 1000)
    queue = client.queue(vmid, 1024)
    for number in range(1000):
        client.submit(
            queue,
            MemoryWrite(flags=NONE, tag=0, destination=VA + number * PAGE_SIZE, value=number + 1),
        )
    pair.step()
    seen = [word_at(pair, other, there, THERE + n * PAGE_SIZE) for n in range(1000)]
    assert seen == list(range(1, 1001))
    pair.device.check()


def test_a_copy_moves_through_both_page_tables() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    shared.importer.open(shared.there, exported, THERE)
    shared.importer.map(shared.there, VA, PAGE_SIZE, shared.importer.object(PAGE_SIZE))

    shared.importer.submit(
        shared.importer.queue(shared.there),
        Copy(flags=NONE, tag=0, source=THERE + 4 * PAGE_SIZE, destination=VA, size_bytes=8),
    )
    shared.pair.step()

    assert word_at(shared.pair, shared.importer, shared.there, VA) == 0x104
