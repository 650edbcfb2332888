"""EXPORT and EXPORT_OPEN: what is refused, and that nothing is left of it."""

import pytest

from device.core.spec import DeviceSpec
from firmware.abi.control import (
    ObjectFlags,
    ObjectKind,
    SegmentRegister,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Feature, Rights
from firmware.abi.replies import Exported, ObjectCreated
from firmware.abi.status import Status
from tests.harness.devicepair import DevicePair
from tests.harness.sharing import THERE, VA, Shared, export

# --- refusals of EXPORT ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "size", "hole"),
    [
        (VA - PAGE_SIZE + 8, PAGE_SIZE, VA - PAGE_SIZE + 8),
        (VA, 9 * PAGE_SIZE + 1, VA + 9 * PAGE_SIZE),
        (VA + 9 * PAGE_SIZE, 1, VA + 9 * PAGE_SIZE),
        (VA + 100, 3 * PAGE_SIZE - 100, VA + PAGE_SIZE),
    ],
)
def test_a_hole_is_refused_where_it_is(first: int, size: int, hole: int) -> None:
    shared = Shared()
    if hole == VA + PAGE_SIZE:
        shared.exporter.unmap(shared.vmid, VA + PAGE_SIZE, PAGE_SIZE)

    refused = shared.exporter.refused(export(shared.exporter, shared.vmid, first, size))

    assert (refused.status, refused.detail) == (Status.NOT_MAPPED, hole)
    shared.pair.device.check()


def test_null_and_client_pages_are_refused_before_any_hole() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    pair.port(client).pages.add(0x5000_0000, PAGE_SIZE)
    register = SegmentRegister(
        request=client.request(),
        kind=ObjectKind.CLIENT_PAGES,
        flags=ObjectFlags.NONE,
        address=0x5000_0000,
        size_bytes=PAGE_SIZE,
    )
    own = client.ask(register, ObjectCreated).object_id
    client.map(vmid, VA + 2 * PAGE_SIZE, PAGE_SIZE, 0)
    client.map(vmid, VA + 4 * PAGE_SIZE, PAGE_SIZE, own)

    null = client.refused(export(client, vmid, VA + 8, 3 * PAGE_SIZE))
    pages = client.refused(export(client, vmid, VA + 3 * PAGE_SIZE, 2 * PAGE_SIZE))

    assert (null.status, null.detail) == (Status.NOT_EXPORTABLE, VA + 2 * PAGE_SIZE)
    assert (pages.status, pages.detail) == (Status.NOT_EXPORTABLE, VA + 4 * PAGE_SIZE)


@pytest.mark.case("D11")
@pytest.mark.parametrize(("va", "size"), [(VA, 0), (VA_LIMIT - 5, 6), (1 << 63, 1 << 63)])
def test_ranges_that_do_not_exist_are_refused(va: int, size: int) -> None:
    shared = Shared()

    refused = shared.exporter.refused(export(shared.exporter, shared.vmid, va, size))

    assert (refused.status, refused.detail) == (Status.BAD_RANGE, va)


@pytest.mark.sentence("RANGE-20")
def test_the_number_of_objects_in_a_range_can_be_limited() -> None:
    pair = DevicePair(DeviceSpec(vram_size=4 << 20, max_range_objects=2))
    client = pair.attach()
    vmid = client.space()
    for number in range(3):
        client.map(vmid, VA + number * PAGE_SIZE, PAGE_SIZE, client.object(PAGE_SIZE))

    refused = client.refused(export(client, vmid, VA, 3 * PAGE_SIZE))

    assert (refused.status, refused.detail) == (Status.LIMIT, 2)
    client.ask(export(client, vmid, VA, 2 * PAGE_SIZE), Exported)


def test_ranges_have_to_be_agreed_on() -> None:
    pair = DevicePair()
    client = pair.attach(features=Feature.CLIENT_MEMORY)
    vmid = client.space()
    for number in range(2):
        client.map(vmid, VA + number * PAGE_SIZE, PAGE_SIZE, client.object(PAGE_SIZE))

    assert client.refused(export(client, vmid, VA, 2 * PAGE_SIZE)).status is Status.UNSUPPORTED
    client.ask(export(client, vmid, VA + 4, PAGE_SIZE - 4), Exported)


