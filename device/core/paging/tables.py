"""The page tables of one address space: mapped, unmapped and protected all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import numpy as np

from device.core.errors import DeviceError, InternalError
from device.core.paging.audit import check_tables
from device.core.paging.bits import CONTIGUOUS, NOT_RIGHTS
from device.core.paging.bulk import BulkMapPlan
from device.core.paging.clearing import clear, clear_in_table
from device.core.paging.leaves import choose, choose_many, ladder_of
from device.core.paging.planning import MapPlan, write_in_table
from device.core.paging.query import Query, query
from device.core.paging.ranges import (
    check_entries,
    check_entry,
    check_range,
    check_ranges,
    merge,
    sort_disjoint,
)
from device.core.paging.segments import first_hole, first_mapped, segments
from device.core.paging.splits import SplitPlan
from device.core.paging.store import TableStore
from firmware.abi.ids import ALL_RIGHTS, PAGE_SHIFT, VA_LIMIT
from firmware.abi.paging import RIGHTS_SHIFT, TABLE_ENTRIES
from firmware.abi.status import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.paging.ports import TableMemory
    from firmware.abi.ids import PageSizes, Rights

FEW_EXTENTS: Final = 24
"""Up to so many extents, or if they are large, Python beats the fixed cost of numpy."""


@final
class PageTables:
    """Page tables as real 64-bit entries in VRAM.

    Owner: one address space. Invariants: the bits in VRAM are the only record of what is mapped;
    the tables form a tree whose pages belong to this object alone; none but the root is empty;
    `mapped_pages` is what stands in them. Nothing survives a device reset, which calls `destroy`.

    Every request is refused (`DeviceError`) before the first change, or carried out whole.

    Bits changed behind its back never make a request touch memory that is not a table of this
    space. What is not zero is occupied for `map`; what is no valid leaf is a hole for `protect`;
    `unmap` clears whatever the range covers whole, and of the rest what leads to its own tables.
    """

    __slots__ = ("_group_flag", "_ladder", "_memory", "_store", "mapped_pages")

    def __init__(self, memory: TableMemory, page_sizes: PageSizes) -> None:
        """Take the root table.

        `page_sizes` are the leaves that `map` may use; 1 GiB needs 2 MiB beside it.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY.
        """
        self._memory = memory
        self._store = TableStore(memory)
        self._ladder = ladder_of(page_sizes)
        self._group_flag = CONTIGUOUS if any(rung.flags for rung in self._ladder) else 0
        self.mapped_pages = 0
        """4 KiB pages mapped."""

    @property
    def root(self) -> int:
        """VRAM byte address of the root table."""
        return self._store.root

    @property
    def table_count(self) -> int:
        """Table pages, the root included."""
        return self._store.table_count

    def map(
        self, va: NDArray[np.uint64], size: NDArray[np.uint64], entry: NDArray[np.uint64]
    ) -> int:
        """Map a list of extents, in any order; return the 4 KiB pages mapped.

        `entry[i]` is the `Pte` of the first 4 KiB page of extent i (`leaf_entry`); the others lie
        behind it in memory, or are the same if it is null. The largest leaves are used that the
        alignment of address and memory allows.

        Raises:
            DeviceError: BAD_ALIGNMENT; BAD_RANGE; OVERLAP within the list or with what is mapped
                (detail: first such address); OUT_OF_DEVICE_MEMORY. Nothing was changed.
        """
        self._store.require_alive()
        start, stop = check_ranges(va, size)
        check_entries(start, stop, entry, self._store.vram_size)
        order = sort_disjoint(start, stop)
        if order is not None:
            start, stop, entry = start[order], stop[order], entry[order]
        pages = int((stop - start).sum())
        if len(start) <= FEW_EXTENTS or pages >= len(start) * TABLE_ENTRIES:
            plan = MapPlan(self._store)
            for first, end, value in zip(
                start.tolist(), stop.tolist(), entry.tolist(), strict=True
            ):
                here, length = first << PAGE_SHIFT, (end - first) << PAGE_SHIFT
                for leaves in choose(here, length, value, self._ladder):
                    plan.add(leaves)
            plan.commit()
        else:
            spans = choose_many(start << PAGE_SHIFT, stop << PAGE_SHIFT, entry, self._ladder)
            BulkMapPlan(self._store, start, stop, spans).commit()
        self.mapped_pages += pages
        return pages

    def map_one(self, va: int, size: int, entry: int) -> int:
        """`map` one extent."""
        self._store.require_alive()
        check_range(va, size)
        check_entry(va, size, entry, self._store.vram_size)
        leaves = choose(va, size, entry, self._ladder)
        if len(leaves) > 1 or not write_in_table(self._store, leaves[0]):
            plan = MapPlan(self._store)
            for some in leaves:
                plan.add(some)
            plan.commit()
        pages = size >> PAGE_SHIFT
        self.mapped_pages += pages
        return pages

    def unmap(self, va: int, size: int) -> int:
        """Clear a range that may have holes; return the 4 KiB pages that were mapped.

        Tables that become empty are given back. Leaves that reach over an end are split.

        Raises:
            DeviceError: BAD_ALIGNMENT; BAD_RANGE; OUT_OF_DEVICE_MEMORY, since a split needs a table
                page. Nothing was changed.
        """
        self._store.require_alive()
        check_range(va, size)
        start, stop = va >> PAGE_SHIFT, va + size >> PAGE_SHIFT
        pages = clear_in_table(self._store, start, stop)
        if pages is None:
            return self._unmap([(start, stop)])
        self.mapped_pages -= pages
        return pages

    def unmap_list(self, va: NDArray[np.uint64], size: NDArray[np.uint64]) -> int:
        """`unmap` many ranges, all or none; they may overlap."""
        self._store.require_alive()
        return self._unmap(merge(*check_ranges(va, size))) if len(va) else 0

    def protect(self, va: int, size: int, rights: Rights) -> int:
        """Change the rights of a range without holes; return its 4 KiB pages.

        Raises:
            DeviceError: NOT_MAPPED (detail: first hole), or as `unmap`. Nothing was changed.
        """
        self._store.require_alive()
        check_range(va, size)
        return self._protect([(va >> PAGE_SHIFT, va + size >> PAGE_SHIFT, rights)])

    def protect_list(
        self, va: NDArray[np.uint64], size: NDArray[np.uint64], rights: NDArray[np.uint64]
    ) -> int:
        """`protect` many ranges, all or none.

        Raises:
            DeviceError: OVERLAP if two ranges do, or as `protect`. Nothing was changed.
        """
        self._store.require_alive()
        start, stop = check_ranges(va, size)
        sort_disjoint(start, stop)
        return self._protect(list(zip(start.tolist(), stop.tolist(), rights.tolist(), strict=True)))

    def query(self, va: int, size: int, capacity: int) -> Query:
        """Describe a byte range: first `capacity` extents, how many there are, first hole.

        Raises:
            DeviceError: BAD_RANGE.
        """
        if size < 1 or va < 0 or va + size > VA_LIMIT:
            raise DeviceError(Status.BAD_RANGE, va)
        return query(self._memory, self.root, va, size, capacity)

    def is_mapped(self, va: int, size: int) -> bool:
        """Whether every page of the range has a valid leaf."""
        return self.first_hole(va, size) is None

    def first_mapped(self, va: int, size: int) -> int | None:
        """First mapped address of a range of whole pages, or None."""
        check_range(va, size)
        page = first_mapped(self._store, va >> PAGE_SHIFT, va + size >> PAGE_SHIFT)
        return None if page is None else page << PAGE_SHIFT

    def first_hole(self, va: int, size: int) -> int | None:
        """First address that is not mapped in a range of whole pages, or None."""
        check_range(va, size)
        page = first_hole(self._store, va >> PAGE_SHIFT, va + size >> PAGE_SHIFT)
        return None if page is None else page << PAGE_SHIFT

    def destroy(self) -> None:
        """Give all table pages back; only counters may be looked at afterwards."""
        self._store.destroy()
        self.mapped_pages = 0

    def check(self) -> None:
        """Compare the bits in VRAM with each other, with ownership and with the counters.

        Raises:
            InvariantError: what is wrong, and where.
        """
        check_tables(self._memory, self._store, self._ladder, self.mapped_pages)

    def _split_at(self, pages: list[int]) -> None:
        """Let leaves begin at these pages, all or none."""
        plan = SplitPlan(self._store, self._group_flag)
        for page in pages:
            plan.add(page)
        plan.commit()

    def _unmap(self, ranges: list[tuple[int, int]]) -> int:
        self._split_at([page for bounds in ranges for page in bounds])
        pages = clear(self._store, ranges)
        self.mapped_pages -= pages
        return pages

    def _protect(self, ranges: list[tuple[int, int, int]]) -> int:
        store = self._store
        for start, stop, rights in ranges:
            if not 0 <= rights <= ALL_RIGHTS:
                raise InternalError(f"rights {rights:#x}, expected at most {ALL_RIGHTS:#x}")
            hole = first_hole(store, start, stop)
            if hole is not None:
                raise DeviceError(Status.NOT_MAPPED, hole << PAGE_SHIFT)
        self._split_at([page for bounds in ranges for page in bounds[:2]])
        for start, stop, rights in ranges:
            bits = rights << RIGHTS_SHIFT
            for segment in segments(store, store.root, start, stop, store.child):
                if segment.entries == 1:
                    # A list may have very many single pages.
                    store.words[segment.word] = store.words[segment.word] & NOT_RIGHTS | bits
                    continue
                entries = store.entries[segment.word : segment.word + segment.entries]
                entries &= NOT_RIGHTS
                entries |= np.uint64(bits)
        return sum(stop - start for start, stop, _ in ranges)
