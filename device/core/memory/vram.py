"""The bytes of device memory: bounds, errors, counters and marks of every access to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from device.core.errors import MemoryFault
from device.core.memory.ecc import Ecc
from device.core.memory.moves import LARGE, copy_by_numpy, copy_bytes
from device.core.memory.ownership import FrameOwners
from device.core.memory.windows import FileWindow
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SHIFT, Access
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.memory.moves import CopyLarge
    from device.core.memory.traffic import Traffic


@final
class Vram:
    """One consecutive memory at byte addresses 0 to `size - 1`.

    Owner: the memory controller. Its bytes survive a device reset.

    `view`, `words`, `array` and `entries` are the same bytes for those who must be fast. Who reads
    through them sees neither poison nor counters; who writes through them must `owners.note` it,
    save into page tables, which are marked as written when they are given out.
    """

    def __init__(self, vram: memoryview, used: bytearray, traffic: Traffic, *, ecc: bool) -> None:
        self.size = vram.nbytes
        self.view = vram.cast("B")
        """The bytes."""
        self.words = self.view.cast("Q")
        """The bytes as 64-bit words, for single aligned loads and stores."""
        self.array: NDArray[np.uint8] = np.frombuffer(self.view, np.uint8)
        """The bytes for numpy."""
        self.entries: NDArray[np.uint64] = np.frombuffer(self.view, np.uint64)
        """The words for numpy."""
        self.copy_large: CopyLarge = copy_by_numpy
        """Copies large pieces, here and to other memories; the shell may have a faster one."""
        self.window = FileWindow(self.view)
        self.traffic = traffic
        self.ecc = Ecc(self.view, enabled=ecc)
        self.owners = FrameOwners(self.array, used)
        self._marked = self.ecc.marked
        self._written = self.owners.written

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy `size` bytes (at least one) within VRAM as memmove does.

        Raises:
            MemoryFault: BAD_APERTURE or POISON; nothing was copied or counted.
        """
        limit = self.size
        if self._marked or destination + size > limit or source + size > limit:
            self.check(source, size, writing=False)
            self.check(destination, size, writing=True)
            self.ecc.met(source, size, writing=False)
            self.ecc.met(destination, size, writing=True)
        if size < LARGE:
            view = self.view
            view[destination : destination + size] = view[source : source + size]
        else:
            copy_bytes(self.view, destination, self.view, source, size, self.copy_large)
        frame = destination >> PAGE_SHIFT
        if destination + size <= (frame + 1) << PAGE_SHIFT:
            self._written[frame] = 1
        else:
            self.owners.note(destination, size)
        traffic = self.traffic
        traffic.copied += size
        if size % traffic.stripe:
            traffic.add_odd_copy(destination, source, size)

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of VRAM.

        Raises:
            MemoryFault: BAD_APERTURE or POISON.
        """
        self.check(address, size, writing=False)
        self.count(address, size, writing=False)
        return self.view[address : address + size].tobytes()

    def write(self, address: int, data: bytes | memoryview) -> None:
        """Store bytes, at least one, to VRAM.

        Raises:
            MemoryFault: BAD_APERTURE; nothing was stored.
        """
        size = len(data)
        self.check(address, size, writing=True)
        self.count(address, size, writing=True)
        self.view[address : address + size] = data

    def store_word(self, address: int, value: int) -> None:
        """Store a 64-bit word at an address that is a multiple of 8, at once.

        Raises:
            MemoryFault: BAD_APERTURE; nothing was stored.
        """
        self.check(address, 8, writing=True)
        self.count(address, 8, writing=True)
        self.words[address >> 3] = value

    def check(self, address: int, size: int, *, writing: bool) -> None:
        """Raise what an access to these bytes would meet.

        Raises:
            MemoryFault: BAD_APERTURE outside of VRAM; POISON for a read of a poisoned frame.
        """
        if address + size > self.size:
            access = Access.WRITE if writing else Access.READ
            outside = max(address, self.size)
            raise MemoryFault(FaultReason.BAD_APERTURE, Aperture.LOCAL, outside, access)
        if self._marked and not writing:
            poisoned = self.ecc.before_read(address, size)
            if poisoned is not None:
                raise MemoryFault(FaultReason.POISON, Aperture.LOCAL, poisoned, Access.READ)

    def count(self, address: int, size: int, *, writing: bool) -> None:
        """Account for an access, at least one byte, that was checked: counters, marks, errors."""
        if self._marked:
            self.ecc.met(address, size, writing=writing)
        if writing:
            self.owners.note(address, size)
            self.traffic.add_written(address, size)
        else:
            self.traffic.add_read(address, size)

    def count_many(
        self, addresses: NDArray[np.uint64], sizes: NDArray[np.uint64], *, writing: bool
    ) -> None:
        """Account for accesses that were checked, while there are no errors (`ecc.marked`).

        What they have in all beyond whole stripes counts for the channel of the first one.
        """
        first, total = int(addresses[0]), int(sizes.sum())
        if writing:
            self.owners.note_many(addresses, sizes)
            self.traffic.add_written(first, total)
        else:
            self.traffic.add_read(first, total)
