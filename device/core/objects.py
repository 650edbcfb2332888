"""Memory objects: what stands behind mappings, who holds it, and when it goes."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, final

from device.core.errors import InvariantError
from firmware.abi.control import ObjectFlags, ObjectKind
from firmware.abi.ids import ALL_RIGHTS, PAGE_SHIFT, VA_LIMIT, Rights
from firmware.abi.paging import Aperture, leaf_entry
from firmware.abi.statistics import ObjectProperties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from device.core.memory import Run
    from device.core.parts import Parts, PieceLists
    from device.core.ports import SharedFile


# Plain numbers: operations on flags take ten times as long.
_NOT_READ: Final = int(ALL_RIGHTS & ~Rights.READ)
_READ_ONLY: Final = int(ObjectFlags.READ_ONLY)
_LOCAL: Final = int(leaf_entry(0, Rights.NONE))
_BUS: Final = int(leaf_entry(0, Rights.NONE, Aperture.BUS))


@final
class MemoryObject:
    """Memory with a number: frames of VRAM, a memory file, or a client's own pages.

    Owner: the `ObjectStore`. Invariants: it lives as long as `holders` is above zero: its client
    (until it is destroyed), each export, each acknowledgement that is awaited. Its physical place
    never changes. Nothing of it survives a device reset, save while a chunk in flight uses it.
    """

    __slots__ = (
        "_entries",
        "_free",
        "_starts",
        "bus_address",
        "client_id",
        "denied",
        "entry",
        "export_count",
        "exportable",
        "file",
        "file_offset",
        "flags",
        "holders",
        "kind",
        "mapping_count",
        "object_id",
        "owned",
        "page_size",
        "releasing",
        "runs",
        "size",
    )

    def __init__(
        self,
        object_id: int,
        client_id: int,
        kind: ObjectKind,
        flags: ObjectFlags,
        size: int,
        free: Callable[[MemoryObject], None],
    ) -> None:
        self.object_id = object_id
        self.client_id = client_id
        """Client that made it; it may have gone."""
        self.kind = kind
        self.flags = flags
        self.size = size
        self.denied = _NOT_READ if int(flags) & _READ_ONLY else 0
        """Rights that no mapping may have, as a plain number."""
        self.exportable = kind is not ObjectKind.CLIENT_PAGES
        """Whether exports can carry it: a client's own pages go away with the client."""
        self.page_size = 1 << PAGE_SHIFT
        self.runs: tuple[Run, ...] = ()
        """Frames charged for it."""
        self.bus_address = 0
        self.file: SharedFile | None = None
        self.file_offset = 0
        """Where it begins in its file."""
        self.entry = 0
        """Page-table entry without rights of its first page when all is one piece, else 0."""
        self.mapping_count = 0
        self.export_count = 0
        self.owned = True
        """Whether its client still has it."""
        self.releasing = False
        """Whether a release of it waits behind work."""
        self.holders = 1
        self._free = free
        self._starts: Sequence[int] = ()
        self._entries: Sequence[int] = ()

    @property
    def is_registered(self) -> bool:
        """Whether it is the client's own memory, made known by SEGMENT_REGISTER."""
        return self.kind in (ObjectKind.CLIENT_DESCRIPTOR, ObjectKind.CLIENT_PAGES)

    @property
    def vram_bytes(self) -> int:
        """Device memory charged for it."""
        return sum(run.count for run in self.runs) << PAGE_SHIFT

    def place_in_vram(self, runs: Sequence[Run], page_sizes: Iterable[int]) -> None:
        """Stand in these frames."""
        self.runs = tuple(runs)
        if len(runs) == 1:
            spread = runs[0].first << PAGE_SHIFT
            self.entry = _LOCAL | spread
        else:
            spread = self._place_pieces(runs)
        self.page_size = largest_page(page_sizes, spread, self.size)

    def _place_pieces(self, runs: Sequence[Run]) -> int:
        """Note where each run stands; return the bits of all addresses and offsets."""
        offset = spread = 0
        starts: list[int] = []
        entries: list[int] = []
        for first, count in runs:
            address = first << PAGE_SHIFT
            starts.append(offset)
            entries.append(_LOCAL | address)
            spread |= address | offset
            offset += count << PAGE_SHIFT
        self._starts, self._entries = starts, entries
        return spread

    def place_on_bus(self, address: int, page_sizes: Iterable[int]) -> None:
        """Stand at these bus addresses."""
        self.bus_address = address
        self.entry = _BUS | address
        self.page_size = largest_page(page_sizes, address, self.size)

    def append_pieces(self, into: PieceLists, va: int, offset: int, size: int) -> None:
        """Append the physical pieces of a part that is to be mapped at `va`."""
        if self.entry:
            into.va.append(va)
            into.size.append(size)
            into.entry.append(self.entry + offset)
            return
        end = offset + size
        index = bisect_right(self._starts, offset) - 1
        while offset < end:
            start = self._starts[index]
            index += 1
            stop = self._starts[index] if index < len(self._starts) else self.size
            length = min(stop, end) - offset
            into.va.append(va)
            into.size.append(length)
            into.entry.append(self._entries[index - 1] + offset - start)
            va += length
            offset += length

    def append_parts(self, into: Parts, offset: int, size: int) -> None:
        """Append the part itself (imports consist of several objects' parts)."""
        into.append(self, offset, size)

    def hold(self) -> None:
        """Keep it alive until `drop`."""
        self.holders += 1

    def drop(self) -> None:
        """Give up what `hold` kept; the last one frees the memory."""
        self.holders -= 1
        if not self.holders:
            self._free(self)

    def disown(self) -> None:
        """Take it from its client, for whom it does not exist any more."""
        self.owned = False
        self.drop()

    def properties(self) -> ObjectProperties:
        """Return the record that describes it."""
        return ObjectProperties(
            object_id=self.object_id,
            kind=self.kind,
            flags=self.flags,
            size_bytes=self.size,
            page_size=self.page_size,
            mapping_count=self.mapping_count,
            export_count=self.export_count,
            bus_address=self.bus_address,
        )

    def check(self) -> None:
        """Raise InvariantError when its counts or its place contradict each other."""
        where = f"object {self.object_id} of client {self.client_id}"
        if self.holders < self.owned + self.export_count or self.holders < 1:
            raise InvariantError(f"{where}: {self.holders} holders, {self.export_count} exports")
        if self.mapping_count < 0:
            raise InvariantError(f"{where}: {self.mapping_count} mappings")
        if self.runs and self.vram_bytes != self.size:
            raise InvariantError(f"{where}: {self.vram_bytes:#x} of {self.size:#x} bytes of VRAM")


