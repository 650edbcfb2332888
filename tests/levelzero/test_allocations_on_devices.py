"""Host and shared memory is one memory for every device of a process, at one pointer."""

from collections.abc import Generator

import pytest

from hostdriver import levelzero as ze
from hostdriver.core import copies
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.levelzero import fails

SIZE = 100_000


@pytest.fixture(name="world")
def make_world() -> Generator[Pair]:
    with pair(DeviceSpec(vram_size=64 << 20), devices=3) as world:
        yield world


def fill_by(world: Pair, index: int, pointer: int, value: bytes, size: int) -> None:
    """Let one device fill memory."""

    async def fill(state: DriverState) -> None:
        await copies.fill(state, state.devices[index], pointer, value, size)

    world.driver.run(fill)


@pytest.mark.parametrize("kind", ["host", "shared"])
def test_every_device_and_the_cpu_see_each_others_stores(
    world: Pair, context: ze.Context, kind: str
) -> None:
    device = world.driver.devices[1]
    if kind == "host":
        pointer = context.mem_alloc_host(SIZE)
    else:
        pointer = context.mem_alloc_shared(SIZE, device=device)
    view = context.host_view(pointer, SIZE)

    for index in range(3):
        fill_by(world, index, pointer + 1000 * index, bytes([65 + index]), 1000)

    assert bytes(view[:3000]) == b"A" * 1000 + b"B" * 1000 + b"C" * 1000
    view.release()
    context.mem_free(pointer)
    for index in range(3):
        with fails("DEVICE_LOST", f"{pointer:#x}"):
            fill_by(world, index, pointer, b"x", 8)
    world.check()
    world.assert_nothing_left()


def test_device_memory_is_on_its_device_alone(world: Pair, context: ze.Context) -> None:
    pointer = context.mem_alloc_device(world.driver.devices[2], SIZE)

    fill_by(world, 2, pointer, b"x", SIZE)
    for index in (0, 1):
        with fails("DEVICE_LOST"):
            fill_by(world, index, pointer, b"x", 8)

    assert context.mem_get_alloc_properties(pointer).device is world.driver.devices[2]
    context.mem_free(pointer)
    world.assert_nothing_left()


def test_read_only_memory_is_read_only_to_every_device(world: Pair, context: ze.Context) -> None:
    desc = ze.HostMemAllocDesc(ze.HostMemAllocFlags.MEM_READ_ONLY)
    pointer = context.mem_alloc_host(SIZE, desc=desc)
    context.host_view(pointer, 5)[:] = b"hello"

    assert context.memory_read(pointer, 5) == b"hello"
    for index in range(3):
        with fails("DEVICE_LOST"):
            fill_by(world, index, pointer, b"x", 8)


def test_device_that_has_no_room_for_tables_leaves_nothing(world: Pair) -> None:
    context = world.driver.create_context()
    full = world.driver.devices[1]
    before = world.statistics(0).object_count
    while True:
        try:
            context.mem_alloc_device(full, 64 << 10)
        except ze.ZeError:
            break
    files = world.statistics(0).object_count
    # Far from everything that is mapped, so that new tables are needed.
    with fails("OUT_OF_DEVICE_MEMORY"):
        for _ in range(64):
            context.mem_alloc_host(4096, alignment=8 << 30)

    after = world.statistics(0).object_count
    assert files == before
    assert after - before == held(world)
    world.check()


def held(world: Pair) -> int:
    """Return how many host allocations there are."""

    async def count(state: DriverState) -> int:
        return sum(entry.value.is_host_visible for entry in state.allocations)

    return world.driver.run(count)
