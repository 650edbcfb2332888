"""Builders for tests of page tables, and what they must do in plain Python, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from device.core.errors import DeviceError, EngineFault
from device.core.memory import Extent
from device.core.paging import AddressSpace, need_mask, walk
from device.core.spec import DeviceSpec
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, PageSizes, Rights
from firmware.abi.paging import Aperture, Pte, leaf_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from device.core.memory import MemoryController
    from device.core.paging import PageTables
    from device.core.paging.ports import Vram
    from firmware.abi.ids import Access

    Column = NDArray[np.uint64]

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
SMALL = PageSizes.SMALL
SMALL_MEDIUM = PageSizes.SMALL | PageSizes.MEDIUM
ALL_SIZES = SMALL_MEDIUM | PageSizes.LARGE | PageSizes.HUGE
SIZE_SETS = (SMALL, SMALL_MEDIUM, SMALL | PageSizes.LARGE, ALL_SIZES)


def space_of(
    memory: MemoryController,
    *,
    vmid: int = 1,
    page_sizes: PageSizes = ALL_SIZES,
    tlb_entries: int = 64,
) -> AddressSpace:
    """Return an address space of owner 7."""
    spec = DeviceSpec(page_sizes=page_sizes, tlb_entries=tlb_entries)
    return AddressSpace(vmid, 7, memory, spec)


def local(address: int, rights: Rights = READ_WRITE) -> int:
    """Return the entry of a page of VRAM."""
    return int(leaf_entry(address, rights))


def bus(address: int, rights: Rights = READ_WRITE) -> int:
    """Return the entry of a page on the bus."""
    return int(leaf_entry(address, rights, Aperture.BUS))


def null(rights: Rights = READ_WRITE) -> int:
    """Return the entry of a page without memory."""
    return int(leaf_entry(0, rights, null=True))


def columns(*extents: tuple[int, int, int]) -> tuple[Column, Column, Column]:
    """Return (va, size, entry) extents as the three arrays that `map` takes."""
    va, size, entry = np.array(extents, np.uint64).reshape(-1, 3).T
    return va, size, entry


def map_all(tables: PageTables, *extents: tuple[int, int, int]) -> int:
    """Map (va, size, entry) extents with one request."""
    return tables.map(*columns(*extents))


def attempt(request: Callable[[], int]) -> int | DeviceError:
    """Return what a request returns, or its refusal."""
    try:
        return request()
    except DeviceError as refusal:
        return refusal


def image(memory: MemoryController) -> bytes:
    """Return all of VRAM, to show that a refusal wrote nothing."""
    return bytes(memory.view)


class Page(NamedTuple):
    """What the oracles know about a page."""

    address: int
    aperture: Aperture
    rights: Rights
    null: bool

    @classmethod
    def of(cls, entry: int, number: int = 0) -> Page:
        """Return page `number` of an extent whose first entry is `entry`."""
        pte = Pte(entry)
        address = 0 if pte.null else pte.frame * PAGE_SIZE + number * PAGE_SIZE
        rights = Rights(pte.read | pte.write << 1 | pte.atomic << 2)
        return cls(address, pte.aperture, rights, pte.null)

    @property
    def entry(self) -> int:
        """Its 4 KiB entry."""
        return int(leaf_entry(self.address, self.rights, self.aperture, null=self.null))


def pages_of(va: int, size: int, entry: int) -> dict[int, Page]:
    """Return the pages of an extent by their number."""
    first = va // PAGE_SIZE
    return {first + number: Page.of(entry, number) for number in range(size // PAGE_SIZE)}


def walked(memory: Vram, root: int, pages: Iterable[int]) -> dict[int, int]:
    """Return the entry of each page that translates, by walking to it alone."""
    found = {page: walk(memory, root, page * PAGE_SIZE).page for page in pages}
    return {page: entry for page, entry in found.items() if entry}


class Fault(NamedTuple):
    """An `EngineFault` that can be compared."""

    reason: int
    va: int
    access: int
    level: int
    entry: int


def outcome(space: AddressSpace, va: int, size: int, access: Access) -> list[Extent] | Fault:
    """Return what `translate` returns or raises."""
    try:
        return list(space.translate(va, size, access))
    except EngineFault as fault:
        return Fault(fault.reason, fault.va, fault.access, fault.level, fault.entry)


def page_by_page(space: AddressSpace, va: int, size: int, access: Access) -> list[Extent] | Fault:
    """Return what `translate` must return or raise, from `translate_page` alone."""
    rows: list[Extent] = []
    at = va
    while at < va + size:
        end = min((at // PAGE_SIZE + 1) * PAGE_SIZE, va + size)
        try:
            pte = Pte(space.translate_page(at, need_mask(access)))
        except EngineFault as fault:
            return Fault(fault.reason, fault.va, access, fault.level, fault.entry)
        page = Page.of(pte)
        address = 0 if page.null else page.address + at % PAGE_SIZE
        row = Extent(at, end - at, address, page.aperture, page.rights, page.null)
        rows = _joined(rows, row)
        at = end
    return rows


def _joined(rows: list[Extent], row: Extent) -> list[Extent]:
    if not rows or rows[-1][3:] != row[3:]:
        return [*rows, row]
    last = rows[-1]
    if not row.null and last.address + last.size != row.address:
        return [*rows, row]
    return [*rows[:-1], last._replace(size=last.size + row.size)]
