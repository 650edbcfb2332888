"""The application's own memory as an allocation: taken away, overlapping, refused, and its cost."""

import pytest

from firmware.abi.ids import PAGE_SIZE
from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair
from tests.harness.application_memory import (
    bring,
    brought,
    heap,
    mapped,
    peek,
    take_away,
)
from tests.harness.levelzero import fails

MIB = 1 << 20


# --- memory that goes too early ----------------------------------------------------------------


@pytest.mark.sentence("MEMMAP-18")
@pytest.mark.case("H07")
def test_memory_taken_away_too_early_is_told_at_the_next_access_and_at_free(
    spec: Pair, strict: ze.Context
) -> None:
    with mapped(8 * PAGE_SIZE) as area:
        pointer = bring(strict, area, 8 * PAGE_SIZE)
        gone = area + 3 * PAGE_SIZE
        take_away(gone, PAGE_SIZE)
        into = bytearray(8 * PAGE_SIZE)

        with fails("DEVICE_LOST", "read", f"{gone:#x}", "gone or protected"):
            strict.memory_read_into(pointer, into)
        with fails("DEVICE_LOST", "write", f"{gone:#x}", "gone or protected"):
            strict.memory_fill(pointer, b"\7", 8 * PAGE_SIZE)

        # What stands before the hole was done, what is behind it not.
        assert peek(gone - 1, 1) == b"\7"
        assert peek(gone + PAGE_SIZE, 1) == b"\0"
        strict.mem_free(pointer)
        told = spec.driver.get_last_error_description()
        assert f"{gone:#x}" in told
        assert f"{area:#x}" in told
        assert "took its memory" in told


def test_freeing_memory_that_is_there_tells_nothing(spec: Pair, strict: ze.Context) -> None:
    with fails("INVALID_NULL_POINTER"):
        strict.mem_free(None)
    before = spec.driver.get_last_error_description()
    with heap(PAGE_SIZE) as buffer:
        strict.mem_free(bring(strict, buffer, PAGE_SIZE))

    assert spec.driver.get_last_error_description() == before


# --- overlap -----------------------------------------------------------------------------------


@pytest.mark.sentence("MEMMAP-19")
@pytest.mark.decision("C21")
@pytest.mark.case("H07")
@pytest.mark.parametrize(("shift", "pages"), [(0, 4), (0, 1), (3, 4), (1, 2), (-1, 2), (-1, 6)])
def test_a_second_import_that_overlaps_is_refused(
    strict: ze.Context, shift: int, pages: int
) -> None:
    with mapped(8 * PAGE_SIZE) as area:
        middle = area + 2 * PAGE_SIZE
        with brought(strict, middle, 4 * PAGE_SIZE) as pointer:
            with fails("INVALID_ARGUMENT", "overlap", "allocation of this driver"):
                bring(strict, middle + shift * PAGE_SIZE, pages * PAGE_SIZE)
            strict.memory_fill(pointer, b"z", 4 * PAGE_SIZE)


def test_neighbours_do_not_overlap(strict: ze.Context) -> None:
    with mapped(3 * PAGE_SIZE) as area:
        with (
            brought(strict, area + PAGE_SIZE, PAGE_SIZE),
            brought(strict, area, PAGE_SIZE) as first,
            brought(strict, area + 2 * PAGE_SIZE, PAGE_SIZE),
        ):
            strict.memory_fill(first, b"abc_def_", 3 * PAGE_SIZE)
        assert peek(area + 3 * PAGE_SIZE - 8, 8) == b"abc_def_"


@pytest.mark.sentence("MEMMAP-21")
@pytest.mark.decision("C21", profile="intel")
@pytest.mark.parametrize("first_freed", [0, 1])
def test_with_intel_freeing_one_of_two_takes_the_common_pages_from_the_other(
    intel_pair: Pair, loose: ze.Context, first_freed: int
) -> None:
    with mapped(6 * PAGE_SIZE) as area:
        pointers = [
            bring(loose, area, 4 * PAGE_SIZE),
            bring(loose, area + 2 * PAGE_SIZE, 4 * PAGE_SIZE),
        ]
        loose.memory_fill(area, b"all_six_", 6 * PAGE_SIZE)
        kept = pointers.pop(1 - first_freed)
        own = area if kept == area else area + 4 * PAGE_SIZE

        loose.mem_free(pointers[0])

        assert loose.mem_get_address_range(kept) == (kept, 4 * PAGE_SIZE)
        loose.memory_fill(own, b"own_part", 2 * PAGE_SIZE)
        with fails("DEVICE_LOST", f"{area + 2 * PAGE_SIZE:#x}", "nothing is mapped there"):
            loose.memory_fill(area + 2 * PAGE_SIZE, b"x", 8)
        assert peek(area + 2 * PAGE_SIZE, 8) == b"all_six_"
        loose.mem_free(kept)
        intel_pair.check()


@pytest.mark.decision("C21", profile="intel")
def test_with_intel_the_same_memory_may_be_imported_twice_and_freed_twice(
    loose: ze.Context,
) -> None:
    with heap(2 * PAGE_SIZE) as buffer:
        for _ in range(2):
            assert bring(loose, buffer, 2 * PAGE_SIZE) == buffer
        loose.memory_fill(buffer, b"q", 2 * PAGE_SIZE)
        for _ in range(2):
            loose.mem_free(buffer)
        with fails("INVALID_ARGUMENT"):
            loose.mem_free(buffer)


