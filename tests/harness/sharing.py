"""An exporter with memory in pieces, and an importer who has seen nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import (
    Export,
    ObjectKind,
)
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.work import MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

VA = 1 << 30
"""Where the exporter has its memory."""
THERE = 1 << 40
"""Where the importer opens it."""
NONE = WorkFlags.NONE


def word_at(pair: DevicePair, client: RawClient, vmid: int, va: int) -> int:
    """Return the word that a client's page tables show at an address."""
    client_state = pair.device._state.clients[client.client_id]
    space = client_state.spaces[vmid].space
    extent = space.translate(va, 8, Access.READ).rows[0]
    data = pair.device.memory.read(extent.aperture, extent.address, 8)
    return int.from_bytes(data, "little")


def write_word(pair: DevicePair, client: RawClient, vmid: int, va: int, value: int) -> None:
    client.submit(
        client.queue(vmid, 16), MemoryWrite(flags=NONE, tag=0, destination=va, value=value)
    )
    pair.step()


def export(client: RawClient, vmid: int, va: int, size: int) -> Export:
    return Export(request=client.request(), vmid=vmid, va=va, size_bytes=size)


class Shared:
    """An exporter with three objects in a row, the second of them mapped from its middle on."""

    def __init__(self, kinds: tuple[ObjectKind, ...] = (ObjectKind.VRAM,) * 3) -> None:
        self.pair = DevicePair()
        self.exporter = self.pair.attach()
        self.vmid = self.exporter.space()
        self.sizes = (3, 2, 4)
        self.offsets = (0, 1, 0)
        self.objects: list[int] = []
        va = VA
        for kind, pages, offset in zip(kinds, self.sizes, self.offsets, strict=True):
            object_id = self.exporter.object((pages + offset) * PAGE_SIZE, kind)
            self.exporter.map(
                self.vmid, va, pages * PAGE_SIZE, object_id, offset=offset * PAGE_SIZE
            )
            self.objects.append(object_id)
            va += pages * PAGE_SIZE
        for page in range(9):
            write_word(self.pair, self.exporter, self.vmid, VA + page * PAGE_SIZE, 0x100 + page)
        self.importer = self.pair.attach()
        self.there = self.importer.space()

    def pages_seen(self, count: int) -> list[int]:
        """Return the words that the importer sees at the start of each page."""
        return [
            word_at(self.pair, self.importer, self.there, THERE + page * PAGE_SIZE) - 0x100
            for page in range(count)
        ]
