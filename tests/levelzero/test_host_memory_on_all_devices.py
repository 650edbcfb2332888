"""Physical host memory of a process with several devices: each of them reaches it."""

from dataclasses import replace

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.levelzero import HOST, PAGE, fails

SPEC = DeviceSpec(vram_size=64 << 20)
FULL = replace(SPEC, max_objects=1)
"""A device that takes one object, which the driver's staging memory may be."""


def host_memory(context: ze.Context, device: ze.Device) -> tuple[int, ze.PhysicalMem]:
    va = context.virtual_mem_reserve(2 * PAGE)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(2 * PAGE, HOST))
    context.virtual_mem_map(va, 2 * PAGE, physical)
    return va, physical


def test_every_device_copies_from_and_to_it() -> None:
    with pair(SPEC, devices=2) as p, p.driver.create_context() as context:
        first, second = p.driver.devices
        va, physical = host_memory(context, first)
        view = context.host_view(va, 8)
        view[:] = b"by a cpu"
        memories = [context.mem_alloc_device(device, PAGE) for device in (first, second)]
        for memory in memories:
            context.memory_copy(memory, va, 8)
            context.memory_copy(va + PAGE, memory, 8)
            assert bytes(context.host_view(va + PAGE, 8)) == b"by a cpu"
            context.mem_free(memory)

        context.virtual_mem_free(va, 2 * PAGE)
        context.physical_mem_destroy(physical)
        p.assert_nothing_left()


def test_access_is_changed_on_every_device() -> None:
    with pair(SPEC, devices=2) as p, p.driver.create_context() as context:
        first, second = p.driver.devices
        va, _ = host_memory(context, first)
        context.virtual_mem_set_access_attribute(va, 2 * PAGE, ze.MemoryAccessAttribute.READONLY)
        for device in (first, second):
            memory = context.mem_alloc_device(device, PAGE)
            context.memory_copy(memory, va, 8)
            with fails("DEVICE_LOST", f"{va:#x}"):
                context.memory_copy(va, memory, 8)
            context.mem_free(memory)


def test_unmapping_takes_it_from_every_device() -> None:
    with pair(SPEC, devices=2) as p, p.driver.create_context() as context:
        before = [p.statistics(number).mapped_pages for number in range(2)]
        va, _ = host_memory(context, p.driver.devices[1])
        during = [p.statistics(number).mapped_pages for number in range(2)]
        context.virtual_mem_unmap(va, 2 * PAGE)

        assert [now - then for now, then in zip(during, before, strict=True)] == [32, 32]
        assert [p.statistics(number).mapped_pages for number in range(2)] == before


@pytest.mark.parametrize("owner", [0, 1])
def test_a_device_that_has_no_room_for_it_leaves_nothing(owner: int) -> None:
    specs = [SPEC, SPEC]
    specs[1 - owner] = FULL
    with pair(specs) as p, p.driver.create_context() as context:
        other = context.mem_alloc_device(p.driver.devices[1 - owner], PAGE)
        with fails("OUT_OF_DEVICE_MEMORY", "on every device"):
            host_memory(context, p.driver.devices[owner])

        context.mem_free(other)
        (state,) = (p.driver._process.current().state,)
        for entry in list(state.reservations):
            context.virtual_mem_free(entry.start, 2 * PAGE)
        p.assert_nothing_left()


def test_an_exported_one_is_opened_on_the_device_that_made_it() -> None:
    with pair(SPEC, devices=2) as p, p.driver.create_context() as context:
        va, _ = host_memory(context, p.driver.devices[1])
        context.memory_write(va, b"shared")
        other = p.connect()
        importer = other.create_context()
        pointer = importer.mem_open_ipc_handle(other.devices[1], context.mem_get_ipc_handle(va))

        assert importer.memory_read(pointer, 6) == b"shared"
