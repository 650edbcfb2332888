"""The application's own memory as a host allocation: its very pages, at their own address."""

import pytest

from firmware.abi.ids import PAGE_SIZE
from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair
from tests.harness.application_memory import (
    bring,
    brought,
    heap,
    mapped,
    peek,
    poke,
    read_only_page,
    stack_page,
    static_page,
    take_away,
)
from tests.harness.levelzero import fails

MIB = 1 << 20
READ_ONLY = ze.HostMemAllocFlags.MEM_READ_ONLY
both_profiles = pytest.mark.parametrize("profile", ["spec", "intel"])


@pytest.mark.sentence("MEMMAP-01")
@pytest.mark.sentence("MEMMAP-05")
@pytest.mark.sentence("MEMMAP-06")
@pytest.mark.sentence("MEMMAP-07")
@pytest.mark.sentence("MEMMAP-24")
@pytest.mark.sentence("MEMMAP-28")
@pytest.mark.case("H04")
def test_device_and_cpu_see_each_others_stores_in_memory_of_the_heap(strict: ze.Context) -> None:
    with heap(8 * PAGE_SIZE) as buffer:
        pointer = bring(strict, buffer, 8 * PAGE_SIZE, alignment=PAGE_SIZE)
        assert pointer == buffer
        poke(buffer, b"by the CPU")

        assert strict.memory_read(pointer, 10) == b"by the CPU"
        strict.memory_write(pointer + 5 * PAGE_SIZE + 1, b"by the device")
        assert peek(buffer + 5 * PAGE_SIZE + 1, 13) == b"by the device"

        # Stores on either side after the first look, so that a copy would show.
        poke(buffer, b"again")
        strict.memory_copy(pointer + 100, pointer, 5)
        assert peek(buffer + 100, 5) == b"again"
        assert strict.mem_get_address_range(pointer + 77) == (buffer, 8 * PAGE_SIZE)
        strict.mem_free(pointer)


@pytest.mark.sentence("MEMMAP-02")
def test_memory_of_the_stack(strict: ze.Context) -> None:
    page = stack_page()
    with brought(strict, page, PAGE_SIZE) as pointer:
        strict.memory_fill(pointer, b"stack!..", 64)
        assert peek(page, 64) == b"stack!.." * 8


@pytest.mark.sentence("MEMMAP-03")
def test_static_memory(strict: ze.Context) -> None:
    page = static_page()
    with brought(strict, page, PAGE_SIZE) as pointer, heap(PAGE_SIZE) as buffer:
        with brought(strict, buffer, PAGE_SIZE) as copy:
            strict.memory_copy(copy, pointer, 256)
        assert peek(buffer, 256) == peek(page, 256)


