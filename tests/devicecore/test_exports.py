"""Exports: snapshots of a range under a token; what an importer sees of them."""

import pytest

from firmware.abi.control import (
    ObjectFlags,
    ObjectKind,
)
from firmware.abi.ids import PAGE_SIZE
from tests.harness.devicepair import DevicePair
from tests.harness.sharing import THERE, VA, Shared, word_at, write_word


def test_a_window_over_several_objects_is_seen_in_the_exporters_order() -> None:
    shared = Shared()

    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert (exported.object_count, exported.size_bytes) == (3, 9 * PAGE_SIZE)
    assert (opened.va, opened.mapped_size) == (THERE, 9 * PAGE_SIZE)
    assert (opened.object_count, opened.size_bytes) == (3, 9 * PAGE_SIZE)
    assert shared.pages_seen(9) == list(range(9))
    shared.pair.device.check()


@pytest.mark.sentence("RANGE-15", "RANGE-16")
@pytest.mark.decision("C12")
def test_a_window_begins_and_ends_at_any_byte() -> None:
    shared = Shared()

    exported = shared.exporter.export(shared.vmid, VA + 2 * PAGE_SIZE + 77, 3 * PAGE_SIZE + 5)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert exported.window_offset == 77
    assert (opened.window_offset, opened.mapped_size) == (77, 4 * PAGE_SIZE)
    assert [page - 2 for page in shared.pages_seen(4)] == [0, 1, 2, 3]
    assert exported.object_count == 3


@pytest.mark.decision("C12")
def test_one_byte_can_be_exported() -> None:
    shared = Shared()

    exported = shared.exporter.export(shared.vmid, VA + 5 * PAGE_SIZE - 1, 1)
    opened = shared.importer.open(shared.there, exported, THERE)

    assert (opened.mapped_size, opened.window_offset) == (PAGE_SIZE, PAGE_SIZE - 1)
    assert shared.pages_seen(1) == [4]


@pytest.mark.decision("C8")
def test_device_and_system_memory_mix_in_one_window() -> None:
    shared = Shared((ObjectKind.VRAM, ObjectKind.SYSTEM, ObjectKind.VRAM))

    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    shared.importer.open(shared.there, exported, THERE)

    assert shared.pages_seen(9) == list(range(9))
    write_word(shared.pair, shared.importer, shared.there, THERE + 3 * PAGE_SIZE + 8, 7)
    assert word_at(shared.pair, shared.exporter, shared.vmid, VA + 3 * PAGE_SIZE + 8) == 7
    shared.pair.device.check()


def test_memory_with_a_data_descriptor_can_be_exported() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    made = client.create(PAGE_SIZE, ObjectKind.VRAM, ObjectFlags.DATA_DESCRIPTOR)
    client.map(vmid, VA, PAGE_SIZE, made.object_id)

    client.open(vmid, client.export(vmid, VA, PAGE_SIZE), THERE)

    write_word(pair, client, vmid, THERE, 5)
    assert pair.system_memory.files[0].view[0] == 5
    pair.device.check()


@pytest.mark.sentence("RANGE-25", "RANGE-26")
def test_an_export_does_not_follow_later_changes() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 3 * PAGE_SIZE)

    shared.exporter.unmap(shared.vmid, VA, 3 * PAGE_SIZE)
    shared.exporter.map(shared.vmid, VA, PAGE_SIZE, shared.exporter.object(PAGE_SIZE))
    shared.importer.open(shared.there, exported, THERE)

    assert shared.pages_seen(3) == [0, 1, 2]
    shared.pair.device.check()


def test_a_range_may_cross_its_mappings_as_they_were_cut() -> None:
    shared = Shared()
    shared.exporter.unmap(shared.vmid, VA + PAGE_SIZE, PAGE_SIZE)
    shared.exporter.map(shared.vmid, VA + PAGE_SIZE, PAGE_SIZE, shared.objects[0], offset=PAGE_SIZE)

    exported = shared.exporter.export(shared.vmid, VA, 3 * PAGE_SIZE)

    assert exported.object_count == 1


def test_the_same_object_may_stand_in_a_window_twice() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    object_id = client.object(PAGE_SIZE)
    client.map(vmid, VA, PAGE_SIZE, object_id)
    client.map(vmid, VA + PAGE_SIZE, PAGE_SIZE, object_id)

    exported = client.export(vmid, VA, 2 * PAGE_SIZE)
    client.open(vmid, exported, THERE)

    assert exported.object_count == 2
    write_word(pair, client, vmid, THERE, 9)
    assert word_at(pair, client, vmid, THERE + PAGE_SIZE) == 9
    client.put(exported.token)
    pair.device.check()


def test_every_export_has_its_own_token() -> None:
    shared = Shared()

    tokens = {shared.exporter.export(shared.vmid, VA, PAGE_SIZE).token for _ in range(10)}

    assert len(tokens) == 10
