"""An address space: page tables, and the TLB through which engines see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, final

import numpy as np

from device.core.errors import EngineFault, InternalError
from device.core.memory.extents import Extent, Extents
from device.core.paging.bits import (
    APERTURE,
    APERTURE_SHIFT,
    NULL,
    PLACE,
    VALID,
)
from device.core.paging.extents import ExtentCollector
from device.core.paging.large import LARGE_PAGES
from device.core.paging.tables import PageTables
from device.core.paging.tlb import Tlb, TlbStatistics
from device.core.paging.walks import Walks
from firmware.abi.control import InvalidateScope
from firmware.abi.faults import NO_LEVEL, FaultReason
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, Access
from firmware.abi.paging import FRAME_MASK, RIGHTS_MASK, RIGHTS_SHIFT

if TYPE_CHECKING:
    from device.core.memory.controller import MemoryController
    from device.core.paging.bits import Entries, Numbers
    from device.core.spec import DeviceSpec

_OFFSET: Final = PAGE_SIZE - 1
FEW_PAGES: Final = 48
"""Up to this many pages a Python loop beats numpy."""
WINDOW_PAGES: Final = 1 << 17
"""Pages translated at once: bounds memory, and the arrays stay in the processor's cache."""


def need_mask(access: Access) -> int:
    """Return the rights bits of a `Pte` that an access needs; a fetch reads."""
    rights = int(access) & (Access.READ | Access.WRITE | Access.ATOMIC)
    if access & Access.FETCH:
        rights |= Access.READ
    return rights << RIGHTS_SHIFT


@dataclass(frozen=True, slots=True)
class SpaceStatistics:
    """Counters of one address space."""

    vmid: int
    owner: int
    root_address: int
    mapped_pages: int
    """4 KiB pages mapped."""
    table_count: int
    """Table pages, the root included."""
    tlb: TlbStatistics


