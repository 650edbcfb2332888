"""A client with one address space and one object, and short forms of the mapping commands."""

from __future__ import annotations

from firmware.abi.control import (
    Map,
    MapExtent,
    MapList,
    Protect,
    ProtectList,
    Query,
    RangeExtent,
    TranslationExtent,
    Unmap,
    UnmapList,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Rights
from firmware.abi.replies import Queried
from tests.harness.devicepair import DevicePair

VA = 1 << 30
NO_HOLE = (1 << 64) - 1
READ = Rights.READ


class Bench:
    """A client with one address space and one object of 16 pages."""

    def __init__(self, vram_size: int = 4 << 20) -> None:
        self.pair = DevicePair(vram_size=vram_size)
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        self.object = self.client.object(16 * PAGE_SIZE)

    def map(self, va: int, size: int, object_id: int | None = None, offset: int = 0) -> Map:
        number = self.object if object_id is None else object_id
        return self.client.map_command(self.vmid, va, size, number, offset)

    def map_list(self, *extents: MapExtent) -> MapList:
        self.client.put_payload(b"".join(extent.pack() for extent in extents))
        return MapList(
            request=self.client.request(), vmid=self.vmid, count=len(extents), payload_offset=0
        )

    def extent(
        self,
        va: int,
        size: int,
        object_id: int | None = None,
        object_offset: int = 0,
        rights: Rights = READ_WRITE,
    ) -> MapExtent:
        return MapExtent(
            va=va,
            size_bytes=size,
            object_id=self.object if object_id is None else object_id,
            object_offset=object_offset,
            rights=rights,
        )

    def ranges(
        self, kind: type[UnmapList | ProtectList], *rows: RangeExtent
    ) -> UnmapList | ProtectList:
        self.client.put_payload(b"".join(row.pack() for row in rows))
        return kind(
            request=self.client.request(), vmid=self.vmid, count=len(rows), payload_offset=0
        )

    def unmap(self, va: int, size: int) -> Unmap:
        return Unmap(request=self.client.request(), vmid=self.vmid, va=va, size_bytes=size)

    def protect(self, va: int, size: int, rights: Rights) -> Protect:
        return Protect(
            request=self.client.request(), vmid=self.vmid, rights=rights, va=va, size_bytes=size
        )

    def query(
        self, va: int, size: int, capacity: int = 64
    ) -> tuple[list[TranslationExtent], Queried]:
        command = Query(
            request=self.client.request(),
            vmid=self.vmid,
            payload_offset=0,
            va=va,
            size_bytes=size,
            capacity=capacity,
        )
        reply = self.client.ask(command, Queried)
        data = self.client.payload(0, reply.count * TranslationExtent.SIZE)
        found = [
            TranslationExtent.unpack(data, at) for at in range(0, len(data), TranslationExtent.SIZE)
        ]
        return [extent for extent in found if isinstance(extent, TranslationExtent)], reply


def row(va: int, size: int, rights: Rights = Rights.NONE) -> RangeExtent:
    return RangeExtent(va=va, size_bytes=size, rights=rights)
