"""A client with a queue and some memory on a device with rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.paging import walk
from firmware.abi.control import ObjectCreate, ObjectFlags, ObjectKind
from firmware.abi.rings import COMPLETED, RingState
from firmware.abi.work import Fill, MemoryAdd, MemoryWrite, WorkFlags
from tests.harness.devicepair import SMALL_IMAGE, DevicePair
from tests.harness.injection import Faults, faults_in

if TYPE_CHECKING:
    from firmware.abi.work import WorkCommand
    from tests.harness.stepped_client import RawClient, RawQueue

VA = 1 << 32
SIZE = 64 << 10
NONE = WorkFlags.NONE


class Bench:
    """A client with a queue and some memory, and rules."""

    def __init__(self) -> None:
        self.pair = DevicePair(image=SMALL_IMAGE)
        self.client: RawClient = self.pair.attach()
        self.vmid = self.client.space()
        self.object_id = self.client.object(SIZE)
        self.client.map(self.vmid, VA, SIZE, self.object_id)
        self.queue: RawQueue = self.client.queue(self.vmid)
        self.faults: Faults = faults_in(self.pair)
        self.objects = self.pair.device.statistics().object_count

    def create(self) -> ObjectCreate:
        return ObjectCreate(
            request=self.client.request(),
            kind=ObjectKind.VRAM,
            flags=ObjectFlags.NONE,
            size_bytes=SIZE,
            page_size=0,
        )

    def run(self, *commands: WorkCommand) -> int:
        """Submit, step, and return the seqno that the ring shows."""
        self.client.submit(self.queue, *commands)
        self.pair.step()
        return self.completed

    @property
    def completed(self) -> int:
        return self.client.u64[(self.queue.header + COMPLETED) >> 3]

    @property
    def state(self) -> RingState:
        return self.client.header(self.queue.header).state

    def word(self) -> int:
        """Return the first eight bytes of the memory."""
        spaces = self.pair.device.inside.blocks.state.clients[self.client.client_id].spaces
        root = spaces[self.vmid].space.tables.root
        found = walk(self.pair.device.memory, root, VA)
        return int.from_bytes(bytes(self.pair.vram[found.address : found.address + 8]), "little")

    def is_well(self) -> None:
        """See that without rules a new queue works, and that nothing contradicts anything."""
        self.faults.clear()
        self.pair.step()
        self.client.replies()
        self.queue = self.client.queue(self.vmid)
        assert self.run(MemoryWrite(flags=NONE, tag=0, destination=VA, value=77)) == 1
        assert self.word() == 77
        self.pair.device.check()
        self.pair.detach(self.client)
        self.pair.step()
        after = self.pair.device.statistics()
        assert (after.object_count, after.queue_count, after.space_count) == (0, 0, 0)
        self.pair.device.check()


def fill(value: int = 0x11, size: int = 8) -> Fill:
    pattern = bytes([value]).ljust(16, b"\0")
    return Fill(flags=NONE, tag=5, destination=VA, size_bytes=size, pattern=pattern, pattern_size=1)


def add(value: int) -> MemoryAdd:
    return MemoryAdd(flags=NONE, tag=0, destination=VA, value=value)
