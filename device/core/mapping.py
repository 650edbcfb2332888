"""Map, unmap and protect: page tables, mappings and TLB change in one step, or not at all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from device.core.acknowledge import AT_ONCE
from device.core.errors import DeviceError
from device.core.mappingchecks import (
    OFFSET_MASK,
    backings_of,
    check_columns,
    check_part,
    check_parts,
    check_rights,
    misaligned,
)
from device.core.parts import columns_of, no_pieces, place
from device.core.spaces import check_range
from firmware.abi.control import InvalidateScope
from firmware.abi.ids import VA_LIMIT, Rights
from firmware.abi.paging import RIGHTS_SHIFT
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from device.core.acknowledge import Acknowledgement, Acknowledgements
    from device.core.clients import Client
    from device.core.exports import Import
    from device.core.invalidations import Invalidations
    from device.core.paging import AddressSpace
    from device.core.spaces import Backing, ClientSpace, Spaces

_FEW_RANGES: Final = 16
"""Up to so many ranges are invalidated one by one, more as the whole that they lie in."""


class Span(NamedTuple):
    """A range of virtual addresses."""

    va: int
    size: int


def _unseen(space: AddressSpace, spans: Iterable[tuple[int, int]]) -> None:
    """See nothing of what was written."""


@final
class Mapper:
    """Changes what is mapped in address spaces.

    Owner: the device. It keeps nothing but the parts it works with. Every method either does all
    that it says or raises `DeviceError` and has changed nothing. Memory that was unmapped is held
    until the engines have acknowledged, so that its objects may be destroyed at once.
    """

    def __init__(
        self, spaces: Spaces, invalidations: Invalidations, acknowledgements: Acknowledgements
    ) -> None:
        self._spaces = spaces
        self._invalidations = invalidations
        self._acknowledgements = acknowledgements
        self.written: Callable[[AddressSpace, Iterable[tuple[int, int]]], None] = _unseen
        """Told of ranges (va, size) of which entries were written: mapped, or with new rights."""

    def map(
        self,
        client: Client,
        vmid: int,
        span: Span,
        object_id: int,
        offset: int,
        rights: Rights,
    ) -> int:
        """Map part of an object (0: null pages); return the 4 KiB pages mapped.

        Raises:
            DeviceError: BAD_SPACE, BAD_ALIGNMENT, BAD_RANGE, BAD_OBJECT, BAD_RIGHTS, OVERLAP,
                OUT_OF_DEVICE_MEMORY for tables.
        """
        space = self._spaces.find(client, vmid)
        va, size = span
        if (va | size | offset) & OFFSET_MASK:
            raise misaligned(va, size, offset)
        check_range(va, size)
        backing: Backing | None
        if object_id:
            backing = client.objects.get(object_id)
        else:
            # Null pages have no offsets.
            backing, offset = space.null, 0
        if backing is None:
            raise DeviceError(Status.BAD_OBJECT, object_id)
        # A plain number: arithmetic on flags runs through Python code of `enum`.
        plain = int(rights)
        check_part(backing, va, offset + size, plain)
        bits = plain << RIGHTS_SHIFT
        if backing.entry:
            pages = space.space.tables.map_one(va, size, backing.entry + offset | bits)
        else:
            pieces = no_pieces()
            backing.append_pieces(pieces, va, offset, size)
            columns = columns_of(pieces)
            entries = columns.entry | np.uint64(bits)
            pages = space.space.tables.map(columns.va, columns.size, entries)
        space.mappings.add(va, size, backing, offset)
        self.written(space.space, (span,))
        return pages

    def map_list(self, client: Client, vmid: int, extents: NDArray[np.void]) -> int:
        """Map a list of extents (columns of `MapExtent`); return the 4 KiB pages mapped.

        Raises:
            DeviceError: as `map`, for the first extent that is refused.
        """
        space = self._spaces.find(client, vmid)
        check_columns(extents["va"], extents["size_bytes"], extents["object_offset"])
        ids = extents["object_id"]
        backings = backings_of(client, space, ids.tolist())
        # Null pages have no offsets.
        offset = np.where(ids == 0, np.uint64(0), extents["object_offset"])
        check_parts(backings, extents, offset)
        va, sizes = extents["va"].tolist(), extents["size_bytes"].tolist()
        offsets = offset.tolist()
        pieces, counts = place(va, sizes, backings, offsets)
        bits = extents["rights"].astype(np.uint64) << np.uint64(RIGHTS_SHIFT)
        if counts is not None:
            bits = np.repeat(bits, counts)
        pages = space.space.tables.map(pieces.va, pieces.size, pieces.entry | bits)
        space.mappings.add_many(va, sizes, backings, offsets)
        self.written(space.space, zip(va, sizes, strict=True))
        return pages

    def unmap(self, client: Client, vmid: int, span: Span) -> tuple[int, Acknowledgement]:
        """Clear a range, holes allowed; return the 4 KiB pages unmapped.

        Raises:
            DeviceError: BAD_SPACE, BAD_ALIGNMENT, BAD_RANGE; OUT_OF_DEVICE_MEMORY when a large page
                has to be split and there is no table for it.
        """
        space = self._spaces.find(client, vmid)
        pages = space.space.tables.unmap(span.va, span.size)
        return pages, self._forget(space, [span], unmapped=True)

    def unmap_list(
        self, client: Client, vmid: int, ranges: NDArray[np.void]
    ) -> tuple[int, Acknowledgement]:
        """Clear a list of ranges (columns of `RangeExtent`), as `unmap` does, all or none."""
        space = self._spaces.find(client, vmid)
        check_columns(ranges["va"], ranges["size_bytes"])
        return self.clear(space, _spans(ranges))

    def clear(self, space: ClientSpace, spans: list[Span]) -> tuple[int, Acknowledgement]:
        """Clear ranges of an address space, all or none; return the 4 KiB pages unmapped.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY when there is no table for a split.
        """
        if len(spans) == 1:
            pages = space.space.tables.unmap(*spans[0])
        else:
            columns = np.array(spans, np.uint64)
            pages = space.space.tables.unmap_list(columns[:, 0], columns[:, 1])
        return pages, self._forget(space, spans, unmapped=True)

    def protect(
        self, client: Client, vmid: int, span: Span, rights: Rights
    ) -> tuple[int, Acknowledgement]:
        """Change the rights of a range without holes; return its 4 KiB pages.

        Raises:
            DeviceError: as `unmap`; BAD_RIGHTS, NOT_MAPPED (detail: first such address).
        """
        space = self._spaces.find(client, vmid)
        if (span.va | span.size) & OFFSET_MASK:
            raise misaligned(*span)
        check_range(*span)
        check_rights(space, span, int(rights))
        pages = space.space.tables.protect(span.va, span.size, rights)
        self.written(space.space, (span,))
        return pages, self._forget(space, [span], unmapped=False)

    def protect_list(
        self, client: Client, vmid: int, ranges: NDArray[np.void]
    ) -> tuple[int, Acknowledgement]:
        """Change the rights of a list of ranges, as `protect` does, all or none.

        Raises:
            DeviceError: as `protect`; OVERLAP when ranges overlap each other.
        """
        space = self._spaces.find(client, vmid)
        check_columns(ranges["va"], ranges["size_bytes"])
        spans = _spans(ranges)
        for span, rights in zip(spans, ranges["rights"].tolist(), strict=True):
            check_rights(space, span, rights)
        pages = space.space.tables.protect_list(
            ranges["va"], ranges["size_bytes"], ranges["rights"].astype(np.uint64)
        )
        self.written(space.space, spans)
        return pages, self._forget(space, spans, unmapped=False)

    def install(self, space: ClientSpace, opened: Import) -> int:
        """Map all of an import where it wants to stand; return the 4 KiB pages mapped.

        Raises:
            DeviceError: OVERLAP, OUT_OF_DEVICE_MEMORY.
        """
        va, size, entry = opened.export.pieces
        bits = int(opened.rights) << RIGHTS_SHIFT
        if len(va) == 1:
            pages = space.space.tables.map_one(opened.va, int(size[0]), int(entry[0]) | bits)
        else:
            pages = space.space.tables.map(va + np.uint64(opened.va), size, entry | np.uint64(bits))
        space.mappings.add(opened.va, opened.size, opened, 0)
        self.written(space.space, ((opened.va, opened.size),))
        return pages

    def _forget(self, space: ClientSpace, spans: list[Span], *, unmapped: bool) -> Acknowledgement:
        """Invalidate ranges; hold what was mapped there until no chunk in flight touches it."""
        forget = self._invalidations.forget
        if len(spans) <= _FEW_RANGES:
            for va, size in spans:
                forget(space.space, InvalidateScope.RANGE, va, size)
        else:
            forget(space.space, InvalidateScope.SPACE, 0, VA_LIMIT)
        first = min(span.va for span in spans)
        end = max(span.va + span.size for span in spans)
        idle = self._invalidations.acknowledged(space.vmid, first, end - first)
        quiet = idle()
        held: list[Backing] = []
        if unmapped:
            if not quiet:
                held = [item for span in spans for item in space.mappings.columns_inside(*span)[2]]
            for va, size in spans:
                space.mappings.remove(va, size)
        if quiet:
            return AT_ONCE
        for backing in held:
            backing.hold()
        return self._acknowledgements.wait(idle, partial(_drop, held))


def _drop(backings: list[Backing]) -> None:
    for backing in backings:
        backing.drop()


def _spans(ranges: NDArray[np.void]) -> list[Span]:
    return list(map(Span, ranges["va"].tolist(), ranges["size_bytes"].tolist()))
