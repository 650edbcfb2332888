"""EXPORT, EXPORT_OPEN, EXPORT_CLOSE, EXPORT_PUT: memory shared by tokens."""

from __future__ import annotations

from itertools import chain
from operator import add, attrgetter
from typing import TYPE_CHECKING, Final, cast, final

from device.core.acknowledge import AT_ONCE
from device.core.errors import DeviceError, InvariantError
from device.core.exportedfiles import ExportedFiles
from device.core.exports import Export, Import
from device.core.mapping import Span
from device.core.objects import MemoryObject
from device.core.parts import Parts
from device.core.spaces import check_range
from firmware.abi.ids import PAGE_SIZE, Feature, Rights
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.acknowledge import Acknowledgement
    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.ids import Ids
    from device.core.mapping import Mapper
    from device.core.memory import MemoryController
    from device.core.ports import Tokens
    from device.core.spaces import ClientSpace, Spaces

_OFFSET_MASK: Final = PAGE_SIZE - 1
# Called by `map`: a range may have a hundred thousand objects, and a loop takes twice as long.
_RUNS: Final = attrgetter("runs")
_EXPORTABLE: Final = attrgetter("exportable")


@final
class ExportTable:
    """Every export of the device: live ones by token, and put ones that are still open.

    Owner: the device. Invariants: a token is here exactly while its export is live, and in its
    exporter's table as well; an export that is neither live nor open is gone. A device reset ends
    all clients, which empties it.
    """

    def __init__(
        self,
        tokens: Tokens,
        memory: MemoryController,
        spaces: Spaces,
        mapper: Mapper,
        configuration: Configuration,
        ids: Ids,
    ) -> None:
        self._tokens = tokens
        self._memory = memory
        self._spaces = spaces
        self._mapper = mapper
        self._configuration = configuration
        self._ids = ids
        self.files = ExportedFiles()
        self._live: dict[bytes, Export] = {}
        self._all: dict[int, Export] = {}

    def __iter__(self) -> Iterator[Export]:
        """Every export, put ones that are open included."""
        return iter(self._all.values())

    @property
    def live_count(self) -> int:
        """Exports that can be opened."""
        return len(self._live)

    def export(self, client: Client, vmid: int, span: Span) -> Export:
        """Snapshot what a range maps, any first byte and size, under a new token.

        Raises:
            DeviceError: BAD_SPACE, BAD_RANGE; NOT_EXPORTABLE, NOT_MAPPED (detail: first such
                address); LIMIT (detail: most objects of a range, or in all of the client's live
                exports); UNSUPPORTED for several objects when the client did not agree on ranges.
        """
        space = self._spaces.find(client, vmid)
        va, size = span
        check_range(va, size)
        return self._export(client, _parts_of(space, va, size), va & _OFFSET_MASK, size)

    def export_object(self, client: Client, object_id: int, part: Span) -> Export:
        """Export some bytes of one object, mapped or not, under a new token.

        Args:
            client: who exports.
            object_id: the object.
            part: first byte in the object, any alignment, and size.

        Raises:
            DeviceError: BAD_OBJECT, NOT_EXPORTABLE, BAD_RANGE (detail: first byte); LIMIT as
                `export`.
        """
        memory = client.objects.get(object_id)
        if memory is None:
            raise DeviceError(Status.BAD_OBJECT, object_id)
        if not memory.exportable:
            raise DeviceError(Status.NOT_EXPORTABLE, object_id)
        offset, size = part
        if size == 0 or offset + size > memory.size:
            raise DeviceError(Status.BAD_RANGE, offset, memory.size)
        first = offset & -PAGE_SIZE
        end = (offset + size + _OFFSET_MASK) & -PAGE_SIZE
        parts = Parts([memory], [first], [end - first])
        return self._export(client, parts, offset & _OFFSET_MASK, size)

    def _export(self, client: Client, parts: Parts, window_offset: int, size: int) -> Export:
        """Make an export of parts, if the limits allow."""
        limit = self._configuration.spec.max_range_objects
        if limit and len(parts) > limit:
            raise DeviceError(Status.LIMIT, limit, len(parts))
        if len(parts) > 1 and not client.features & Feature.IPC_RANGES:
            raise DeviceError(Status.UNSUPPORTED, len(parts), 1)
        self._check_parts(client.exported_parts + len(parts))
        made = Export(
            self._tokens.token(),
            client.client_id,
            client.port.pid,
            parts,
            window_offset=window_offset,
            size=size,
            free=self._free,
        )
        self._all[id(made)] = made
        self._live[made.token] = made
        client.exports[made.token] = made
        client.exported_parts += len(parts)
        self.files.note(made)
        return made

    def open(
        self,
        client: Client,
        vmid: int,
        token: bytes,
        rights: Rights,
        va: int,
        window: Span,
    ) -> Import:
        """Map an export whole at `va`, in one step.

        Args:
            client: who opens; the exporter may.
            vmid: its address space.
            token: capability.
            rights: rights of the mapping.
            va: first address, page aligned.
            window: offset of the window in its first page and its size, as the handle tells them.

        Raises:
            DeviceError: BAD_SPACE, BAD_TOKEN; MISMATCH (detail: the export's offset or size);
                BAD_ALIGNMENT, BAD_RANGE, BAD_RIGHTS, LIMIT, OVERLAP, OUT_OF_DEVICE_MEMORY.
        """
        space = self._spaces.find(client, vmid)
        export = self._live.get(token)
        if export is None:
            raise DeviceError(Status.BAD_TOKEN)
        for own, told in (export.window_offset, window.va), (export.size, window.size):
            if own != told:
                raise DeviceError(Status.MISMATCH, own, own)
        if va & _OFFSET_MASK:
            raise DeviceError(Status.BAD_ALIGNMENT, va, PAGE_SIZE)
        check_range(va, export.mapped_size)
        if rights & export.denied:
            raise DeviceError(Status.BAD_RIGHTS, va, rights & ~export.denied)
        self._check_parts(client.imported_parts + len(export.parts))
        if len(client.objects) + len(client.imports) >= self._configuration.spec.max_objects:
            raise DeviceError(Status.LIMIT, self._configuration.spec.max_objects)
        opened = Import(next(self._ids.objects), export, vmid, va, rights)
        try:
            self._mapper.install(space, opened)
        except DeviceError:
            opened.drop()
            raise
        client.imports[opened.import_id] = opened
        client.imported_parts += len(export.parts)
        if client.client_id != export.client_id:
            self._share(export)
        return opened

    def close(self, client: Client, import_id: int) -> Acknowledgement:
        """Unmap what is left of an import and give its export up.

        Raises:
            DeviceError: BAD_OBJECT; OUT_OF_DEVICE_MEMORY when there is no table for a split.
        """
        opened = client.imports.get(import_id)
        if opened is None:
            raise DeviceError(Status.BAD_OBJECT, import_id)
        space = client.spaces.get(opened.vmid)
        # The client may have unmapped parts, mapped other things there, or destroyed the space.
        spans = [] if space is None else _spans_of(space, opened)
        acknowledgement = AT_ONCE
        if space is not None and spans:
            _, acknowledgement = self._mapper.clear(space, spans)
        del client.imports[import_id]
        client.imported_parts -= len(opened.export.parts)
        opened.drop()
        return acknowledgement

    def put(self, client: Client, token: bytes) -> None:
        """Revoke an export; what is open lives until its last close.

        Raises:
            DeviceError: BAD_TOKEN when the client has no live export with this token.
        """
        export = client.exports.pop(token, None)
        if export is None:
            raise DeviceError(Status.BAD_TOKEN)
        client.exported_parts -= len(export.parts)
        self._revoke(export)

    def revoke_all(self, client: Client) -> None:
        """Revoke every export of a client that goes."""
        for export in client.exports.values():
            self._revoke(export)
        client.exports.clear()
        client.exported_parts = 0

    def check(self) -> None:
        """Raise InvariantError when an export is here that should not be, or the reverse."""
        for export in self:
            export.check()
            if export.live is not (export.token in self._live):
                raise InvariantError(f"export of client {export.client_id}: live {export.live}")

    def _check_parts(self, count: int) -> None:
        """Check how many parts of objects a client's exports, or its imports, may hold in all.

        Each holds a list of them, however often the same memory is exported.
        """
        if count > self._configuration.spec.max_objects:
            raise DeviceError(Status.LIMIT, self._configuration.spec.max_objects, count)

    def _share(self, export: Export) -> None:
        """Note that a second process may write an export's frames, once."""
        if not export.shared:
            export.shared = True
            self._memory.share(list(chain.from_iterable(map(_RUNS, export.objects))))

    def _revoke(self, export: Export) -> None:
        del self._live[export.token]
        self.files.forget(export)
        export.revoke()

    def _free(self, export: Export) -> None:
        del self._all[id(export)]


