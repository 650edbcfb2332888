"""Transfers to and from clients' own memory, which the system denies."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import MemoryFault
from device.core.memory import PagesWindow
from device.core.memory.apertures import client_fault
from firmware.abi.ids import Access
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.memory import Chunk, Extents, Window
    from device.core.memory.extents import Extent
    from device.core.memory.transfer import Moving
    from device.inject.rounds import InjectedRounds


@final
class ClientPagesTap:
    """Reaches `os.device.pages` before bytes are moved from or to a client's own memory.

    It is decided when a transfer, or a chunk of a large one, is planned: worker threads run what
    was decided. What the system denies faults at its first byte.
    """

    points = frozenset({"os.device.pages"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        self._memory = rounds.inside.blocks.memory
        self._inner: Moving = self._memory.transfers

    def install(self) -> None:
        """Come in between the memory controller and what moves bytes."""
        self._inner, self._memory.transfers = self._memory.transfers, self

    def remove(self) -> None:
        """Go out."""
        self._memory.transfers = self._inner

    def copy(self, destination: Extents, source: Extents) -> int:
        """Copy (see `device.core.memory.transfer.Moving`)."""
        self._ask(destination, source)
        return self._inner.copy(destination, source)

    def plan_copy(self, destination: Extents, source: Extents, chunk_bytes: int) -> list[Chunk]:
        """Cut a copy into chunks."""
        self._ask(destination, source)
        return self._inner.plan_copy(destination, source, chunk_bytes)

    def fill(self, destination: Extents, pattern: bytes, phase: int = 0) -> int:
        """Fill."""
        self._ask(destination)
        return self._inner.fill(destination, pattern, phase)

    def plan_fill(
        self, destination: Extents, pattern: bytes, chunk_bytes: int, phase: int = 0
    ) -> list[Chunk]:
        """Cut a fill into chunks."""
        self._ask(destination)
        return self._inner.plan_fill(destination, pattern, chunk_bytes, phase)

    def read(self, aperture: int, address: int, size: int) -> bytes:
        """Return bytes of an aperture; no engine does."""
        return self._inner.read(aperture, address, size)

    def write(self, aperture: int, address: int, data: bytes | memoryview) -> None:
        """Store bytes to an aperture; no engine does."""
        self._inner.write(aperture, address, data)

    def _ask(self, destination: Extents, source: Extents | None = None) -> None:
        """Ask for each side that is a client's own memory, source first."""
        if source is not None:
            self._ask_for(source, Access.READ)
        self._ask_for(destination, Access.WRITE)

    def _ask_for(self, extents: Extents, access: Access) -> None:
        found = [(row, window) for row in extents.rows if (window := self._pages(extents, row))]
        if not found:
            return
        row, window = found[0]
        size = sum(row.size for row, _ in found)
        site = self._rounds.site(self._owner_of(row, window), size=size)
        if self._rounds.ask("os.device.pages", site) is not None:
            raise client_fault(row, 0, access)

    def _pages(self, extents: Extents, row: Extent) -> Window | None:
        """Return the window of an extent in a client's own memory, or None for other memory."""
        window = extents.window
        if window is None and row.aperture == Aperture.BUS and not row.null:
            try:
                window, _ = self._memory.bus.find(row.address, row.size)
            except MemoryFault:
                # It faults by itself.
                return None
        return window if isinstance(window, PagesWindow) else None

    def _owner_of(self, row: Extent, window: Window) -> Client | None:
        """Return whose memory it is; None when that client has gone, and others hold it."""
        clients = self._rounds.state.clients
        for client in clients.values():
            if client.engine.window is window:
                return client
        start = row.address - self._memory.bus.find(row.address, row.size)[1]
        return clients.get(self._memory.bus.owner_of(start))
