"""Device memory whose handle carries it: a program maps the descriptor, its allocation alone."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.levelzero import PAGE, fails

SPEC = 'vram_size = "64 MiB"\n'


def spec_of(text: str) -> DeviceSpec:
    return DeviceSpec.from_toml(SPEC + text)


@pytest.fixture(name="made", scope="module")
def make_pair() -> Iterator[Pair]:
    with pair(spec_of('mappable_handles = "always"')) as made:
        yield made


@pytest.fixture(name="device")
def get_device(made: Pair) -> ze.Device:
    return made.driver.devices[0]


@pytest.fixture(name="context")
def make_context(made: Pair) -> Iterator[ze.Context]:
    with made.driver.create_context() as context:
        yield context
    made.assert_nothing_left()


@contextmanager
def mapped(handle: bytes) -> Iterator[mmap.mmap]:
    """Map what the descriptor in a handle is, all of it."""
    with mmap.mmap(descriptor_in(handle), 0, mmap.MAP_SHARED) as view:
        yield view


def descriptor_in(handle: bytes) -> int:
    return int.from_bytes(handle[:4], "little")


def test_cpu_and_device_see_each_others_stores_in_the_mapped_allocation(
    context: ze.Context, device: ze.Device
) -> None:
    pointer = context.mem_alloc_device(device, 3 * PAGE)
    context.memory_write(pointer + PAGE, b"from the device")

    with mapped(context.mem_get_ipc_handle(pointer)) as view:
        assert view[PAGE : PAGE + 15] == b"from the device"
        view[:12] = b"from the CPU"
        assert context.memory_read(pointer, 12) == b"from the CPU"

    context.mem_free(pointer)


def test_a_handle_reaches_its_own_allocation_alone(context: ze.Context, device: ze.Device) -> None:
    mine, other = (context.mem_alloc_device(device, PAGE) for _ in range(2))
    context.memory_fill(other, b"s", PAGE)

    with mapped(context.mem_get_ipc_handle(mine)) as view:
        assert len(view) == PAGE
        assert not any(view[:])

    for pointer in (mine, other):
        context.mem_free(pointer)


def test_another_program_opens_it_by_its_descriptor_and_by_its_bytes(
    made: Pair, context: ze.Context, device: ze.Device
) -> None:
    pointer = context.mem_alloc_device(device, 2 * PAGE)
    context.memory_write(pointer, b"shared")
    handle = context.mem_get_ipc_handle(pointer)
    received = os.dup(descriptor_in(handle))

    with made.connect("importer") as other, other.create_context() as theirs:
        for told in (handle, received.to_bytes(4, "little") + bytes(60)):
            opened = theirs.mem_open_ipc_handle(other.devices[0], told)
            assert theirs.memory_read(opened, 6) == b"shared"
            with fails("INVALID_ARGUMENT", "out of the CPU's reach"):
                theirs.host_view(opened, 6)
            theirs.mem_close_ipc_handle(opened)

    os.close(received)
    context.mem_put_ipc_handle(handle)
    context.mem_free(pointer)


def test_it_is_device_memory_by_every_count(
    made: Pair, context: ze.Context, device: ze.Device
) -> None:
    before = made.statistics().free_bytes

    pointer = context.mem_alloc_device(device, 16 * PAGE)
    assert before - made.statistics().free_bytes >= 16 * PAGE
    properties = context.mem_get_alloc_properties(pointer)
    assert (properties.type, properties.device) == (ze.MemoryType.DEVICE, device)
    with fails("OUT_OF_DEVICE_MEMORY"):
        context.mem_alloc_device(device, 64 << 20)
    with fails("INVALID_ARGUMENT", "out of the CPU's reach"):
        context.host_view(pointer, 1)
    context.mem_free(pointer)
    assert made.statistics().free_bytes == before


@pytest.mark.decision("C39")
@pytest.mark.decision("C39", profile="intel")
@pytest.mark.parametrize(
    ("text", "carries"),
    [
        ("", False),
        ('profile = "intel"', True),
        ('mappable_handles = "always"', True),
        ('mappable_handles = "never"\nprofile = "intel"', False),
    ],
)
def test_the_specification_says_whether_handles_carry_memory(text: str, carries: bool) -> None:
    with pair(spec_of(text)) as made, made.driver.create_context() as context:
        pointer = context.mem_alloc_device(made.driver.devices[0], PAGE)
        context.memory_fill(pointer, b"m", PAGE)

        file = descriptor_in(context.mem_get_ipc_handle(pointer))
        assert (os.pread(file, 2 * PAGE, 0) == b"m" * PAGE) is carries

        context.mem_free(pointer)
