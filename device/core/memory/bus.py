"""Bus addresses: where system memory stands for page-table entries of the bus aperture."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, final

from device.core.errors import DeviceError, InternalError, InvariantError, MemoryFault, hex_address
from firmware.abi.faults import FaultReason
from firmware.abi.ids import BUS_LIMIT, PAGE_SIZE, Access
from firmware.abi.paging import Aperture
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.memory.windows import Window

BUS_START: Final = 1 << 32
"""First bus address given out; zero never is one."""
LEAF_SIZES: Final = (1 << 30, 1 << 21, 1 << 16)
"""A window at least this large begins at a multiple of it, or as far behind one as the virtual
addresses at which it is going to be mapped, so that leaves of that size fit."""


class _Entry(NamedTuple):
    start: int
    stop: int
    window: Window
    owner: int


@dataclass(frozen=True, slots=True)
class BusStatistics:
    """What stands on the bus now."""

    window_count: int
    registered_bytes: int


@final
class BusSpace:
    """The bus aperture: windows at addresses that the device gives out.

    Owner: the memory controller. Survives a device reset (what clients registered stays).

    Invariants: windows are sorted and never touch each other (at least one page lies between two,
    so that no extent can run from one into the next); an address that was given up is not given out
    again before the search has gone once around the space.
    """

    def __init__(self, start: int = BUS_START, limit: int = BUS_LIMIT) -> None:
        self._low = start
        self._limit = limit
        self._next = start
        self._starts: list[int] = []
        self._entries: list[_Entry] = []
        self._bytes = 0
        # The window that was found last: most accesses follow one another.
        self._start = self._stop = 0
        self._window: Window | None = None

    def register(self, window: Window, owner: int, beside: int = 0) -> int:
        """Give `window` a bus address, a multiple of 4 KiB, and return it.

        Args:
            window: what stands there.
            owner: its client.
            beside: virtual address at which it is going to be mapped, if that is known.

        Raises:
            DeviceError: LIMIT when no gap is large enough (detail is the window's size).
        """
        if window.size <= 0:
            raise InternalError(f"a window of {window.size} bytes cannot stand on the bus")
        start = self._gap(window.size, beside)
        entry = _Entry(start, start + window.size, window, owner)
        index = bisect_right(self._starts, start)
        self._starts.insert(index, start)
        self._entries.insert(index, entry)
        self._bytes += window.size
        self._next = _align(entry.stop, PAGE_SIZE) + PAGE_SIZE
        return start

    def unregister(self, address: int) -> Window:
        """Take the window at `address` off the bus and return it.

        Raises:
            InternalError: no window begins there.
        """
        index = self._index(address)
        entry = self._entries[index]
        del self._starts[index], self._entries[index]
        self._bytes -= entry.window.size
        # Also drops the reference: the file behind it may be closed now.
        self._start = self._stop = 0
        self._window = None
        return entry.window

    def find(self, address: int, size: int, *, writing: bool = False) -> tuple[Window, int]:
        """Return the window that holds the whole range, and the range's offset in it.

        Raises:
            MemoryFault: BAD_APERTURE at the first byte outside; RIGHTS for a write to a window that
                is read only.
        """
        window = self._window
        if window is None or address < self._start or address + size > self._stop:
            window = self._search(address, size, writing=writing)
        if writing and window.read_only:
            raise MemoryFault(FaultReason.RIGHTS, Aperture.BUS, address, Access.WRITE)
        return window, address - self._start

    def owner_of(self, address: int) -> int:
        """Return the owner of the window that begins at `address`.

        Raises:
            InternalError: no window begins there.
        """
        return self._entries[self._index(address)].owner

    def statistics(self) -> BusStatistics:
        """Return what stands on the bus now."""
        return BusStatistics(window_count=len(self._entries), registered_bytes=self._bytes)

    def check(self) -> None:
        """Raise InvariantError unless windows are sorted, apart and counted."""
        stop = self._low - PAGE_SIZE
        for entry in self._entries:
            if entry.start < stop + PAGE_SIZE or entry.stop > self._limit:
                raise InvariantError(f"bus window {hex_address(entry.start)} is out of its place")
            if entry.start % PAGE_SIZE or entry.stop - entry.start != entry.window.size:
                raise InvariantError(f"bus window {hex_address(entry.start)} changed its size")
            stop = entry.stop
        if self._starts != [entry.start for entry in self._entries]:
            raise InvariantError("bus: search keys differ from the windows")
        if self._bytes != sum(entry.window.size for entry in self._entries):
            raise InvariantError(f"bus: {self._bytes:#x} bytes counted, windows hold another sum")

    def _index(self, address: int) -> int:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or self._starts[index] != address:
            raise InternalError(f"no window begins at bus address {hex_address(address)}")
        return index

    def _search(self, address: int, size: int, *, writing: bool) -> Window:
        """Find by bisection and remember; raise BAD_APERTURE."""
        index = bisect_right(self._starts, address) - 1
        stop = self._entries[index].stop if index >= 0 else 0
        if address + size > stop:
            access = Access.WRITE if writing else Access.READ
            outside = max(address, stop)
            raise MemoryFault(FaultReason.BAD_APERTURE, Aperture.BUS, outside, access)
        entry = self._entries[index]
        self._start, self._stop, self._window = entry.start, entry.stop, entry.window
        return entry.window

    def _gap(self, size: int, beside: int) -> int:
        """Return the next free place upward, once around."""
        alignment = next((leaf for leaf in LEAF_SIZES if size >= leaf), PAGE_SIZE)
        for origin in (self._next, self._low):
            place = self._gap_from(origin, size, alignment, beside & alignment - 1)
            if place is not None:
                return place
        raise DeviceError(Status.LIMIT, detail=size)

    def _gap_from(self, origin: int, size: int, alignment: int, offset: int) -> int | None:
        place = _align(origin - offset, alignment) + offset
        for entry in islice(self._entries, bisect_left(self._starts, origin), None):
            if place + size + PAGE_SIZE <= entry.start:
                break
            place = _align(entry.stop + PAGE_SIZE - offset, alignment) + offset
        return place if place + size <= self._limit else None


def _align(value: int, alignment: int) -> int:
    return (value + alignment - 1) & -alignment
