"""From physical addresses to bytes: VRAM, bus and windows, checked and counted by extents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.errors import MemoryFault
from device.core.memory.extents import FEW
from device.core.memory.moves import Move, Place
from device.core.memory.pieces import (
    DESTINATION_WINDOW,
    LINE_SHIFT,
    LOCAL_END,
    NULL,
    SOURCE_WINDOW,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import Access
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.memory.bus import BusSpace
    from device.core.memory.extents import Extent, Extents
    from device.core.memory.pieces import Piece
    from device.core.memory.vram import Vram
    from device.core.memory.windows import Window

LOCAL: Final = Aperture.LOCAL.value
BUS: Final = Aperture.BUS.value


@final
class Apertures:
    """What stands behind each aperture.

    Owner: the memory controller. Keeps no state of its own.
    """

    def __init__(self, vram: Vram, bus: BusSpace) -> None:
        self._vram = vram
        self._bus = bus

    def place(self, aperture: int, address: int, size: int, *, writing: bool) -> Place:
        """Return where these bytes are, checked for the access.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON.
        """
        if aperture == LOCAL:
            self._vram.check(address, size, writing=writing)
            return Place(self._vram.window, address)
        if aperture == BUS:
            return Place(*self._bus.find(address, size, writing=writing))
        raise MemoryFault(
            FaultReason.BAD_APERTURE, Aperture(aperture), address, _access(writing=writing)
        )

    def check(self, extents: Extents, *, writing: bool) -> None:
        """Raise what the first extent that cannot be accessed would meet.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON, with the virtual address.
        """
        at_once = self._can_look_at_once(extents)
        if at_once and int((extents.address + extents.size).max()) <= self._vram.size:
            return
        for row in extents.rows:
            if row.null:
                continue
            try:
                if extents.window is not None:
                    _check_window(extents.window, row.address, row.size, writing=writing)
                else:
                    self.place(row.aperture, row.address, row.size, writing=writing)
            except MemoryFault as fault:
                fault.va = row.va + fault.address - row.address
                raise

    def count(self, extents: Extents, *, writing: bool) -> None:
        """Account for an access to extents that were checked."""
        if self._can_look_at_once(extents):
            self._vram.count_many(extents.address, extents.size, writing=writing)
            return
        for row in extents.rows:
            if not row.null:
                self.count_row(row, writing=writing)

    def count_row(self, row: Extent, *, writing: bool) -> None:
        """Account for an access to one extent with memory, that was checked."""
        if row.aperture == LOCAL:
            self._vram.count(row.address, row.size, writing=writing)
        elif writing:
            self._vram.traffic.bus_written += row.size
        else:
            self._vram.traffic.bus_read += row.size

    def resolve(self, pieces: Sequence[Piece], destination: Extents, source: Extents) -> list[Move]:
        """Return the pieces of checked extents with their windows."""
        sides = ((DESTINATION_WINDOW, destination.window), (SOURCE_WINDOW, source.window))
        windows = {number: window for number, window in sides if window is not None}
        place = self._place_on_line
        return [
            Move(offset, size, place(into, size, windows), place(out_of, size, windows))
            for offset, size, into, out_of in pieces
        ]

    def _place_on_line(self, place: int, size: int, windows: dict[int, Window]) -> Place | None:
        if place == NULL:
            return None
        if place < LOCAL_END:
            return Place(self._vram.window, place)
        memory, address = place >> LINE_SHIFT, place & (LOCAL_END - 1)
        if memory == BUS:
            return Place(*self._bus.find(address, size))
        return Place(windows[memory], address)

    def _can_look_at_once(self, extents: Extents) -> bool:
        """Whether there are so many extents of healthy VRAM that numpy pays."""
        return len(extents) > FEW and not self._vram.ecc.marked and extents.is_local


def client_fault(row: Extent, offset: int, access: Access) -> MemoryFault:
    """Return the fault of a client's page at byte `offset` of an extent."""
    return MemoryFault(
        FaultReason.CLIENT_MEMORY,
        Aperture(row.aperture),
        row.address + offset,
        access,
        row.va + offset,
    )


def _check_window(window: Window, offset: int, size: int, *, writing: bool) -> None:
    if offset + size > window.size:
        outside = max(offset, window.size)
        access = _access(writing=writing)
        raise MemoryFault(FaultReason.BAD_APERTURE, Aperture.BUS, outside, access)
    if writing and window.read_only:
        raise MemoryFault(FaultReason.RIGHTS, Aperture.BUS, offset, Access.WRITE)


def _access(*, writing: bool) -> Access:
    return Access.WRITE if writing else Access.READ