@pytest.mark.sentence("MEMMAP-04")
@pytest.mark.parametrize("offset", [0, 7 * PAGE_SIZE])
@pytest.mark.parametrize("size", [PAGE_SIZE, 16 * PAGE_SIZE, 5 * MIB])
def test_mapped_memory_however_it_is_placed(strict: ze.Context, size: int, offset: int) -> None:
    with mapped(size, offset=offset) as area, brought(strict, area, size) as pointer:
        poke(area + size - 4, b"last")
        strict.memory_copy(pointer, pointer + size - 4, 4)
        strict.memory_fill(pointer + size // 2, b"middle__", 8)

        assert peek(area, 4) == b"last"
        assert peek(area + size // 2, 8) == b"middle__"


@pytest.mark.sentence("MEMMAP-22")
@pytest.mark.sentence("MEMMAP-25")
@pytest.mark.sentence("MEMMAP-20")
def test_freeing_ends_the_device_s_access_and_leaves_the_bytes(strict: ze.Context) -> None:
    with heap(PAGE_SIZE) as buffer:
        pointer = bring(strict, buffer, PAGE_SIZE)
        strict.memory_write(pointer, b"stays")
        strict.mem_free(pointer)

        assert peek(buffer, 5) == b"stays"
        poke(buffer, b"still the program's")
        with fails("DEVICE_LOST", f"{buffer:#x}", "nothing is mapped there"):
            strict.memory_fill(pointer, b"\0", 8)
        with fails("INVALID_ARGUMENT", f"{buffer:#x}"):
            strict.mem_free(pointer)
        assert peek(buffer, 19) == b"still the program's"


# --- sizes and pointers ------------------------------------------------------------------------


@pytest.mark.sentence("MEMMAP-12")
@pytest.mark.sentence("MEMMAP-13")
@pytest.mark.sentence("MEMMAP-14")
@pytest.mark.decision("C1", profile="both")
@pytest.mark.decision("C2")
@pytest.mark.case("H01")
@pytest.mark.parametrize(
    ("shift", "size", "asked", "alignment", "error"),
    [
        (8, PAGE_SIZE, 1, 0, "INVALID_ARGUMENT"),
        (8, PAGE_SIZE, 1, PAGE_SIZE, "INVALID_ARGUMENT"),
        (0, PAGE_SIZE + 1, 1, 0, "UNSUPPORTED_SIZE"),
        (0, 0, 1, 0, "UNSUPPORTED_SIZE"),
        (0, PAGE_SIZE, 0, 0, "UNSUPPORTED_SIZE"),
        (0, PAGE_SIZE, PAGE_SIZE + 1, 0, "UNSUPPORTED_SIZE"),
        (0, PAGE_SIZE, 1, 3, "UNSUPPORTED_ALIGNMENT"),
        (PAGE_SIZE, PAGE_SIZE, 1, 2 * MIB, "UNSUPPORTED_ALIGNMENT"),
    ],
)
def test_crooked_requests_map_nothing(
    strict: ze.Context, shift: int, size: int, asked: int, alignment: int, error: str
) -> None:
    with mapped(4 * MIB) as area:
        start = -(-area >> 21 << 21) + shift
        with fails(error, "expected" if alignment != 2 * MIB else "alignment"):
            bring(strict, start, size, asked=asked, alignment=alignment)


@pytest.mark.decision("C1", profile="both")
@pytest.mark.decision("C2", profile="intel")
@pytest.mark.parametrize(
    ("shift", "size"), [(8, PAGE_SIZE), (0, PAGE_SIZE + 1), (0, 0), (1 << 63, 1 << 63)]
)
def test_with_intel_whatever_cannot_be_mapped_is_out_of_host_memory(
    loose: ze.Context, shift: int, size: int
) -> None:
    with heap(2 * PAGE_SIZE) as buffer, fails("OUT_OF_HOST_MEMORY"):
        bring(loose, buffer + shift, size, asked=PAGE_SIZE)


@pytest.mark.decision("C2")
def test_a_call_for_less_gets_all_of_the_descriptor(strict: ze.Context) -> None:
    with heap(4 * PAGE_SIZE) as buffer:
        pointer = bring(strict, buffer, 4 * PAGE_SIZE, asked=1)
        assert strict.mem_get_address_range(pointer) == (buffer, 4 * PAGE_SIZE)
        strict.memory_fill(pointer + 3 * PAGE_SIZE, b"x", PAGE_SIZE)
        strict.mem_free(pointer)


@pytest.mark.decision("C2", profile="intel")
@pytest.mark.parametrize("asked", [1, 1 << 40])
def test_with_intel_the_call_s_own_size_does_not_count(loose: ze.Context, asked: int) -> None:
    with heap(2 * PAGE_SIZE) as buffer:
        pointer = bring(loose, buffer, 2 * PAGE_SIZE, asked=asked, alignment=8 * MIB)
        assert loose.mem_get_address_range(pointer) == (buffer, 2 * PAGE_SIZE)
        loose.mem_free(pointer)


@pytest.mark.case("H01")
@pytest.mark.parametrize(
    ("address", "size"),
    [(0, PAGE_SIZE), (2**64 - PAGE_SIZE, 2 * PAGE_SIZE), (1 << 47, PAGE_SIZE), (1 << 63, 1 << 62)],
)
def test_addresses_that_no_memory_has(strict: ze.Context, address: int, size: int) -> None:
    with fails("INVALID_ARGUMENT"):
        bring(strict, address, size)


# --- what cannot be mapped ---------------------------------------------------------------------


@pytest.mark.sentence("MEMMAP-15")
def test_a_hole_is_named(strict: ze.Context) -> None:
    with mapped(4 * PAGE_SIZE) as area:
        take_away(area + 2 * PAGE_SIZE, PAGE_SIZE)
        with fails("INVALID_ARGUMENT", f"{area + 2 * PAGE_SIZE:#x}"):
            bring(strict, area, 4 * PAGE_SIZE)


@pytest.mark.sentence("MEMMAP-15")
@both_profiles
def test_memory_of_the_driver_is_no_system_memory(
    spec: Pair, intel_pair: Pair, profile: str
) -> None:
    used = spec if profile == "spec" else intel_pair
    context, device = used.driver.create_context(), used.driver.devices[0]
    error = "INVALID_ARGUMENT" if profile == "spec" else "OUT_OF_HOST_MEMORY"
    pointers = [
        context.mem_alloc_device(device, MIB),
        context.mem_alloc_host(MIB),
        context.virtual_mem_reserve(MIB),
        context.virtual_mem_reserve(MIB, 0x1234_0000_0000),
    ]
    for pointer in pointers:
        with fails(error, f"{pointer:#x}"):
            bring(context, pointer, PAGE_SIZE)
    for pointer in pointers[2:]:
        context.virtual_mem_free(pointer, MIB)
    for pointer in pointers[:2]:
        context.mem_free(pointer)
    used.assert_nothing_left()


def test_a_process_may_do_without_it(spec: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "ZE_extension_external_memmap_sysmem"
    monkeypatch.setenv("EMUZERO_DISABLE_EXTENSIONS", name)
    with (
        spec.connect() as driver,
        driver.create_context() as context,
        heap(PAGE_SIZE) as buffer,
        fails("UNSUPPORTED_FEATURE", name),
    ):
        bring(context, buffer, PAGE_SIZE)


# --- read-only ---------------------------------------------------------------------------------


@pytest.mark.sentence("MEMMAP-16")
def test_memory_that_can_only_be_read_needs_the_flag(strict: ze.Context) -> None:
    constants = read_only_page()
    with mapped(2 * PAGE_SIZE, writable=False) as area:
        for address in (area, constants):
            with fails("INVALID_ARGUMENT", f"{address:#x}"):
                bring(strict, address, PAGE_SIZE)
            pointer = bring(strict, address, PAGE_SIZE, flags=READ_ONLY)
            assert strict.memory_read(pointer, PAGE_SIZE) == peek(address, PAGE_SIZE)
            strict.mem_free(pointer)


@pytest.mark.sentence("MEMMAP-17")
@pytest.mark.decision("C24", profile="both")
@both_profiles
def test_with_the_flag_the_device_does_not_write_memory_that_can_be_written(
    spec: Pair, intel_pair: Pair, profile: str
) -> None:
    used = spec if profile == "spec" else intel_pair
    with used.driver.create_context() as context, heap(PAGE_SIZE) as buffer:
        poke(buffer, b"before")
        pointer = bring(context, buffer, PAGE_SIZE, flags=READ_ONLY)

        with fails("DEVICE_LOST", "write", f"{buffer:#x}", "does not permit it"):
            context.memory_write(pointer, b"after")

        poke(buffer, b"CPU may")
        assert context.memory_read(pointer, 7) == b"CPU may"
        context.mem_free(pointer)
    used.assert_nothing_left()
