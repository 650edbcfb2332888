"""The memory controller: frames, their bytes, and the way to all other memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import InternalError, InvariantError, hex_address
from device.core.memory.apertures import Apertures
from device.core.memory.blocks import Run
from device.core.memory.bus import BusSpace
from device.core.memory.frames import BuddyAllocator
from device.core.memory.ownership import DEVICE
from device.core.memory.statistics import MemoryStatistics
from device.core.memory.traffic import Traffic
from device.core.memory.transfer import Transfers
from device.core.memory.vram import Vram
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.memory.extents import Extents
    from device.core.memory.traffic import Bank
    from device.core.memory.transfer import Chunk, Moving


@final
class MemoryController:
    """Device memory and the apertures to system memory.

    Owner: the device. A device reset keeps contents, counters, errors, retired frames and bus
    windows; whoever held frames and windows frees them.

    Invariants: free, used and retired frames are all frames; no byte that one owner wrote can be
    read by another through frames that `allocate` gave it; frames never written are never touched;
    `free_bytes` is exact after every call.

    `view`, `words`, `array` and `entries` are the bytes of VRAM for hot paths; see `Vram` for what
    their users owe.
    """

    def __init__(
        self,
        vram: memoryview,
        *,
        channels: int = 8,
        banks: int = 16,
        interleave_bytes: int = 256,
        ecc: bool = True,
    ) -> None:
        """Manage `vram`: zeroed bytes, a multiple of 4 KiB, that nobody else changes."""
        if vram.nbytes == 0 or vram.nbytes % PAGE_SIZE:
            raise InternalError(f"VRAM of {vram.nbytes} bytes is no multiple of {PAGE_SIZE}")
        self.size = vram.nbytes
        self.frames = BuddyAllocator(self.size >> PAGE_SHIFT)
        traffic = Traffic(channels, banks, interleave_bytes)
        self.local = Vram(vram, self.frames.used_map, traffic, ecc=ecc)
        """VRAM by address: copies, single words, checks."""
        self.bus = BusSpace()
        self.view = self.local.view
        self.words = self.local.words
        self.array = self.local.array
        self.entries = self.local.entries
        self.take_frames: Callable[[int, int], list[Run]] = self.frames.allocate
        """Gives out frames (`BuddyAllocator.allocate`); something may come in between."""
        self._owners = self.local.owners
        self._marked = self.local.ecc.marked
        self.transfers: Moving = Transfers(self.local, Apertures(self.local, self.bus))
        self._tables = 0

    @property
    def free_bytes(self) -> int:
        """Bytes that can be allocated now."""
        return self.frames.free_count << PAGE_SHIFT

    @property
    def table_bytes(self) -> int:
        """Bytes that hold page tables."""
        return self._tables << PAGE_SHIFT

    @property
    def retired_frames(self) -> int:
        """Frames that are out of service for ever."""
        return self.frames.retired_count

    def allocate(self, size_bytes: int, owner: int, page_size: int = PAGE_SIZE) -> tuple[Run, ...]:
        """Take frames for `size_bytes` (rounded up to 4 KiB) and return them.

        `owner` (below 2^32 - 1) gets frames that are zero or hold bytes of its own; owner 0, the
        device, gets zeros only and may store without telling. The first frame is aligned to
        `page_size` where a large enough block is free, and large blocks come first (see
        `BuddyAllocator.allocate`).

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY (detail: free bytes); nothing changed.
        """
        count = (size_bytes + PAGE_SIZE - 1) >> PAGE_SHIFT
        runs = self.take_frames(count, page_size >> PAGE_SHIFT)
        self._owners.claim(runs, owner)
        return tuple(runs)

    def free(self, runs: Sequence[Run]) -> None:
        """Give frames back; those that are poisoned or to be retired go out of service.

        Raises:
            InternalError: a frame that is not in use.
        """
        if self._marked:
            for first, count in runs:
                for frame in self.local.ecc.freed(first, count):
                    self.frames.retire(frame)
        for frame in self.frames.free(runs):
            self._owners.forget(frame)
        if not self._owners.pending:
            self._owners.released(runs)

    def share(self, runs: Sequence[Run]) -> None:
        """Note that several processes may write these frames from now on.

        Nobody gets them back unscrubbed then: their first owner may not have been the last writer.
        """
        self._owners.disown(runs)

    def allocate_table(self) -> int:
        """Take a zeroed frame for a page table and return its VRAM byte address.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing changed.
        """
        frame = self.take_frames(1, 1)[0].first
        self._owners.claim_table(frame)
        self._tables += 1
        return frame << PAGE_SHIFT

    def allocate_tables(self, count: int) -> list[int]:
        """Take zeroed frames for page tables, consecutive where possible; return their addresses.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing changed.
        """
        if count == 0:
            return []
        runs = self.allocate(count << PAGE_SHIFT, DEVICE)
        self._tables += count
        return [
            frame << PAGE_SHIFT for first, number in runs for frame in range(first, first + number)
        ]

    def free_table(self, address: int) -> None:
        """Give back the table at a VRAM byte address.

        Raises:
            InternalError: the frame is not in use.
        """
        self.free((Run(address >> PAGE_SHIFT, 1),))
        self._tables -= 1

    def free_tables(self, runs: Sequence[Run]) -> None:
        """Give back tables, as runs of frames.

        Raises:
            InternalError: a frame that is not in use.
        """
        self.free(runs)
        self._tables -= sum(count for _, count in runs)

    def transfer(self, destination: Extents, source: Extents) -> int:
        """Copy between extents of equal totals as memmove does, and return the bytes.

        Null extents read as zero and swallow what is written.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON before anything is moved; CLIENT_MEMORY when
                a client's own pages fail, after which what came before was moved.
        """
        return self.transfers.copy(destination, source)

    def fill(self, destination: Extents, pattern: bytes, phase: int = 0) -> int:
        """Repeat a pattern of 1, 2, 4, 8 or 16 bytes over extents, and return the bytes.

        The first byte written is byte `phase` of the pattern, which runs on from extent to extent;
        the last one is cut off.

        Raises:
            MemoryFault: as `transfer`.
        """
        return self.transfers.fill(destination, pattern, phase)

    def plan_chunks(self, destination: Extents, source: Extents, chunk_bytes: int) -> list[Chunk]:
        """Check and count a transfer, and cut it into chunks to be run in this order.

        Raises:
            MemoryFault: BAD_APERTURE, RIGHTS or POISON; nothing was moved or counted.
        """
        return self.transfers.plan_copy(destination, source, chunk_bytes)

    def plan_fill(
        self, destination: Extents, pattern: bytes, chunk_bytes: int, phase: int = 0
    ) -> list[Chunk]:
        """Check and count a fill, and cut it into chunks.

        Raises:
            MemoryFault: as `plan_chunks`.
        """
        return self.transfers.plan_fill(destination, pattern, chunk_bytes, phase)

    def read(self, aperture: int, address: int, size: int) -> bytes:
        """Return bytes of an aperture.

        Raises:
            MemoryFault: BAD_APERTURE, POISON or CLIENT_MEMORY.
        """
        if aperture == Aperture.LOCAL:
            return self.local.read(address, size)
        return self.transfers.read(aperture, address, size)

    def write(self, aperture: int, address: int, data: bytes | memoryview) -> None:
        """Store bytes to an aperture.

        Raises:
            MemoryFault: BAD_APERTURE or RIGHTS before anything is stored, CLIENT_MEMORY after what
                came before was.
        """
        if aperture == Aperture.LOCAL:
            self.local.write(address, data)
        else:
            self.transfers.write(aperture, address, data)

    def inject_correctable(self, address: int) -> None:
        """Weaken the VRAM word at `address`: the next read of it is corrected and counted.

        Without ECC the byte changes silently instead.
        """
        self._require_inside(address)
        if not self.local.ecc.inject_correctable(address):
            self._owners.note(address, 1)

    def inject_poison(self, address: int) -> None:
        """Make an uncorrectable error in the VRAM frame of `address`.

        Reads of the frame fault until it is freed, and then it is retired; a free frame is retired
        at once. Without ECC the byte changes silently instead.
        """
        self._require_inside(address)
        if not self.local.ecc.inject_poison(address):
            self._owners.note(address, 1)
        elif not self.frames.used_map[address >> PAGE_SHIFT]:
            self.retire(address >> PAGE_SHIFT)

    def retire(self, frame: int) -> bool:
        """Take a frame out of service for ever: at once when it is free, else when it is freed.

        Returns:
            Whether it is out of service now.
        """
        self._require_inside(frame << PAGE_SHIFT)
        if not self.frames.retire(frame):
            return False
        self.local.ecc.freed(frame, 1)
        self._owners.forget(frame)
        return True

    def scrub_some(self, budget_bytes: int) -> int:
        """Zero free frames that hold old bytes, at most `budget_bytes`; return the bytes zeroed.

        For idle time; what it does not do is done when the frames change owner.
        """
        return self._owners.scrub_some(budget_bytes)

    def bank_of(self, address: int) -> Bank:
        """Return channel and bank of a VRAM address."""
        return self.local.traffic.bank_of(address)

    def statistics(self) -> MemoryStatistics:
        """Return what is in use now, and the counters."""
        return MemoryStatistics(
            size_bytes=self.size,
            free_bytes=self.free_bytes,
            table_bytes=self.table_bytes,
            retired_bytes=self.retired_frames << PAGE_SHIFT,
            scrubbed_bytes=self._owners.scrubbed_bytes,
            frames=self.frames.statistics(),
            traffic=self.local.traffic.statistics(),
            ecc=self.local.ecc.statistics(),
            bus=self.bus.statistics(),
        )

    def check(self) -> None:
        """Raise InvariantError if any part contradicts itself or another."""
        self.frames.check()
        self.local.ecc.check()
        self.bus.check()
        used = self.frames.statistics().used
        if not 0 <= self._tables <= used:
            raise InvariantError(f"{self._tables} page tables in {used} used frames")

    def _require_inside(self, address: int) -> None:
        if not 0 <= address < self.size:
            raise InternalError(f"VRAM of {self.size:#x} bytes has no {hex_address(address)}")