def test_the_space_has_to_be_the_clients() -> None:
    shared = Shared()

    command = export(shared.importer, shared.vmid, VA, PAGE_SIZE)

    assert shared.importer.refused(command).status is Status.BAD_SPACE


# --- refusals of EXPORT_OPEN -------------------------------------------------------------------


def test_a_token_that_nobody_gave_out_opens_nothing() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, PAGE_SIZE)
    forged = Exported(
        opcode=exported.opcode,
        status=exported.status,
        request=exported.request,
        token=bytes(16),
        size_bytes=exported.size_bytes,
        window_offset=exported.window_offset,
        object_count=1,
        device_index=0,
    )

    command = shared.importer.open_command(shared.there, forged, THERE)

    assert shared.importer.refused(command).status is Status.BAD_TOKEN


@pytest.mark.case("R10")
@pytest.mark.parametrize(("field", "index"), [("size_bytes", 0), ("window_offset", 1)])
def test_a_handle_that_tells_another_window_is_refused(field: str, index: int) -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA + 100, 5000)
    real = (5000, 100)[index]
    told = {"size_bytes": 5000, "window_offset": 100} | {field: real + 1}
    forged = Exported(
        opcode=exported.opcode,
        status=exported.status,
        request=exported.request,
        token=exported.token,
        object_count=1,
        device_index=0,
        **told,
    )

    refused = shared.importer.refused(shared.importer.open_command(shared.there, forged, THERE))

    assert (refused.status, refused.detail) == (Status.MISMATCH, real)


@pytest.mark.case("R09")
def test_an_open_maps_everything_or_nothing() -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)
    in_the_way = shared.importer.object(PAGE_SIZE)
    shared.importer.map(shared.there, THERE + 8 * PAGE_SIZE, PAGE_SIZE, in_the_way)
    before = shared.pair.device.memory.free_bytes

    refused = shared.importer.refused(shared.importer.open_command(shared.there, exported, THERE))

    assert (refused.status, refused.detail) == (Status.OVERLAP, THERE + 8 * PAGE_SIZE)
    assert shared.pair.device.memory.free_bytes == before
    assert shared.importer.unmap(shared.there, THERE, 1 << 21) == 1
    shared.pair.device.check()


@pytest.mark.parametrize(
    ("va", "status"),
    [
        (THERE + 1, Status.BAD_ALIGNMENT),
        (VA_LIMIT - PAGE_SIZE, Status.BAD_RANGE),
        (1 << 62, Status.BAD_RANGE),
    ],
)
def test_addresses_that_cannot_hold_the_window_are_refused(va: int, status: Status) -> None:
    shared = Shared()
    exported = shared.exporter.export(shared.vmid, VA, 9 * PAGE_SIZE)

    command = shared.importer.open_command(shared.there, exported, va)

    assert shared.importer.refused(command).status is status


def test_an_import_has_no_more_rights_than_its_objects() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    made = client.create(PAGE_SIZE, ObjectKind.SYSTEM, ObjectFlags.READ_ONLY)
    client.map(vmid, VA, PAGE_SIZE, made.object_id, rights=Rights.READ)
    exported = client.export(vmid, VA, PAGE_SIZE)

    refused = client.refused(client.open_command(vmid, exported, THERE, READ_WRITE))

    assert refused.status is Status.BAD_RIGHTS
    client.open(vmid, exported, THERE, Rights.READ)


def test_imports_count_as_objects() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    client.map(vmid, VA, PAGE_SIZE, client.object(PAGE_SIZE))
    exported = client.export(vmid, VA, PAGE_SIZE)
    state = pair.device._state.clients[client.client_id]
    one = next(iter(state.objects.values()))
    state.objects |= {-number: one for number in range(1, pair.device.spec.max_objects)}

    assert client.refused(client.open_command(vmid, exported, THERE)).status is Status.LIMIT