def _parts_of(space: ClientSpace, va: int, size: int) -> Parts:
    """Return the parts of objects along the whole pages that hold a range.

    Memory that cannot be exported is refused wherever it stands; then the first hole.
    """
    first = va & -PAGE_SIZE
    end = (va + size + _OFFSET_MASK) & -PAGE_SIZE
    starts, sizes, backings, offsets = space.mappings.columns_inside(first, end - first)
    if not all(map(_EXPORTABLE, backings)):
        first_such = next(at for at, b in zip(starts, backings, strict=True) if not b.exportable)
        raise DeviceError(Status.NOT_EXPORTABLE, max(first_such, va))
    ends = list(map(add, starts, sizes))
    if [first, *ends] != [*starts, end]:
        pairs = zip([first, *ends], [*starts, end], strict=True)
        hole = next(stop for stop, start in pairs if stop != start)
        raise DeviceError(Status.NOT_MAPPED, max(hole, va))
    if set(map(type, backings)) == {MemoryObject} and len(set(backings)) == len(backings):
        return Parts(cast("list[MemoryObject]", backings), offsets, sizes)
    parts = Parts([], [], [])
    for backing, offset, length in zip(backings, offsets, sizes, strict=True):
        backing.append_parts(parts, offset, length)
    return parts


def _spans_of(space: ClientSpace, opened: Import) -> list[Span]:
    """Return where an import is still mapped."""
    return [
        Span(piece.start, piece.size)
        for piece in space.mappings.inside(opened.va, opened.size)
        if piece.backing is opened
    ]
