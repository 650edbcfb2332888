"""Copies between any memories mean what memmove means, and fault where the first byte fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from device.core.errors import InternalError, MemoryFault
from device.core.memory import Extent, Extents, FileWindow, MemoryController, PagesWindow
from device.core.memory.moves import LARGE, STEP
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.paging import Aperture
from tests.harness.memory import BUS, LOCAL, ClientPages, at, memory_of, pattern, scattered
from tests.harness.memory_oracle import CLIENT, World, extents_of


@given(
    data=st.data(),
    total=st.integers(0, 300),
    largest=st.sampled_from([4, 40, 300]),
    spread=st.sampled_from([20, 400, 4096]),
)
def test_copy_is_as_if_all_were_read_before_anything_is_written(
    data: st.DataObject, total: int, largest: int, spread: int
) -> None:
    world = World()
    destination = data.draw(extents_of(world, total, largest=largest, spread=spread))
    source = data.draw(extents_of(world, total, largest=largest, spread=spread))

    moved = world.memory.transfer(destination, source)

    assert moved == total
    world.expect_copy(destination, source)


@given(
    data=st.data(),
    total=st.integers(0, 300),
    chunk_bytes=st.integers(1, 320),
    spread=st.sampled_from([20, 400, 4096]),
)
def test_chunks_run_in_order_are_the_copy(
    data: st.DataObject, total: int, chunk_bytes: int, spread: int
) -> None:
    world = World()
    destination = data.draw(extents_of(world, total, largest=40, spread=spread))
    source = data.draw(extents_of(world, total, largest=40, spread=spread))

    chunks = world.memory.plan_chunks(destination, source, chunk_bytes)
    for chunk in chunks:
        chunk.run()

    assert [chunk.error for chunk in chunks] == [None] * len(chunks)
    assert sum(chunk.size for chunk in chunks) == total
    assert len(chunks) <= 1 or all(0 < chunk.size <= chunk_bytes for chunk in chunks)
    world.expect_copy(destination, source)


@pytest.mark.parametrize("size", [1, 1000, LARGE, 3 * STEP + 5])
@pytest.mark.parametrize("distance", [-STEP - 3, -4096, -1, 0, 1, 4096, STEP + 3, 4 * STEP])
def test_overlap_copies_as_memmove_does(size: int, distance: int) -> None:
    memory = memory_of(13 << 20 >> 12)
    start = 5 << 20
    data = pattern(size)
    memory.write(LOCAL, start, data)

    memory.transfer(at(start + distance, size), at(start, size))

    assert memory.read(LOCAL, start + distance, size) == data


@pytest.mark.parametrize("chunk_bytes", [1 << 16, 1 << 20, 3 << 20])
@pytest.mark.parametrize("distance", [-12345, -1, 1, 12345, 1 << 20])
def test_overlapping_copy_survives_being_cut_into_chunks(chunk_bytes: int, distance: int) -> None:
    memory = memory_of(7 << 20 >> 12)
    size, start = (3 << 20) + 77, 2 << 20
    data = pattern(size)
    memory.write(LOCAL, start, data)

    for chunk in memory.plan_chunks(at(start + distance, size), at(start, size), chunk_bytes):
        chunk.run()

    assert memory.read(LOCAL, start + distance, size) == data


def test_chunks_that_do_not_overlap_may_run_in_threads() -> None:
    memory = memory_of(8 << 20 >> 12)
    size = 4 << 20
    memory.write(LOCAL, 0, pattern(size))

    with ThreadPoolExecutor(4) as threads:
        for chunk in memory.plan_chunks(at(size, size), at(0, size), 1 << 18):
            threads.submit(chunk.run)

    assert memory.read(LOCAL, size, size) == pattern(size)


@pytest.mark.parametrize("distance", [-1, 1])
def test_frames_in_any_order_move_by_one_page_as_memmove_does(distance: int) -> None:
    memory = memory_of(64)
    frames = np.random.default_rng(5).permutation(64).tolist()
    data = [pattern(PAGE_SIZE, frame) for frame in range(63)]
    low, high = frames[:-1], frames[1:]
    source, target = (low, high) if distance > 0 else (high, low)
    for frame, content in zip(source, data, strict=True):
        memory.write(LOCAL, frame * PAGE_SIZE, content)

    into, out_of = (
        scattered((frame * PAGE_SIZE, PAGE_SIZE) for frame in side) for side in (target, source)
    )
    for chunk in memory.plan_chunks(into, out_of, 3 * PAGE_SIZE):
        chunk.run()

    assert [memory.read(LOCAL, frame * PAGE_SIZE, PAGE_SIZE) for frame in target] == data


def test_memory_mapped_twice_that_allows_no_order_takes_a_detour() -> None:
    memory = memory_of(4)
    memory.write(LOCAL, 0, pattern(2 * PAGE_SIZE))
    there = [(0, PAGE_SIZE), (PAGE_SIZE, PAGE_SIZE)]

    chunks = memory.plan_chunks(scattered(there), scattered(reversed(there)), 100)
    for chunk in chunks:
        chunk.run()

    assert len(chunks) == 1
    swapped = pattern(2 * PAGE_SIZE)[PAGE_SIZE:] + pattern(2 * PAGE_SIZE)[:PAGE_SIZE]
    assert memory.read(LOCAL, 0, 2 * PAGE_SIZE) == swapped


@pytest.mark.parametrize("null_first", [False, True])
def test_zeros_from_null_do_not_destroy_what_is_read(null_first: bool) -> None:
    memory = memory_of(1)
    memory.write(LOCAL, 0, b"\7" * 8)
    null, real = Extent(0, 8, 0, LOCAL, 3, null=True), Extent(0, 8, 0)
    source = Extents.of([null, real] if null_first else [real, null])
    target = scattered([(0, 8), (64, 8)] if null_first else [(64, 8), (0, 8)])

    memory.transfer(target, source)

    assert memory.read(LOCAL, 0, 72) == bytes(64) + b"\7" * 8


def test_search_for_an_order_is_bounded() -> None:
    # Each of the first half's stores overlaps each of the second half's loads.
    memory = memory_of(2)
    half = 2000
    memory.write(LOCAL, 0, pattern(4 * half))
    destination = scattered([(0, 1)] * half + [(half + byte, 1) for byte in range(half)])
    source = scattered([(2 * half + byte % 7, 1) for byte in range(half)] + [(0, 1)] * half)
    old = memory.read(LOCAL, 0, 1)

    memory.transfer(destination, source)

    assert memory.read(LOCAL, half, half) == old * half


@pytest.mark.parametrize("columns", [False, True])
def test_null_extents_read_as_zero_and_swallow_stores(columns: bool) -> None:
    memory = memory_of(2)
    memory.write(LOCAL, 0, b"\7" * PAGE_SIZE)
    count = 50 if columns else 2
    rows = [Extent(0, 8, 8 * index, LOCAL, 3, index % 2 == 1) for index in range(count)]
    size = 8 * count

    memory.transfer(at(PAGE_SIZE, size), Extents.of(rows))
    memory.transfer(Extents.of(rows), at(PAGE_SIZE + size, size))

    assert memory.read(LOCAL, PAGE_SIZE, size) == (b"\7" * 8 + bytes(8)) * (count // 2)
    assert memory.read(LOCAL, 0, size) == (bytes(8) + b"\7" * 8) * (count // 2)


def test_null_on_both_sides_moves_nothing() -> None:
    memory = memory_of(1)
    null = Extents.one(0, 1 << 40, 0, null=True)

    assert memory.transfer(null, null) == 1 << 40


def test_extents_of_different_sizes_are_an_internal_error() -> None:
    with pytest.raises(InternalError, match="copy of 0x9 bytes into 0x8 bytes"):
        memory_of(1).transfer(at(0, 8), at(8, 9))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("writing", [False, True])
@pytest.mark.parametrize("aperture", [LOCAL, BUS, Aperture.PEER.value])
def test_memory_that_does_not_exist_faults_before_anything_moves(
    aperture: int, writing: bool, many: bool
) -> None:
    memory = memory_of(1)
    memory.write(LOCAL, 0, pattern(PAGE_SIZE))
    missing = PAGE_SIZE if aperture == LOCAL else 0x9000
    pieces = [Extent(8 * index, 8, 16 * index) for index in range(1, 20 if many else 2)]
    bad = Extents.of([*pieces, Extent(0x5000, 8, missing, aperture)])
    good = at(2048, bad.total)
    before = memory.view.tobytes()

    with pytest.raises(MemoryFault) as fault:
        memory.transfer(bad, good) if writing else memory.transfer(good, bad)

    assert fault.value.reason is FaultReason.BAD_APERTURE
    assert fault.value.aperture == aperture
    assert (fault.value.address, fault.value.va) == (missing, 0x5000)
    assert fault.value.access is (Access.WRITE if writing else Access.READ)
    assert memory.view.tobytes() == before
    assert memory.statistics().traffic.bytes_written == PAGE_SIZE


@pytest.mark.case("D02")
@pytest.mark.parametrize("writing", [False, True])
def test_single_extent_that_leaves_memory_faults_at_the_first_byte_outside(writing: bool) -> None:
    memory = memory_of(2)
    bad, good = at(2 * PAGE_SIZE - 100, 200, va=0x7000), at(0, 200)

    with pytest.raises(MemoryFault) as fault:
        memory.transfer(bad, good) if writing else memory.transfer(good, bad)

    assert fault.value.address == 2 * PAGE_SIZE
    assert fault.value.va == 0x7000 + 100
    assert fault.value.access is (Access.WRITE if writing else Access.READ)


@pytest.mark.parametrize("split", [1, 3])
def test_read_only_window_refuses_stores(split: int) -> None:
    memory = memory_of(1)
    address = memory.bus.register(FileWindow(memoryview(bytes(64)), read_only=True), 1)
    target = scattered([(address + 8 * part, 8) for part in range(split)], va=64, aperture=BUS)

    with pytest.raises(MemoryFault) as fault:
        memory.transfer(target, at(0, 8 * split))
    memory.transfer(at(0, 8 * split), target)

    assert fault.value.reason is FaultReason.RIGHTS
    assert (fault.value.va, fault.value.access) == (64, Access.WRITE)


def client(size: int = 3 * PAGE_SIZE) -> tuple[MemoryController, ClientPages, int]:
    """Return a memory, a client's pages, and their bus address."""
    memory = memory_of(8)
    pages = ClientPages(CLIENT, size)
    pages.data[:] = pattern(size)
    return memory, pages, memory.bus.register(PagesWindow(pages, CLIENT, size), 1)


