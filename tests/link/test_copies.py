"""Copies of large memory, compiled."""

from __future__ import annotations

import numpy as np
import pytest

from firmware.link.compiled import compiled

MODULE = compiled()
pytestmark = pytest.mark.skipif(MODULE is None, reason="nothing can be compiled here")
STREAMED = 2 << 20
"""From here on stores pass the caches."""
ROOM = STREAMED + (1 << 17)
MARGIN = 200


def copy(into: memoryview, destination: int, out_of: memoryview, source: int, size: int) -> None:
    assert MODULE is not None
    MODULE.copy(into, destination, out_of, source, size)


def random_bytes(size: int) -> memoryview:
    return memoryview(bytearray(np.random.default_rng(size).bytes(size)))


@pytest.mark.parametrize("shift", [0, 1, 15, 63])
@pytest.mark.parametrize("start", [0, 7, 64])
@pytest.mark.parametrize(
    "size",
    [0, 1, 5000, STREAMED - 1, STREAMED, STREAMED + 63, STREAMED + 16384, STREAMED + 100_001],
)
def test_exactly_the_bytes_asked_for_are_copied(size: int, start: int, shift: int) -> None:
    source = random_bytes(ROOM + MARGIN)
    into = memoryview(bytearray(b"\xaa" * (ROOM + MARGIN)))

    copy(into, start, source, start + shift, size)

    end = start + size
    assert into[start:end] == source[start + shift : end + shift]
    assert into[:start] == b"\xaa" * start
    assert into[end:] == b"\xaa" * (ROOM + MARGIN - end)


@pytest.mark.parametrize("distance", [0, 1, 4096, STREAMED - 1, STREAMED])
@pytest.mark.parametrize("forward", [True, False])
def test_memory_that_overlaps_is_copied_as_memmove_does(distance: int, forward: bool) -> None:
    memory = random_bytes(2 * STREAMED + MARGIN)
    source, destination = (0, distance) if forward else (distance, 0)
    expected = bytes(memory[source : source + STREAMED])

    copy(memory, destination, memory, source, STREAMED)

    assert memory[destination : destination + STREAMED] == expected


@pytest.mark.parametrize(
    ("destination", "source", "size"),
    [(-1, 0, 8), (0, -1, 8), (0, 0, -1), (0, 1, 64), (1, 0, 64), (65, 0, 0), (1 << 60, 0, 1 << 60)],
)
def test_bytes_outside_of_a_memory_are_refused(destination: int, source: int, size: int) -> None:
    into = memoryview(bytearray(64))

    with pytest.raises(ValueError, match=" leave memory of 0x40 bytes"):
        copy(into, destination, memoryview(bytearray(64)), source, size)


def test_memory_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(BufferError):
        copy(memoryview(bytes(64)), 0, memoryview(bytes(64)), 0, 64)
