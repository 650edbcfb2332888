"""A device with rules, one client and memory of it: what commands do there, byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.paging import walk
from device.core.spec import DeviceSpec
from firmware.abi.control import QueueReset
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from tests.harness.devicepair import DevicePair
from tests.harness.injection import faults_in
from tests.harness.stepped_client import is_done

if TYPE_CHECKING:
    from firmware.abi.faults import FaultRecord
    from firmware.abi.statistics import DeviceStatistics
    from firmware.abi.work import WorkCommand
    from tests.harness.stepped_client import RawQueue

A = 0x1000_0000
B = 0x2000_0000
"""Where the memory is mapped: `size` bytes at each."""
MIB = 1 << 20


class Injected:
    """One client with a queue, and memory at A and B."""

    def __init__(
        self, size: int = 16 * PAGE_SIZE, *, seed: int = 0, spec: DeviceSpec | None = None
    ) -> None:
        self.pair = DevicePair(spec or DeviceSpec(vram_size=16 * MIB, chunk_bytes=2 * MIB))
        self.device = self.pair.device
        self.before = self.device.statistics()
        self.faults = faults_in(self.pair, seed)
        self.size = size
        self.begin()

    def begin(self) -> None:
        """Attach a client, and map its memory."""
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        for va in (A, B):
            self.client.map(self.vmid, va, self.size, self.client.object(self.size))
        self.queue: RawQueue = self.client.queue(self.vmid)

    @property
    def root(self) -> int:
        """VRAM address of the root page table."""
        client = self.device.inside.blocks.state.clients[self.client.client_id]
        return client.spaces[self.vmid].space.tables.root

    @property
    def completed(self) -> int:
        """Commands that the queue completed."""
        return self.client.header(self.queue.header).completed

    def run(self, *commands: WorkCommand) -> list[FaultRecord]:
        """Submit commands and let the device work, also later if it wants to; return faults."""
        self.client.submit(self.queue, *commands)
        self.pair.step()
        while wakes := self.pair.wakes():
            self.pair.now = max(self.pair.now, *wakes)
            self.pair.step()
        return self.client.faults()

    def reset_queue(self) -> None:
        """Recover the queue."""
        self.queue.tail = 0
        command = QueueReset(request=self.client.request(), queue_id=self.queue.queue_id)
        assert is_done(self.client.call(command))

    def vram(self, va: int) -> int:
        """Return the VRAM address where a virtual one stands."""
        found = walk(self.device.memory, self.root, va)
        assert found.fault is None
        return found.address

    def peek(self, va: int, size: int) -> bytes:
        """Return bytes, leaf by leaf, without any access of an engine."""
        parts: list[bytes] = []
        at, end = va, va + size
        while at < end:
            found = walk(self.device.memory, self.root, at)
            assert found.fault is None
            count = min(end - at, found.size - at % found.size)
            parts.append(bytes(self.pair.vram[found.address : found.address + count]))
            at += count
        return b"".join(parts)

    def poke(self, va: int, data: bytes) -> None:
        """Store bytes that stand in one page."""
        at = self.vram(va)
        assert (at ^ at + len(data) - 1) >> PAGE_SHIFT == 0
        self.pair.vram[at : at + len(data)] = data
        self.device.memory.local.owners.note(at, len(data))

    def statistics(self) -> DeviceStatistics:
        """Return the counters of the device."""
        return self.device.statistics()

    def end(self, *, lost_bytes: int = 0) -> None:
        """Let the client go without a rule, and look whether everything came back."""
        self.faults.clear()
        self.pair.step()
        self.device.check()
        self.pair.detach(self.client)
        self.pair.step()
        self.device.check()
        after = self.device.statistics()
        assert after.free_bytes == self.before.free_bytes - lost_bytes
        assert (after.object_count, after.space_count, after.queue_count) == (0, 0, 0)
        assert not self.pair.system_memory.open_files