@pytest.mark.parametrize("writing", [False, True])
@pytest.mark.parametrize("way", ["one", "pieces", "chunk"])
def test_client_page_that_is_gone_faults_at_its_first_byte(writing: bool, way: str) -> None:
    memory, pages, bus = client()
    pages.gone.add((CLIENT + PAGE_SIZE) // PAGE_SIZE)
    remote, local = at(bus + 96, 2 * PAGE_SIZE, va=0x7060, aperture=BUS), at(0, 2 * PAGE_SIZE)
    if way == "pieces":
        remote = scattered(
            [(bus + 96, 96), (bus + 192, 2 * PAGE_SIZE - 96)], va=0x7060, aperture=BUS
        )
    sides = (remote, local) if writing else (local, remote)

    if way == "chunk":
        chunks = memory.plan_chunks(*sides, PAGE_SIZE // 2)
        for chunk in chunks:
            chunk.run()
        error = next(chunk.error for chunk in chunks if chunk.error)
    else:
        with pytest.raises(MemoryFault) as fault:
            memory.transfer(*sides)
        error = fault.value

    assert error.reason is FaultReason.CLIENT_MEMORY
    assert (error.aperture, error.address) == (Aperture.BUS, bus + PAGE_SIZE)
    assert error.va == 0x7060 + PAGE_SIZE - 96
    assert error.access is (Access.WRITE if writing else Access.READ)
    if not writing:
        assert memory.read(LOCAL, 0, PAGE_SIZE - 96) == pattern(PAGE_SIZE)[96:], (
            "not moved up to it"
        )


def test_page_that_became_read_only_faults_at_the_store() -> None:
    memory, pages, bus = client()
    pages.read_only.add(CLIENT // PAGE_SIZE)

    with pytest.raises(MemoryFault) as fault:
        memory.fill(at(bus, 8, va=0, aperture=BUS), b"\1")

    assert fault.value.reason is FaultReason.CLIENT_MEMORY
    assert (fault.value.va, fault.value.access) == (0, Access.WRITE)


@pytest.mark.parametrize("distance", [-700, 700])
def test_pages_of_one_client_overlap_as_memmove_does(distance: int) -> None:
    size = 2 * STEP + 99
    memory, pages, bus = client(size + 2000)
    expected = bytes(pages.data[1000 : 1000 + size])

    memory.transfer(
        at(bus + 1000 + distance, size, aperture=BUS), at(bus + 1000, size, aperture=BUS)
    )

    assert pages.data[1000 + distance :][:size] == expected


def test_operand_in_client_memory_needs_no_bus_address() -> None:
    memory, pages, _ = client()
    whole = PagesWindow(pages, 0, 1 << 48)
    there = Extents.through(whole, CLIENT + 10, 100)

    memory.transfer(at(0, 100), there)
    memory.transfer(Extents.through(whole, CLIENT + 200, 100), at(0, 100))
    memory.transfer(Extents.through(whole, CLIENT + 250, 100), there)

    data = pattern(3 * PAGE_SIZE)
    assert memory.read(LOCAL, 0, 100) == data[10:110]
    assert pages.data[200:250] == data[10:60]
    assert pages.data[250:350] == data[10:110]
    with pytest.raises(MemoryFault) as fault:
        memory.transfer(at(0, 8), Extents.through(whole, 0x5000, 8))
    assert (fault.value.reason, fault.value.va) == (FaultReason.CLIENT_MEMORY, 0x5000)


def test_operand_beyond_its_window_is_no_memory() -> None:
    window = FileWindow(memoryview(bytearray(64)), read_only=True)

    with pytest.raises(MemoryFault) as fault:
        memory_of(1).transfer(at(0, 16), Extents.through(window, 56, 16))
    assert (fault.value.reason, fault.value.address) == (FaultReason.BAD_APERTURE, 64)
    with pytest.raises(MemoryFault, match="RIGHTS: WRITE"):
        memory_of(1).transfer(Extents.through(window, 0, 16), at(0, 16))


def test_two_windows_of_two_operands_are_kept_apart() -> None:
    first, second = memoryview(bytearray(pattern(64))), memoryview(bytearray(64))

    memory_of(1).transfer(
        Extents.through(FileWindow(second), 8, 32), Extents.through(FileWindow(first), 0, 32)
    )

    assert second[8:40] == pattern(64)[:32]


@pytest.mark.parametrize("bus", [False, True])
def test_bytes_are_read_and_written_by_physical_address(bus: bool) -> None:
    memory, pages, address = client()
    aperture = BUS if bus else LOCAL
    place = address + 5 if bus else 5

    memory.write(aperture, place, b"hello")
    assert memory.read(aperture, place, 5) == b"hello"
    outside = place + len(pages.data) + (1 << 20)
    with pytest.raises(MemoryFault) as fault:
        memory.read(aperture, outside, 1)
    assert (fault.value.reason, fault.value.va) == (FaultReason.BAD_APERTURE, None)
    with pytest.raises(MemoryFault) as fault:
        memory.write(aperture, outside, b"x")
    assert (fault.value.address, fault.value.va) == (outside, None)
