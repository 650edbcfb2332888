"""Windows that touch allocated memory, and windows over device and host objects at once."""

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import pair
from tests.harness.levelzero import HOST, PAGE, fails
from tests.ipc.conftest import SPEC, Side, Sides


def allocated(side: Side, kind: str) -> int:
    if kind == "device":
        return side.context.mem_alloc_device(side.device, 2 * PAGE)
    if kind == "host":
        return side.context.mem_alloc_host(2 * PAGE)
    return side.context.mem_alloc_shared(2 * PAGE)


@pytest.mark.sentence("RANGE-11", "RANGE-12", "RANGE-13")
@pytest.mark.decision("C3")
@pytest.mark.error("MemGetIpcHandleWithProperties", "IA")
@pytest.mark.case("R06")
@pytest.mark.parametrize("kind", ["device", "host", "shared"])
def test_window_with_an_allocation_in_it_is_refused(sides: Sides, kind: str) -> None:
    side = sides.exporter
    pointer = allocated(side, kind)

    for start, size in ((pointer, 3 * PAGE), (pointer, 2 * PAGE), (pointer + 5, 1)):
        with fails("INVALID_ARGUMENT", kind):
            side.window(start, size)


@pytest.mark.decision("C31")
@pytest.mark.parametrize("kind", ["device", "host", "shared"])
def test_allocation_counts_before_a_hole_wherever_both_stand(sides: Sides, kind: str) -> None:
    side = sides.exporter
    pointer = allocated(side, kind)
    below = side.context.virtual_mem_reserve(PAGE, start=pointer + (64 << 20))
    side.context.virtual_mem_map(below, PAGE, side.physical(PAGE))
    first, last = min(pointer, below), max(pointer, below)

    with fails("INVALID_ARGUMENT", kind):
        side.window(first, last + PAGE - first)
    with fails("INVALID_ARGUMENT", kind):
        side.window(pointer - PAGE, 2 * PAGE)
    with fails("ADDRESS_NOT_FOUND"):
        side.window(below, 2 * PAGE)


@pytest.mark.decision("C3", profile="intel")
@pytest.mark.parametrize("kind", ["device", "host"])
def test_intel_gives_a_plain_handle_for_a_window_inside_one_allocation(
    intel: Sides, kind: str
) -> None:
    side = intel.exporter
    pointer = allocated(side, kind)

    handle = side.window(pointer, PAGE)

    assert handle == side.context.mem_get_ipc_handle(pointer)
    opened = intel.importer.open(handle)
    assert intel.importer.context.mem_get_address_range(opened) == (opened, 2 * PAGE)
    with fails("INVALID_ARGUMENT"):
        side.window(pointer, 3 * PAGE)
    with fails("INVALID_ARGUMENT"):
        side.window(pointer + 4096, 10)


@pytest.mark.decision("C8")
def test_device_and_host_objects_come_in_one_window_each_with_its_own_kind(sides: Sides) -> None:
    exporter, importer = sides.exporter, sides.importer
    kinds = [False, True, False, True, True]
    va = exporter.map(*(exporter.physical(PAGE, host=host) for host in kinds))
    for at in range(len(kinds)):
        exporter.context.memory_write(va + at * PAGE, bytes([at + 1]) * PAGE)

    opened = importer.open(exporter.window(va + 100, len(kinds) * PAGE - 200))

    base = opened - 100
    for at, host in enumerate(kinds):
        place = base + at * PAGE + 100
        assert importer.context.memory_read(place, 8) == bytes([at + 1]) * 8
        if host:
            view = importer.context.host_view(place, 8)
            assert bytes(view) == bytes([at + 1]) * 8
            view[:4] = b"edit"
            assert exporter.context.memory_read(va + at * PAGE + 100, 4) == b"edit"
        else:
            with fails("INVALID_ARGUMENT", hex(place)):
                importer.context.host_view(place, 8)
    with fails("INVALID_ARGUMENT"):
        importer.context.host_view(opened, 2 * PAGE)
    # Its pages are there as a whole, but the window is what was opened.
    for outside in (base + 99, base + len(kinds) * PAGE - 100):
        with fails("ADDRESS_NOT_FOUND", hex(outside)):
            importer.context.host_view(outside, 1)
    importer.close(opened)
    with fails("ADDRESS_NOT_FOUND"):
        importer.context.host_view(base + PAGE + 100, 8)


