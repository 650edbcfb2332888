"""Virtual addresses: page tables in VRAM, the walker, the TLB, and address spaces made of them."""

from device.core.paging.extents import ExtentCollector
from device.core.paging.query import Query
from device.core.paging.space import AddressSpace, SpaceStatistics, need_mask
from device.core.paging.tables import PageTables
from device.core.paging.tlb import Tlb, TlbStatistics
from device.core.paging.walker import Walk, walk
from device.core.paging.wide import walk_many, walk_pages

__all__ = [
    "AddressSpace",
    "ExtentCollector",
    "PageTables",
    "Query",
    "SpaceStatistics",
    "Tlb",
    "TlbStatistics",
    "Walk",
    "need_mask",
    "walk",
    "walk_many",
    "walk_pages",
]
