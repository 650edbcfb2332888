"""A plain-Python memory, byte by byte, that says what a copy or a fill must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st

from device.core.memory import Extent, Extents, FileWindow, MemoryController, PagesWindow
from tests.harness.memory import BUS, LOCAL, ClientPages, pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

VRAM = 4096
FILE = 600
PAGES = 500
CLIENT = 0x7F00_0000_0000


class World:
    """A small VRAM, a memory file and a client's pages on the bus, and all of them as a dict."""

    def __init__(self) -> None:
        self.memory = MemoryController(memoryview(bytearray(pattern(VRAM))))
        self.file = memoryview(bytearray(pattern(FILE, 1)))
        self.pages = ClientPages(CLIENT, PAGES)
        self.pages.data[:] = pattern(PAGES, 2)
        self.file_address = self.memory.bus.register(FileWindow(self.file), 1)
        window = PagesWindow(self.pages, CLIENT, PAGES)
        self.pages_address = self.memory.bus.register(window, 1)
        self.oracle = self.bytes_now()

    def bytes_now(self) -> dict[tuple[int, int], int]:
        """Return every byte by (aperture, address)."""
        memories = (
            (LOCAL, 0, self.memory.view),
            (BUS, self.file_address, self.file),
            (BUS, self.pages_address, self.pages.data),
        )
        return {
            (aperture, start + place): byte
            for aperture, start, content in memories
            for place, byte in enumerate(content)
        }

    def expect_copy(self, destination: Extents, source: Extents) -> None:
        """Check what a copy made of the memory, and take it over.

        Everything must have been read before anything was written. A byte that the destination
        names several times may hold any of the values that were written to it.
        """
        values = [0 if place is None else self.oracle[place] for place in places_of(source)]
        self.expect(destination, values)

    def expect(self, destination: Extents, values: Iterable[int]) -> None:
        """Check that exactly these values were stored, and take them over."""
        allowed: dict[tuple[int, int], set[int]] = {}
        for place, value in zip(places_of(destination), values, strict=True):
            if place is not None:
                allowed.setdefault(place, set()).add(value)
        found = self.bytes_now()
        wrong = {
            place: byte
            for place, byte in found.items()
            if byte not in allowed.get(place, {self.oracle[place]})
        }
        assert wrong == {}
        self.oracle = found
        self.memory.check()

    def regions(self) -> list[tuple[int, int, int]]:
        """Return (aperture, address, size) of each memory."""
        return [
            (LOCAL, 0, VRAM),
            (BUS, self.file_address, FILE),
            (BUS, self.pages_address, PAGES),
        ]


def places_of(extents: Extents) -> list[tuple[int, int] | None]:
    """Return where each byte stands; None for null."""
    return [
        None if row.null else (row.aperture, row.address + index)
        for row in extents
        for index in range(row.size)
    ]


@st.composite
def extents_of(draw: st.DrawFn, world: World, total: int, *, largest: int, spread: int) -> Extents:
    """Draw `total` bytes in pieces up to `largest`, within the first `spread` of each memory."""
    rows: list[Extent] = []
    va = 0x10_0000
    left = total
    regions = [(aperture, start, min(size, spread)) for aperture, start, size in world.regions()]
    while left:
        aperture, start, reach = draw(st.sampled_from(regions))
        size = draw(st.integers(1, min(left, reach, largest)))
        place = start + draw(st.integers(0, reach - size))
        rows.append(Extent(va, size, place, aperture, 3, draw(st.integers(0, 9)) == 0))
        va += size
        left -= size
    return Extents.of(rows)
