"""Fills repeat their pattern at any alignment, with any phase, across extents and chunks."""

from __future__ import annotations

from itertools import cycle, islice

import hypothesis.strategies as st
import pytest
from hypothesis import given

from device.core.errors import MemoryFault
from device.core.memory import Extents, PagesWindow
from device.core.memory.moves import STEP, TILE
from firmware.abi.work import PATTERN_SIZES
from tests.harness.memory import BUS, LOCAL, at, memory_of, scattered
from tests.harness.memory_oracle import World, extents_of

PATTERNS = st.sampled_from(sorted(PATTERN_SIZES)).flatmap(
    lambda size: st.binary(min_size=size, max_size=size)
)
PATTERN = bytes(range(1, 17))


def repeated(pattern: bytes, size: int, phase: int = 0) -> bytes:
    """Return the pattern all over, the plain way."""
    return bytes(islice(cycle(pattern), phase, phase + size))


@given(
    data=st.data(),
    total=st.integers(0, 300),
    pattern=PATTERNS,
    phase=st.integers(0, 15),
    largest=st.sampled_from([5, 60, 300]),
)
def test_fill_repeats_the_pattern_from_extent_to_extent(
    data: st.DataObject, total: int, pattern: bytes, phase: int, largest: int
) -> None:
    world = World()
    destination = data.draw(extents_of(world, total, largest=largest, spread=4096))

    assert world.memory.fill(destination, pattern, phase) == total

    world.expect(destination, repeated(pattern, total, phase))


@given(
    data=st.data(),
    total=st.integers(0, 300),
    pattern=PATTERNS,
    phase=st.integers(0, 15),
    chunk_bytes=st.integers(1, 320),
)
def test_chunks_of_a_fill_are_the_fill(
    data: st.DataObject, total: int, pattern: bytes, phase: int, chunk_bytes: int
) -> None:
    world = World()
    destination = data.draw(extents_of(world, total, largest=60, spread=4096))

    chunks = world.memory.plan_fill(destination, pattern, chunk_bytes, phase)
    # Chunks of a fill do not depend on each other.
    for chunk in reversed(chunks):
        chunk.run()

    assert sum(chunk.size for chunk in chunks) == total
    world.expect(destination, repeated(pattern, total, phase))


@pytest.mark.parametrize("size", [1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7])
@pytest.mark.parametrize("width", sorted(PATTERN_SIZES))
@pytest.mark.parametrize("start", [0, 3])
def test_long_fill_is_exact_at_both_ends(size: int, width: int, start: int) -> None:
    memory = memory_of(4 * TILE >> 12)
    pattern = PATTERN[:width]

    memory.fill(at(start, size), pattern, width - 1)

    assert memory.read(LOCAL, start, size) == repeated(pattern, size, width - 1)
    assert not memory.array[:start].any()
    assert not memory.array[start + size :].any()


def test_long_fill_of_client_pages_keeps_the_phase_from_step_to_step() -> None:
    world = World()
    size = STEP + 100
    world.pages.data.extend(bytes(size))
    whole = PagesWindow(world.pages, world.pages.start, size)

    world.memory.fill(Extents.through(whole, 0, size), PATTERN, 5)

    assert world.pages.data[:size] == repeated(PATTERN, size, 5)


def test_fill_with_zeros_is_a_fill() -> None:
    memory = memory_of(40)
    memory.array[:] = 1

    memory.fill(at(1, 2 * TILE), bytes(16))

    assert memory.array.nonzero()[0].tolist() == [0, *range(2 * TILE + 1, memory.size)]


def test_fill_of_null_extents_writes_nothing() -> None:
    memory = memory_of(1)

    memory.fill(Extents.one(0, 1 << 40, 0, null=True), b"\1")

    assert not memory.array.any()


def test_fill_of_many_frames_keeps_the_phase() -> None:
    memory = memory_of(8)
    pieces = [(37 * piece, 13) for piece in range(40)]

    memory.fill(scattered(pieces), PATTERN, 3)

    found = b"".join(memory.read(LOCAL, address, size) for address, size in pieces)
    assert found == repeated(PATTERN, 40 * 13, 3)


def test_fill_counts_what_it_writes() -> None:
    world = World()
    before = world.memory.statistics().traffic

    world.memory.fill(at(0, 100), b"\1")
    world.memory.fill(at(world.file_address, 50, aperture=BUS), b"\1")

    after = world.memory.statistics().traffic
    assert after.bytes_written - before.bytes_written == 100
    assert after.bus_bytes_written - before.bus_bytes_written == 50
    assert after.bytes_read == before.bytes_read


def test_fill_outside_of_memory_faults_at_the_first_byte_outside() -> None:
    memory = memory_of(1)

    with pytest.raises(MemoryFault) as fault:
        memory.fill(at(4000, 200, va=0x7000), b"\1")

    assert (fault.value.address, fault.value.va) == (4096, 0x7000 + 96)
    assert not memory.array.any()