@pytest.mark.case("H03")
def test_a_small_import_that_was_freed_does_not_shorten_a_larger_one(strict: ze.Context) -> None:
    with mapped(4 * PAGE_SIZE) as area:
        with brought(strict, area, PAGE_SIZE) as pointer:
            strict.memory_fill(pointer, b"1", PAGE_SIZE)
        with brought(strict, area, 4 * PAGE_SIZE) as pointer:
            strict.memory_fill(pointer + 3 * PAGE_SIZE, b"4", PAGE_SIZE)
        assert peek(area + 3 * PAGE_SIZE, PAGE_SIZE) == b"4" * PAGE_SIZE


# --- other allocations, other processes --------------------------------------------------------


@pytest.mark.sentence("MEMMAP-26")
@pytest.mark.sentence("MEMMAP-27")
@pytest.mark.decision("C23")
@pytest.mark.case("H07")
def test_device_and_shared_memory_do_not_take_the_descriptor(
    spec: Pair, strict: ze.Context
) -> None:
    device = spec.driver.devices[0]
    with heap(PAGE_SIZE) as buffer:
        chain = [ze.ExternalMemmapSysmemExtDesc(buffer, PAGE_SIZE)]
        on_device, on_host = ze.DeviceMemAllocDesc(p_next=chain), ze.HostMemAllocDesc(p_next=chain)
        with fails("INVALID_ARGUMENT", "host allocations alone"):
            strict.mem_alloc_device(device, PAGE_SIZE, desc=on_device)
        with fails("INVALID_ARGUMENT", "host allocations alone"):
            strict.mem_alloc_shared(PAGE_SIZE, device=device, device_desc=on_device)
        with fails("INVALID_ARGUMENT", "host allocations alone"):
            strict.mem_alloc_shared(PAGE_SIZE, device=device, host_desc=on_host)


@pytest.mark.decision("C23", profile="intel")
def test_with_intel_device_and_shared_memory_ignore_the_descriptor(
    intel_pair: Pair, loose: ze.Context
) -> None:
    device = intel_pair.driver.devices[0]
    with heap(PAGE_SIZE) as buffer:
        chain = [ze.ExternalMemmapSysmemExtDesc(buffer, PAGE_SIZE)]
        on_device = ze.DeviceMemAllocDesc(p_next=chain)
        pointers = [
            loose.mem_alloc_device(device, PAGE_SIZE, desc=on_device),
            loose.mem_alloc_shared(PAGE_SIZE, device=device, device_desc=on_device),
        ]
        assert "ignored" in intel_pair.driver.get_last_error_description()
        assert buffer not in pointers
        for pointer in pointers:
            loose.mem_free(pointer)


def test_imported_memory_cannot_be_exported(strict: ze.Context) -> None:
    with (
        heap(PAGE_SIZE) as buffer,
        brought(strict, buffer, PAGE_SIZE) as pointer,
        fails("INVALID_ARGUMENT", f"{buffer:#x}"),
    ):
        strict.mem_get_ipc_handle(pointer)


def test_large_memory_needs_no_more_page_tables_than_small(spec: Pair, strict: ze.Context) -> None:
    with mapped(256 * MIB, offset=3 * PAGE_SIZE) as area:
        before = spec.statistics().free_bytes
        with brought(strict, area, 256 * MIB) as pointer:
            assert before - spec.statistics().free_bytes <= 5 * PAGE_SIZE
            strict.memory_copy(pointer, pointer + 200 * MIB, MIB)


def test_every_device_reaches_the_memory() -> None:
    with (
        pair(devices=2) as p,
        p.driver.create_context() as context,
        mapped(4 * PAGE_SIZE) as area,
    ):
        with brought(context, area, 4 * PAGE_SIZE) as pointer:
            for number, device in enumerate(p.driver.devices):
                memory = context.mem_alloc_device(device, PAGE_SIZE)
                context.memory_fill(memory, b"device %d" % number, PAGE_SIZE)
                context.memory_copy(pointer + number * PAGE_SIZE, memory, PAGE_SIZE)
                context.mem_free(memory)
                assert peek(area + number * PAGE_SIZE, 8) == b"device %d" % number
        p.assert_nothing_left()


@pytest.mark.sentence("MEMMAP-23")
@pytest.mark.decision("C16")
@pytest.mark.case("H04")
def test_the_memory_is_imported_host_memory(strict: ze.Context) -> None:
    with heap(PAGE_SIZE) as buffer, brought(strict, buffer, PAGE_SIZE) as pointer:
        found = strict.mem_get_alloc_properties(pointer + 5)
    assert (found.type, found.page_size) == (ze.MemoryType.HOST_IMPORTED, PAGE_SIZE)


@pytest.mark.decision("C16", profile="intel")
def test_with_intel_the_memory_is_host_memory(loose: ze.Context) -> None:
    with heap(PAGE_SIZE) as buffer, brought(loose, buffer, PAGE_SIZE) as pointer:
        assert loose.mem_get_alloc_properties(pointer).type is ze.MemoryType.HOST
