"""Exports: snapshots of what a range of addresses maps; imports: exports that were opened."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final, final

from device.core.errors import InvariantError
from device.core.parts import file_parts, place
from firmware.abi.statistics import ExportProperties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from device.core.objects import MemoryObject
    from device.core.parts import Parts, PieceLists
    from firmware.abi.ids import Rights

_DENIED: Final = attrgetter("denied")


@final
class Export:
    """Memory that can be opened by its token: parts of objects in the order of a range.

    Owner: the `ExportTable`. Invariants: its parts never change and their objects live as long as
    it does; it lives while `live` or while `holders` (its imports) is above zero. Ended by a device
    reset, which revokes it and closes its imports.
    """

    __slots__ = (
        "_file_parts",
        "_free",
        "_starts",
        "client_id",
        "denied",
        "holders",
        "live",
        "objects",
        "parts",
        "pid",
        "pieces",
        "shared",
        "size",
        "token",
        "window_offset",
    )

    def __init__(
        self,
        token: bytes,
        client_id: int,
        pid: int,
        parts: Parts,
        *,
        window_offset: int,
        size: int,
        free: Callable[[Export], None],
    ) -> None:
        self.token = token
        self.client_id = client_id
        self.pid = pid
        self.parts = parts
        """Whole pages: the window begins `window_offset` bytes into the first part."""
        self.window_offset = window_offset
        self.size = size
        """Bytes of the window."""
        self.live = True
        """Whether it can be opened: neither put, nor is its exporter gone."""
        self.shared = False
        """Whether another client than the exporter has opened it."""
        self.holders = 1
        self._free = free
        self._file_parts: list[int] | None = None
        self._starts = parts.starts()
        self.pieces, _ = place(self._starts[:-1], parts.sizes, parts.memories, parts.offsets)
        """Physical pieces of the whole pages, as if mapped at 0."""
        self.objects = parts.objects()
        """The objects, each once."""
        self.denied = 0
        """Rights that no mapping of it may have, as a plain number."""
        for memory in self.objects:
            memory.holders += 1
            memory.export_count += 1
        for denied in set(map(_DENIED, self.objects)):
            self.denied |= denied

    @property
    def mapped_size(self) -> int:
        """Bytes of the whole pages that hold the window."""
        return self._starts[-1]

    @property
    def open_count(self) -> int:
        """Imports open now."""
        return self.holders - self.live

    @property
    def file_parts(self) -> list[int]:
        """Which parts stand in memory files that the CPU may see."""
        if self._file_parts is None:
            self._file_parts = file_parts(self.parts.memories)
        return self._file_parts

    def start_of(self, part: int) -> int:
        """Return where a part begins in the whole pages."""
        return self._starts[part]

    def cut(self, offset: int, size: int) -> Iterator[tuple[MemoryObject, int, int]]:
        """Return object, offset and size of the parts that lie in some bytes of the pages."""
        end = offset + size
        parts = self.parts
        index = bisect_right(self._starts, offset) - 1
        while offset < end:
            skip = offset - self._starts[index]
            length = min(self._starts[index + 1], end) - offset
            yield parts.memories[index], parts.offsets[index] + skip, length
            offset += length
            index += 1

    def revoke(self) -> None:
        """Let it be opened no more; what is open lives until its last close."""
        if self.live:
            self.live = False
            self.drop()

    def drop(self) -> None:
        """Give up one holder; the last one lets the objects go."""
        self.holders -= 1
        if self.holders:
            return
        for memory in self.objects:
            memory.export_count -= 1
            memory.drop()
        self._free(self)

    def check(self) -> None:
        """Raise InvariantError when the export contradicts itself."""
        where = f"export of client {self.client_id}"
        if not len(self.parts) or self.holders < 1:
            raise InvariantError(f"{where}: {len(self.parts)} parts, {self.holders} holders")
        if self.window_offset + self.size > self.mapped_size:
            raise InvariantError(f"{where}: its window leaves its pages")
        if int(self.pieces.size.sum()) != self.mapped_size:
            raise InvariantError(
                f"{where}: its pieces do not add up to {self.mapped_size:#x} bytes"
            )


@final
class Import:
    """An export as one client opened it; stands in its address space like an object.

    Owner: its client. Invariants: it holds its export as long as `holders` is above zero: its
    client, until EXPORT_CLOSE, and each acknowledgement that is awaited.
    """

    __slots__ = (
        "denied",
        "export",
        "holders",
        "import_id",
        "mapping_count",
        "rights",
        "size",
        "va",
        "vmid",
    )

    entry: Final = 0
    """It is not one piece."""
    exportable: Final = True

    def __init__(self, import_id: int, export: Export, vmid: int, va: int, rights: Rights) -> None:
        self.import_id = import_id
        self.export = export
        self.vmid = vmid
        self.va = va
        self.rights = rights
        self.denied = export.denied
        self.size = export.mapped_size
        self.mapping_count = 0
        self.holders = 1
        export.holders += 1

    def append_pieces(self, into: PieceLists, va: int, offset: int, size: int) -> None:
        """Append the physical pieces of a part that is to be mapped at `va`."""
        for memory, start, length in self.export.cut(offset, size):
            memory.append_pieces(into, va, start, length)
            va += length

    def append_parts(self, into: Parts, offset: int, size: int) -> None:
        """Append the parts of objects that stand in some of its bytes."""
        for memory, start, length in self.export.cut(offset, size):
            into.append(memory, start, length)

    def hold(self) -> None:
        """Keep the export alive until `drop`."""
        self.holders += 1

    def drop(self) -> None:
        """Give up what `hold` kept; the last one closes the import."""
        self.holders -= 1
        if not self.holders:
            self.export.drop()

    def properties(self) -> ExportProperties:
        """Return the record that describes the export behind it."""
        export = self.export
        return ExportProperties(
            import_id=self.import_id,
            exporter_client=export.client_id,
            size_bytes=export.size,
            window_offset=export.window_offset,
            object_count=len(export.parts),
            open_count=export.open_count,
            exporter_pid=export.pid,
            live=int(export.live),
        )
