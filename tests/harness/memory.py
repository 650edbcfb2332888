"""Builders and oracles for tests of device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.memory import Extent, Extents, MemoryController
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from device.core.memory import Run

LOCAL = Aperture.LOCAL.value
BUS = Aperture.BUS.value


def memory_of(frames: int, *, ecc: bool = True) -> MemoryController:
    """Return a controller over so many zeroed frames."""
    return MemoryController(memoryview(bytearray(frames * PAGE_SIZE)), ecc=ecc)


def frames_of(runs: Iterable[Run]) -> list[int]:
    """Return the frames of runs, one by one and in order."""
    return [frame for first, count in runs for frame in range(first, first + count)]


def pattern(size: int, seed: int = 0) -> bytes:
    """Return bytes that differ from place to place (period 251) and from seed to seed."""
    period = bytes((index * 7 + seed * 31 + 1) % 251 + 1 for index in range(251))
    return (period * (size // 251 + 1))[:size]


def at(address: int, size: int, *, va: int | None = None, aperture: int = LOCAL) -> Extents:
    """Return one extent; unless told, its virtual address is not its physical one."""
    return Extents.one(address + (1 << 40) if va is None else va, size, address, aperture)


def scattered(pieces: Iterable[tuple[int, int]], *, va: int = 0, aperture: int = LOCAL) -> Extents:
    """Return extents at these (address, size), virtually consecutive from `va` on."""
    rows: list[Extent] = []
    for address, size in pieces:
        rows.append(Extent(va, size, address, aperture))
        va += size
    return Extents.of(rows)


class ClientPages:
    """A client's address space: some bytes from `start` on, of which some pages can be gone."""

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.data = bytearray(size)
        self.gone = set[int]()
        self.read_only = set[int]()
        self.calls = 0

    def _movable(self, address: int, size: int, bad: set[int]) -> int:
        """Return how many bytes from `address` on can be moved."""
        for moved in range(size):
            place = address + moved - self.start
            if not 0 <= place < len(self.data) or (address + moved) // PAGE_SIZE in bad:
                return moved
        return size

    def read_into(self, address: int, into: memoryview) -> int:
        self.calls += 1
        moved = self._movable(address, len(into), self.gone)
        into[:moved] = self.data[address - self.start :][:moved]
        return moved

    def write_from(self, address: int, data: memoryview) -> int:
        self.calls += 1
        moved = self._movable(address, len(data), self.gone | self.read_only)
        place = address - self.start
        self.data[place : place + moved] = data[:moved]
        return moved

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        moved = self._movable(address, size, self.gone | (self.read_only if write else set()))
        return None if moved == size else address + moved
