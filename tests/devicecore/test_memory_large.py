"""Large pieces are copied by whatever the shell gave the memory, the rest is not."""

from __future__ import annotations

import os

import pytest

from device.core.memory import Extents, FileWindow, MemoryController
from device.core.memory.moves import LARGE, CopyLarge, copy_by_numpy
from firmware.abi.ids import PAGE_SIZE
from firmware.link.compiled import compiled

MODULE = compiled()
SIZE = 4 * LARGE
copiers = pytest.mark.parametrize(
    "copier",
    [
        pytest.param(
            None if MODULE is None else MODULE.copy,
            marks=pytest.mark.skipif(MODULE is None, reason="nothing can be compiled here"),
            id="compiled",
        ),
        pytest.param(copy_by_numpy, id="plain"),
    ],
)


class Recorder:
    """A memory whose large copies are counted."""

    def __init__(self, copier: CopyLarge = copy_by_numpy) -> None:
        self.memory = MemoryController(memoryview(bytearray(os.urandom(2 * SIZE))))
        self.copied: list[tuple[int, int, int]] = []
        self.copier = copier
        self.memory.local.copy_large = self.copy

    def copy(
        self, into: memoryview, destination: int, out_of: memoryview, source: int, size: int, /
    ) -> None:
        self.copied.append((destination, source, size))
        self.copier(into, destination, out_of, source, size)


def local(address: int, size: int) -> Extents:
    return Extents.one(address, size, address)


@copiers
@pytest.mark.parametrize("size", [LARGE, SIZE - 5])
def test_a_large_copy_within_device_memory(copier: CopyLarge, size: int) -> None:
    recorder = Recorder(copier)
    view = recorder.memory.view
    expected = bytes(view[3 : 3 + size])

    recorder.memory.transfer(local(SIZE, size), local(3, size))

    assert view[SIZE : SIZE + size] == expected
    assert recorder.copied == [(SIZE, 3, size)]


@copiers
def test_the_chunks_of_a_large_copy(copier: CopyLarge) -> None:
    recorder = Recorder(copier)
    view = recorder.memory.view
    expected = bytes(view[:SIZE])

    for chunk in recorder.memory.plan_chunks(local(SIZE, SIZE), local(0, SIZE), SIZE // 2):
        chunk.run()

    assert view[SIZE:] == expected
    assert [size for _, _, size in recorder.copied] == [SIZE // 2] * 2


@copiers
@pytest.mark.parametrize("writes", [False, True])
def test_a_large_copy_between_device_memory_and_a_file(copier: CopyLarge, writes: bool) -> None:
    recorder = Recorder(copier)
    file = memoryview(bytearray(os.urandom(SIZE)))
    window = Extents.through(FileWindow(file), 0, SIZE)
    own = local(0, SIZE)
    expected = bytes(file) if writes else bytes(recorder.memory.view[:SIZE])

    recorder.memory.transfer(*((own, window) if writes else (window, own)))

    assert (recorder.memory.view[:SIZE] if writes else file) == expected
    assert [size for _, _, size in recorder.copied] == [SIZE]


@pytest.mark.parametrize(
    ("destination", "size"), [(SIZE, LARGE - 1), (SIZE, PAGE_SIZE), (LARGE - 1, LARGE)]
)
def test_small_pieces_and_those_that_overlap_are_not_given_away(
    destination: int, size: int
) -> None:
    recorder = Recorder()
    expected = bytes(recorder.memory.view[:size])

    recorder.memory.transfer(local(destination, size), local(0, size))

    assert recorder.memory.view[destination : destination + size] == expected
    assert not recorder.copied