@final
class NullPages:
    """What null mappings map: no memory; loads give zero, stores are dropped.

    Owner: the address space that maps it. It is never freed; offsets in it mean nothing.
    """

    __slots__ = ("mapping_count",)

    entry: Final = int(leaf_entry(0, Rights.NONE, null=True))
    size: Final = VA_LIMIT
    denied: Final = 0
    exportable: Final = False

    def __init__(self) -> None:
        self.mapping_count = 0

    def append_pieces(self, into: PieceLists, va: int, offset: int, size: int) -> None:
        """Append one piece: every page of it has the same entry."""
        del offset
        into.va.append(va)
        into.size.append(size)
        into.entry.append(self.entry)

    def append_parts(self, into: Parts, offset: int, size: int) -> None:
        """Append nothing: there is no memory."""

    def hold(self) -> None:
        """Do nothing."""

    def drop(self) -> None:
        """Do nothing."""


def largest_page(page_sizes: Iterable[int], spread: int, size: int) -> int:
    """Return the largest leaf that fits memory whose addresses and offsets have bits `spread`.

    `page_sizes` are in descending order.
    """
    alignment = (spread & -spread) or size
    limit = min(size, alignment)
    for page in page_sizes:
        if page <= limit:
            return page
    return 1 << PAGE_SHIFT