@pytest.mark.decision("C8", profile="intel")
def test_intel_refuses_both_kinds_in_one_window(intel: Sides) -> None:
    side = intel.exporter
    va = side.map(side.physical(PAGE), side.physical(PAGE, host=True))

    with fails("INVALID_ARGUMENT", "both"):
        side.window(va, 2 * PAGE)


def test_parts_of_host_objects_stand_at_their_offsets_for_the_cpu(sides: Sides) -> None:
    exporter, importer = sides.exporter, sides.importer
    source = exporter.physical(4 * 4096, host=True)
    other = exporter.physical(4096, host=True)
    va = exporter.context.virtual_mem_reserve(PAGE)
    for at, (memory, offset) in enumerate(((source, 2), (source, 0), (other, 0), (source, 2))):
        exporter.context.virtual_mem_map(va + at * 4096, 4096, memory, offset * 4096)
        exporter.context.host_view(va + at * 4096, 4096)[:] = bytes([at + 1]) * 4096

    opened = importer.open(exporter.window(va + 1, 4 * 4096 - 1))

    view = importer.context.host_view(opened, 4 * 4096 - 1)
    expected = b"\4" * 4095 + b"\2" * 4096 + b"\3" * 4096 + b"\4" * 4096
    assert bytes(view) == expected
    assert importer.context.memory_read(opened, len(expected)) == expected


def test_more_host_objects_than_one_message_carries_descriptors_are_all_seen(sides: Sides) -> None:
    exporter, importer = sides.exporter, sides.importer
    count = 50
    va = exporter.map(*(exporter.physical(PAGE, host=True) for _ in range(count)))
    for at in range(count):
        exporter.context.host_view(va + at * PAGE, 1)[:] = bytes([at])

    opened = importer.open(exporter.window(va, count * PAGE))

    view = importer.context.host_view(opened, count * PAGE)
    assert bytes(view[::PAGE]) == bytes(range(count))


def test_window_mixes_memory_of_one_device_with_host_memory_made_by_another() -> None:
    with pair(SPEC, devices=2) as made:
        exporter, importer = made.driver, made.connect("importer")
        context, there = exporter.create_context(), importer.create_context()
        va = context.virtual_mem_reserve(2 * PAGE)
        host = context.physical_mem_create(exporter.devices[0], ze.PhysicalMemDesc(PAGE, HOST))
        own = context.physical_mem_create(exporter.devices[1], ze.PhysicalMemDesc(PAGE))
        context.virtual_mem_map(va, PAGE, host)
        context.virtual_mem_map(va + PAGE, PAGE, own)
        context.host_view(va, 4)[:] = b"host"
        context.memory_write(va + PAGE, b"vram")
        window = [ze.IpcPhysMemHandleRangeExtDesc(2 * PAGE)]

        handle = context.mem_get_ipc_handle_with_properties(va, window)
        pointer = there.mem_open_ipc_handle(importer.devices[1], handle)

        assert there.memory_read(pointer + PAGE, 4) == b"vram"
        assert bytes(there.host_view(pointer, 4)) == b"host"
        there.mem_close_ipc_handle(pointer)
        other = context.physical_mem_create(exporter.devices[0], ze.PhysicalMemDesc(PAGE))
        third = context.virtual_mem_reserve(PAGE, start=va + 2 * PAGE)
        assert third == va + 2 * PAGE
        context.virtual_mem_map(third, PAGE, other)
        with fails("INVALID_ARGUMENT", "more than one device"):
            context.mem_get_ipc_handle_with_properties(
                va, [ze.IpcPhysMemHandleRangeExtDesc(3 * PAGE)]
            )
