"""What a pointer names: allocations, mapped and opened memory, and what is not the driver's."""

from typing import Literal

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.levelzero import fails

KIB, MIB = 1 << 10, 1 << 20
Type = ze.MemoryType


def test_pointer_into_an_allocation_tells_kind_number_page_and_device(
    context: ze.Context, device: ze.Device
) -> None:
    on_device = context.mem_alloc_device(device, 100)
    large = context.mem_alloc_device(device, 2 * MIB)
    host = context.mem_alloc_host(100)
    shared = context.mem_alloc_shared(100)
    bound = context.mem_alloc_shared(100, device=device)
    found = [
        context.mem_get_alloc_properties(pointer + 99)
        for pointer in (on_device, large, host, shared, bound)
    ]

    assert [(item.type, item.page_size, item.device) for item in found] == [
        (Type.DEVICE, 64 * KIB, device),
        (Type.DEVICE, 2 * MIB, device),
        (Type.HOST, 4 * KIB, None),
        (Type.SHARED, 4 * KIB, None),
        (Type.SHARED, 4 * KIB, device),
    ]
    assert len({item.id for item in found}) == len(found)
    assert 0 not in {item.id for item in found}


@pytest.mark.error("MemGetAllocProperties", "NP")
@pytest.mark.case("A09")
def test_foreign_pointer_is_unknown_and_has_no_range(context: ze.Context) -> None:
    own = bytearray(100)
    pointer = context.mem_alloc_host(100)

    for foreign in (id(own), 0x1234, (1 << 64) - 1, pointer + 100):
        assert context.mem_get_alloc_properties(foreign) == ze.MemoryAllocationProperties(
            type=Type.UNKNOWN, id=0, page_size=0
        )
        with fails("ADDRESS_NOT_FOUND"):
            context.mem_get_address_range(foreign)
    with fails("INVALID_NULL_POINTER"):
        context.mem_get_alloc_properties(None)


@pytest.mark.case("I12")
def test_number_is_never_used_again_whatever_the_address(
    context: ze.Context, device: ze.Device
) -> None:
    seen: dict[int, int] = {}
    for size in (100, 2 * MIB):
        for _ in range(5):
            pointer = context.mem_alloc_device(device, size)
            number = context.mem_get_alloc_properties(pointer).id
            assert number not in seen.values()
            seen[pointer] = number
            context.mem_free(pointer)
    assert len(seen) < 10  # addresses were used again


@pytest.mark.case("A08")
def test_freeing_one_allocation_leaves_the_others_as_they_were(
    context: ze.Context, device: ze.Device
) -> None:
    pointers = [context.mem_alloc_device(device, 100) for _ in range(3)]
    pointers += [context.mem_alloc_host(100) for _ in range(3)]
    pointers += [context.mem_alloc_shared(100) for _ in range(3)]
    before = [
        (context.mem_get_alloc_properties(p), context.mem_get_address_range(p)) for p in pointers
    ]

    for gone in (1, 3, 4, 8):
        context.mem_free(pointers[gone])

    left = [index for index in range(9) if index not in (1, 3, 4, 8)]
    for index in left:
        pointer = pointers[index]
        assert context.mem_get_alloc_properties(pointer) == before[index][0]
        assert context.mem_get_address_range(pointer + 50) == before[index][1]


@pytest.mark.decision("C32b", profile="both")
@pytest.mark.parametrize("profile", ["spec", "intel"])
def test_reserved_pointer_tells_its_physical_memory_or_the_reservation(
    profile: Literal["spec", "intel"],
) -> None:
    with pair(DeviceSpec(vram_size=64 << 20), profile=profile) as world:
        context, device = world.driver.create_context(), world.driver.devices[0]
        page = 64 * KIB
        va = context.virtual_mem_reserve(4 * page)
        desc = ze.PhysicalMemDesc(page, ze.PhysicalMemFlags.ALLOCATE_ON_HOST)
        host = context.physical_mem_create(device, desc)
        plain = context.physical_mem_create(device, ze.PhysicalMemDesc(page))
        context.virtual_mem_map(va, page, host)
        context.virtual_mem_map(va + page, page, plain)
        one, two, none = (context.mem_get_alloc_properties(va + n * page + 5) for n in range(3))

        if profile == "spec":
            assert (one.type, one.id) == (Type.HOST, context.physical_mem_get_properties(host).id)
            assert (two.type, two.id) == (
                Type.DEVICE,
                context.physical_mem_get_properties(plain).id,
            )
            assert two.device is device
            assert none.type is Type.UNKNOWN
        else:
            assert one == two == none
            assert one.type is Type.DEVICE
            assert one.id
        context.virtual_mem_unmap(va, 2 * page)


@pytest.mark.decision("C37", profile="both")
@pytest.mark.parametrize("profile", ["spec", "intel"])
def test_opened_pointer_is_told_and_freed_by_profile(profile: Literal["spec", "intel"]) -> None:
    with pair(DeviceSpec(vram_size=64 << 20), profile=profile) as world:
        exporter, importer = world.driver.create_context(), world.connect().create_context()
        page = 64 * KIB
        va = exporter.virtual_mem_reserve(page)
        physical = exporter.physical_mem_create(
            exporter.driver.devices[0], ze.PhysicalMemDesc(page)
        )
        exporter.virtual_mem_map(va, page, physical)
        handle = exporter.mem_get_ipc_handle(va)
        device = importer.driver.devices[0]
        pointer, other = (importer.mem_open_ipc_handle(device, handle) for _ in range(2))

        first, second = map(importer.mem_get_alloc_properties, (pointer, other))
        assert first.type is second.type is Type.DEVICE
        assert first.device is device
        assert first.id != second.id
        if profile == "spec":
            with fails("INVALID_ARGUMENT"):
                importer.mem_free(pointer)
            assert importer.memory_read(pointer, 1) == b"\0"
            importer.mem_close_ipc_handle(pointer)
        else:
            importer.mem_free(pointer)
        assert importer.mem_get_alloc_properties(pointer).type is Type.UNKNOWN
        importer.mem_close_ipc_handle(other)