@final
class AddressSpace:
    """One vmid: `tables` to map, unmap, protect and query; `tlb` in front of them.

    Owner: the client `owner`. After tables changed, translations that were cached before are seen
    until the caller says `invalidate`; mapping what was not mapped needs none, since faults are
    never cached. A device reset destroys the space.
    """

    __slots__ = ("_memory", "owner", "tables", "tlb", "vmid", "walks")

    def __init__(self, vmid: int, owner: int, memory: MemoryController, spec: DeviceSpec) -> None:
        """Take a root table.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY.
        """
        self.vmid = vmid
        self.owner = owner
        self.tlb = Tlb(spec.tlb_entries)
        self.tables = PageTables(memory, spec.page_sizes)
        self._memory = memory
        self.walks = Walks()

    def translate_page(self, va: int, need: int) -> int:
        """Return the 4 KiB `Pte` of the page at `va`, which has all rights bits of `need`.

        Raises:
            EngineFault: NOT_PRESENT, RIGHTS, MALFORMED_ENTRY or BAD_APERTURE, at `va`. Level and
                entry are those of the walk; a RIGHTS fault found in the TLB has NO_LEVEL.
        """
        page = self.tlb.lookup(va >> PAGE_SHIFT)
        if page:
            if page & need != need:
                raise EngineFault(FaultReason.RIGHTS, va, _access(need), NO_LEVEL, page)
            return page
        return self._walk_page(va, need)

    def translate_pages(self, vpns: Numbers, need: int) -> Entries:
        """Return the 4 KiB `Pte` of each page, in any order; 0 where `translate_page` would fault.

        All are looked up before the first of them is cached.
        """
        pages = self.tlb.lookup_many(vpns)
        missed = np.flatnonzero(pages == 0)
        if len(missed):
            vpns = vpns[missed]
            walked = self.walks.many(self._memory, self.tables.root, vpns)
            pages[missed] = walked
            sound = walked != 0
            self.tlb.fill_many(vpns[sound], walked[sound])
        lacking = (pages & need) != need
        if lacking.any():
            pages[lacking] = 0
        return pages

    def translate(self, va: int, size: int, access: Access) -> Extents:
        """Return the physical extents of a byte range, coalesced across leaves.

        Null pages give null extents with address 0.

        Raises:
            EngineFault: as `translate_page`, at the first address that cannot be accessed. Pages
                before it are in the TLB.
        """
        if size <= 0:
            if size:
                raise InternalError(f"translation of {size} bytes")
            return Extents.of(())
        need = need_mask(access)
        first_vpn = va >> PAGE_SHIFT
        count = ((va + size - 1) >> PAGE_SHIFT) - first_vpn + 1
        if count == 1:
            page = self.translate_page(va, need)
            return Extents(None, [_extent(page, va, size)], size, None)
        if count <= FEW_PAGES:
            return Extents(None, self._translate_few(va, size, count, need), size, None)
        if count >= LARGE_PAGES:
            root = self.tables.root
            page = self.walks.large(self._memory, root, self.tlb, first_vpn, count, need)
            if page:
                return Extents(None, [_extent(page, va, size)], size, None)
        collector = ExtentCollector(va, size)
        stop_vpn = first_vpn + count
        for vpn in range(first_vpn, stop_vpn, WINDOW_PAGES):
            window = min(WINDOW_PAGES, stop_vpn - vpn)
            collector.add(vpn, self._translate_window(va, vpn, window, need))
        return collector.extents()

    def invalidate(self, scope: InvalidateScope, va: int = 0, size: int = 0) -> int:
        """Forget cached translations; return how many there were.

        RANGE forgets every page that the byte range touches.
        """
        if scope is InvalidateScope.PAGE:
            return self.tlb.invalidate_page(va >> PAGE_SHIFT)
        if scope is InvalidateScope.RANGE:
            first_vpn = va >> PAGE_SHIFT
            return self.tlb.invalidate_range(
                first_vpn, ((va + size + _OFFSET) >> PAGE_SHIFT) - first_vpn
            )
        return self.tlb.invalidate_all()

    def destroy(self) -> None:
        """Give all table pages back; the space must not be used any more."""
        self.tlb.invalidate_all()
        self.tables.destroy()

    def statistics(self) -> SpaceStatistics:
        """Return the counters of tables and TLB."""
        return SpaceStatistics(
            vmid=self.vmid,
            owner=self.owner,
            root_address=self.tables.root,
            mapped_pages=self.tables.mapped_pages,
            table_count=self.tables.table_count,
            tlb=self.tlb.statistics(),
        )

    def check(self) -> None:
        """Check tables and TLB, each for itself; stale translations are no contradiction.

        Raises:
            InvariantError: what is wrong, and where.
        """
        self.tlb.check()
        self.tables.check()

    def _walk_page(self, va: int, need: int) -> int:
        """Walk after a miss that was counted; cache what is sound, then look at the rights."""
        found = self.walks.one(self._memory, self.tables.root, va)
        if found.fault is not None:
            raise EngineFault(found.fault, va, _access(need), found.level, found.entry)
        page = found.page
        self.tlb.fill(va >> PAGE_SHIFT, page)
        if page & need != need:
            raise EngineFault(FaultReason.RIGHTS, va, _access(need), found.level, found.entry)
        return page

    def _translate_few(self, va: int, size: int, count: int, need: int) -> list[Extent]:
        """Translate page by page; the loop does what `translate_page` does, without the calls."""
        tlb = self.tlb
        tags, pages, mask = tlb.tags, tlb.pages, tlb.mask
        first_vpn = va >> PAGE_SHIFT
        stop_vpn = first_vpn + count
        runs: list[tuple[int, int]] = []
        walked: list[int] = []
        walked_from = expected = hits = misses = 0
        root = self.tables.root
        try:
            for vpn in range(first_vpn, stop_vpn):
                place = vpn & mask
                if tags[place] == vpn:
                    hits += 1
                    page = pages[place]
                    if page & need != need:
                        at = max(va, vpn << PAGE_SHIFT)
                        raise EngineFault(FaultReason.RIGHTS, at, _access(need), NO_LEVEL, page)
                else:
                    misses += 1
                    if vpn >= walked_from + len(walked):
                        walked = self.walks.run(self._memory, root, vpn, stop_vpn - vpn)
                        walked_from = vpn
                    if not walked or walked[vpn - walked_from] & need != need:
                        self._walk_page(max(va, vpn << PAGE_SHIFT), need)
                    page = walked[vpn - walked_from]
                    tags[place] = vpn
                    pages[place] = page
                if page != expected or not page & PLACE:
                    runs.append((vpn << PAGE_SHIFT, page))
                expected = page if page & NULL else page + PAGE_SIZE
        finally:
            tlb.count(hits, misses)
        return _extents_of(runs, va, size)

    def _translate_window(self, va: int, vpn: int, count: int, need: int) -> Entries:
        """Translate many pages as `_translate_few` would, one after another."""
        tlb = self.tlb
        # A page further on finds its place taken by one of this very range.
        near = min(count, tlb.size)
        cached = tlb.peek_run(vpn, near)
        hit = cached != 0
        if near == count and hit.all():
            pages = cached
        else:
            pages, _ = self.walks.pages(self._memory, self.tables.root, vpn, count)
            np.copyto(pages[:near], cached, where=hit)
        good = _first_lacking(pages, need | VALID)
        hits = int(np.count_nonzero(hit[:good]))
        tlb.count(hits, good - hits)
        tlb.fill_run(vpn, pages[:good])
        if good < count:
            self._raise_fault(max(va, (vpn + good) << PAGE_SHIFT), need)
        return pages

    def _raise_fault(self, va: int, need: int) -> NoReturn:
        page = self.translate_page(va, need)
        raise InternalError(
            f"va {va:#x}: numpy found a fault, the walker entry {page:#018x} for need {need:#x}"
        )


def _access(need: int) -> Access:
    return Access(need >> RIGHTS_SHIFT)


def _first_lacking(pages: Entries, need: int) -> int:
    """Return the index of the first page without all bits of `need`, or the number of pages."""
    if int(np.bitwise_and.reduce(pages)) & need == need:
        return len(pages)
    return int(np.argmax((pages & need) != need))


def _extent(page: int, va: int, size: int) -> Extent:
    """Return the extent of bytes that begin in `page`."""
    null = bool(page & NULL)
    return Extent(
        va,
        size,
        0 if null else (page & FRAME_MASK) | (va & _OFFSET),
        (page & APERTURE) >> APERTURE_SHIFT,
        (page & RIGHTS_MASK) >> RIGHTS_SHIFT,
        null,
    )


def _extents_of(runs: list[tuple[int, int]], va: int, size: int) -> list[Extent]:
    """Return the extents of runs (page address, first page's entry) cut to the byte range."""
    extents: list[Extent] = []
    stop = va + size
    for start, page in reversed(runs):
        begin = max(start, va)
        extents.append(_extent(page, begin, stop - begin))
        stop = begin
    extents.reverse()
    return extents
