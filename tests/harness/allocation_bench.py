"""A client with one address space that allocates and releases by ALLOCATE and RELEASE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.spec import DeviceSpec
from firmware.abi.control import (
    Allocate,
    ObjectFlags,
    ObjectKind,
    Release,
    ReleaseMode,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Rights
from firmware.abi.replies import Allocated
from firmware.abi.segment import FenceSlot
from firmware.abi.work import Copy, FenceWait, Fill, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawQueue

VA = 1 << 30
SIZE = 16 * PAGE_SIZE
NONE = WorkFlags.NONE
WAIT, BEHIND = ReleaseMode.WAIT, ReleaseMode.BEHIND_WORK


class AllocationBench:
    """A client with one address space."""

    def __init__(self, vram_size: int = 4 << 20) -> None:
        self.pair = DevicePair(DeviceSpec(vram_size=vram_size, chunk_bytes=512 << 10))
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        self.queue: RawQueue | None = None

    @property
    def free(self) -> int:
        return self.pair.device.memory.free_bytes

    def allocate(
        self,
        va: int = VA,
        size: int = SIZE,
        kind: ObjectKind = ObjectKind.VRAM,
        flags: ObjectFlags = ObjectFlags.NONE,
        rights: Rights = READ_WRITE,
    ) -> Allocate:
        return Allocate(
            request=self.client.request(),
            vmid=self.vmid,
            kind=kind,
            flags=flags,
            rights=rights,
            va=va,
            size_bytes=size,
            page_size=0,
        )

    def allocated(self, va: int = VA, size: int = SIZE) -> int:
        return self.client.ask(self.allocate(va, size), Allocated).object_id

    def release(
        self, object_id: int, va: int = VA, size: int = SIZE, mode: ReleaseMode = BEHIND
    ) -> Release:
        return Release(
            request=self.client.request(),
            vmid=self.vmid,
            mode=mode,
            va=va,
            size_bytes=size,
            object_id=object_id,
        )

    def submit_behind_a_fence(self, *commands: Copy | Fill, slot: int = 0) -> RawQueue:
        """Submit commands that run when a fence slot gets the value 1."""
        queue = self.client.queue(self.vmid)
        wait = FenceWait(flags=NONE, tag=0, pool=0, slot=slot, value=1)
        self.client.submit(queue, wait, *commands)
        self.pair.step()
        return queue

    def open_fence(self, slot: int = 0) -> None:
        at = self.client.layout.fences_offset + slot * FenceSlot.SIZE
        self.client.u64[at >> 3] = 1
        self.pair.step()

    def send(self, command: Release) -> list[int]:
        """Send a command and return the requests that were answered."""
        self.client.send(command.pack())
        self.pair.step()
        return [reply.request for reply in self.client.replies()]


def fill(va: int, size: int = 8, value: bytes = b"\x11") -> Fill:
    pattern = value.ljust(16, b"\0")
    return Fill(flags=NONE, tag=0, destination=va, size_bytes=size, pattern=pattern, pattern_size=1)
