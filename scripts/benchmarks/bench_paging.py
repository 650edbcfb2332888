"""Page tables: map, unmap, walk and translate, beside the cost of the same bytes in numpy.

The limit of mapping and unmapping is a plain fill of as many bytes as the entries have: all of them
the same, laid out flat, no tables, no checks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from device.core.memory import MemoryController
from device.core.paging import AddressSpace, walk
from device.core.spec import DeviceSpec
from firmware.abi.control import InvalidateScope
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Access, PageSizes
from firmware.abi.paging import Aperture, leaf_entry
from scripts.benchmarks.report import Row, interleaved_medians

if TYPE_CHECKING:
    from collections.abc import Callable

VRAM = 128 << 20
VA = 0x7000_0000_3000
GIB = 1 << 30
ENTRY = int(leaf_entry(0, READ_WRITE, Aperture.BUS))
ALL_SIZES = DeviceSpec().page_sizes


def make(page_sizes: PageSizes = PageSizes.SMALL) -> AddressSpace:
    """Return an address space over memory of its own."""
    vram = np.zeros(VRAM, np.uint8)
    # The system gives pages at their first use; that is not what is measured.
    vram[::PAGE_SIZE] = 0
    memory = MemoryController(vram.data)
    return AddressSpace(1, 1, memory, DeviceSpec(vram_size=VRAM, page_sizes=page_sizes))


def scatter(space: AddressSpace) -> None:
    """Leave free frames without neighbours only."""
    memory = space._memory  # noqa: SLF001 - the benchmark arranges what no user can
    (run,) = memory.allocate(VRAM // 2, 9)
    memory.free([type(run)(frame, 1) for frame in range(run.first, run.first + run.count, 2)])
    memory.allocate(memory.free_bytes - (run.count // 2 << 12), 9)


def filled(count: int) -> Callable[[], object]:
    """Return the limit: fill as many entries as `count` with one value."""
    return partial(np.zeros(count, np.uint64).fill, ENTRY)


def contiguous() -> list[Row]:
    """Map and unmap consecutive 4 KiB pages in one request."""
    rows: list[Row] = []
    cases = (
        ("1,000 pages", make(), 1_000, 300, 60.0),
        ("1,000,000 pages, neighbouring tables", make(), 1_000_000, 15, 6.0),
        ("1,000,000 pages, scattered tables", make(), 1_000_000, 15, 45.0),
    )
    scatter(cases[-1][1])
    for name, space, count, rounds, bar in cases:
        size = count * PAGE_SIZE
        calls = (
            partial(space.tables.map_one, VA, size, ENTRY),
            partial(space.tables.unmap, VA, size),
            filled(count),
        )
        seconds = interleaved_medians(calls, rounds=rounds)
        mapped, unmapped, limit = (1e6 * value for value in seconds)
        for verb, value in (("map", mapped), ("unmap", unmapped)):
            rows.append(
                Row(
                    what=f"{verb} {name}",
                    value=value,
                    unit="us",
                    limit=limit,
                    limit_is="numpy fills as many bytes",
                    bar=bar,
                    note=f"{1e3 * value / count:.2f} ns per page",
                )
            )
    return rows


def scattered_extents() -> list[Row]:
    """Map 100,000 extents of 64 KiB whose memory is scattered in one request."""
    count, size = 100_000, 1 << 16
    random = np.random.default_rng(1)
    va = np.arange(count, dtype=np.uint64) * np.uint64(size) + np.uint64(1 << 46)
    sizes = np.full(count, size, np.uint64)
    entry = random.permutation(count).astype(np.uint64) * np.uint64(size) | np.uint64(ENTRY)
    rows: list[Row] = []
    for name, page_sizes in (("4 KiB leaves", PageSizes.SMALL), ("64 KiB leaves", ALL_SIZES)):
        tables = make(page_sizes).tables
        calls = (
            partial(tables.map, va, sizes, entry),
            partial(tables.unmap, 1 << 46, count * size),
            filled(count * size // PAGE_SIZE),
        )
        mapped, _, limit = interleaved_medians(calls, rounds=7)
        rows.append(
            Row(
                what=f"map 100,000 scattered extents of 64 KiB, {name}",
                value=mapped * 1e3,
                unit="ms",
                limit=limit * 1e3,
                limit_is="numpy fills as many bytes",
                bar=250.0,
                note=f"{1e6 * mapped / count:.3f} us per extent, wanted at most 1",
            )
        )
    return rows


def single() -> list[Row]:
    """Operations on one page, beside the loads or stores that they cannot do without."""
    space = make()
    tables, words = space.tables, space._memory.words  # noqa: SLF001
    tables.map_one(VA - PAGE_SIZE, PAGE_SIZE, ENTRY)
    tables.map_one(VA + PAGE_SIZE, 64 * PAGE_SIZE, ENTRY)
    root, memory = tables.root, space._memory  # noqa: SLF001
    at = VA + PAGE_SIZE

    def four_loads() -> int:
        return words[1] + words[600] + words[1200] + words[1800]

    def cold() -> object:
        space.invalidate(InvalidateScope.RANGE, at, 1 << 16)
        return space.translate(at, 1 << 16, Access.READ)

    calls: tuple[Callable[[], object], ...] = (
        four_loads,
        lambda: walk(memory, root, at),
        lambda: (tables.map_one(VA, PAGE_SIZE, ENTRY), tables.unmap(VA, PAGE_SIZE)),
        lambda: space.translate_page(at, 0),
        lambda: space.translate(at, 1 << 16, Access.READ),
        cold,
    )
    names = (
        ("walk to one page", 20.0),
        ("map and unmap one page", 250.0),
        ("translate one page, cached", 6.0),
        ("64 KiB range to extents, cached", 200.0),
        ("64 KiB range to extents after an invalidate", 500.0),
    )
    limit, *values = (1e6 * value for value in interleaved_medians(calls, repeat=300))
    return [
        Row(
            what=what,
            value=value,
            unit="us",
            limit=limit,
            limit_is="four loads from VRAM in Python",
            bar=bar,
        )
        for (what, bar), value in zip(names, values, strict=True)
    ]


def ranges() -> list[Row]:
    """Translate 1 GiB of 4 KiB pages, beside a copy of their entries."""
    pages = GIB // PAGE_SIZE
    random = np.random.default_rng(2)
    va = np.arange(pages, dtype=np.uint64) * np.uint64(PAGE_SIZE) + np.uint64(1 << 46)
    rows: list[Row] = []
    for name, piece, bar in (("one extent", pages, 25.0), ("64 KiB", 16, 30.0), ("4 KiB", 1, 60.0)):
        space = make()
        order = random.permutation(pages // piece).astype(np.uint64)
        step = np.arange(piece, dtype=np.uint64)
        frame = (order[:, np.newaxis] * np.uint64(piece) + step).ravel()
        entry = frame * np.uint64(PAGE_SIZE) | np.uint64(ENTRY)
        space.tables.map(va, np.full(pages, PAGE_SIZE, np.uint64), entry)
        copied = np.empty_like(entry)
        calls = (
            partial(space.translate, 1 << 46, GIB, Access.READ),
            partial(np.copyto, copied, entry),
        )
        value, limit = (1e3 * seconds for seconds in interleaved_medians(calls))
        rows.append(
            Row(
                what=f"1 GiB of 4 KiB pages to extents, memory in pieces: {name}",
                value=value,
                unit="ms",
                limit=limit,
                limit_is="numpy copies the entries",
                bar=bar,
            )
        )
    return rows


def run() -> list[Row]:
    """Measure."""
    return [*contiguous(), *scattered_extents(), *single(), *ranges()]
