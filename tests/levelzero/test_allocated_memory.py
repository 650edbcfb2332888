"""Allocated memory on a real emulator: who sees which bytes, and what it costs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.levelzero import fails

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator"), vram_size=1 * GIB) as process:
        yield process


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    with ze.connect(emulator.path, start=None) as driver:
        yield driver


@pytest.mark.parametrize("kind", ["host", "shared"])
def test_cpu_and_device_see_each_others_stores_at_one_pointer(
    context: ze.Context, kind: str
) -> None:
    allocate = context.mem_alloc_host if kind == "host" else context.mem_alloc_shared
    pointer = allocate(100_000)
    view = context.host_view(pointer, 100_000)
    numbers = np.frombuffer(view, np.uint8)

    assert numbers.ctypes.data == pointer
    assert not numbers.any()
    view[5:10] = b"hello"
    context.memory_copy(pointer + 99_995, pointer + 5, 5)
    assert bytes(view[-5:]) == b"hello"
    del numbers, view
    context.mem_free(pointer)


@pytest.mark.parametrize("size", [1, 3 * KIB, 64 * KIB, 2 * MIB - 1, 2 * MIB, 3 * MIB, 70 * MIB])
def test_device_memory_holds_what_was_written(
    context: ze.Context, device: ze.Device, emulator: EmulatorProcess, size: int
) -> None:
    free = emulator.audit().free_bytes
    pointer = context.mem_alloc_device(device, size)
    context.memory_fill(pointer, b"\x5a", size)

    assert context.memory_read(pointer + size - 1, 1) == b"\x5a"
    assert context.mem_get_address_range(pointer + size - 1) == (pointer, size)
    with fails("INVALID_ARGUMENT", "CPU"):
        context.host_view(pointer, size)
    context.mem_free(pointer)
    assert free - emulator.audit().free_bytes <= 5 * 4096  # tables are kept for the next mapping


def test_freed_pointer_is_not_mapped_any_more(context: ze.Context) -> None:
    pointer = context.mem_alloc_host(4096)
    assert context.memory_read(pointer, 1) == b"\0"  # the driver's own memory has its place now
    context.mem_free(pointer)

    with fails("DEVICE_LOST", f"{pointer:#x}"):
        context.memory_read(pointer, 1)
    with fails("ADDRESS_NOT_FOUND"):
        context.host_view(pointer, 1)


@pytest.mark.sentence("FREE-08")
def test_many_threads_allocate_and_free_at_once(
    context: ze.Context, device: ze.Device, emulator: EmulatorProcess
) -> None:
    before = emulator.audit().objects
    policies = [ze.MemoryFreeExtDesc(ze.DriverMemoryFreePolicyExtFlags(n)) for n in range(3)]

    def work(number: int) -> None:
        for round_ in range(12):
            size = 1000 * (number + 1)
            pointers = [
                context.mem_alloc_device(device, size),
                context.mem_alloc_host(size),
                context.mem_alloc_shared(size),
            ]
            mark = bytes([number + 1, round_])
            for pointer in pointers:
                context.memory_write(pointer + size - 2, mark)
            for pointer, desc in zip(pointers, policies, strict=True):
                assert context.memory_read(pointer + size - 2, 2) == mark
                context.mem_free_ext(desc, pointer)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))

    # What is left is what the driver copies with.
    assert emulator.audit().objects - before <= 6
