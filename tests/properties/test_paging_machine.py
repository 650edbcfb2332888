"""Page tables, TLBs and frames of two address spaces against dictionaries.

The oracle of the tables is (vmid, page) -> `Page`, that of each TLB is place -> (page, entry).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from device.core.errors import DeviceError
from device.core.paging import AddressSpace, need_mask, walk, walk_many, walk_pages
from firmware.abi.control import InvalidateScope
from firmware.abi.faults import NO_LEVEL, FaultReason
from firmware.abi.ids import PAGE_SIZE, Access, Rights
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import (
    GIB,
    MIB,
    SIZE_SETS,
    Fault,
    Page,
    attempt,
    bus,
    columns,
    local,
    null,
    outcome,
    pages_of,
    space_of,
    walked,
)

if TYPE_CHECKING:
    from device.core.memory import MemoryController, Run
    from firmware.abi.ids import PageSizes

pytestmark = pytest.mark.timeout(600)  # a minute of thorough examples, more beside others
FRAMES = 400
TLB_ENTRIES = 16
VMIDS = st.sampled_from([1, 2])
BASES = [0, 2 * MIB - 8 * PAGE_SIZE, GIB - 20 * PAGE_SIZE, (1 << 47) - MIB, (1 << 48) - 4 * MIB]
REGION = 1024
"""Pages of each region that the rules work in."""
PLACES = st.tuples(
    st.sampled_from(BASES),
    st.one_of(st.integers(0, 40), st.sampled_from([500, 512, 520]), st.integers(0, 700)),
)
COUNTS = st.one_of(st.integers(1, 20), st.sampled_from([16, 32, 64]), st.integers(1, 320))
RIGHTS = st.sampled_from([Rights.NONE, Rights.READ, Rights.WRITE, Rights(3), Rights(7)])


@dataclass(frozen=True)
class Memory:
    """Frames that a mapping may show: runs of VRAM, or none for null pages and the bus."""

    runs: tuple[Run, ...]
    owner: int


class PagingMachine(RuleBasedStateMachine):
    """Rules are requests; invariants compare every page that was ever touched."""

    objects: Bundle[Memory] = Bundle("objects")

    @initialize(page_sizes=st.sampled_from(SIZE_SETS))
    def make(self, page_sizes: PageSizes) -> None:
        self.memory: MemoryController = memory_of(FRAMES)
        self.spaces = {
            vmid: space_of(self.memory, vmid=vmid, page_sizes=page_sizes, tlb_entries=TLB_ENTRIES)
            for vmid in (1, 2)
        }
        self.page_sizes = page_sizes
        self.pages: dict[tuple[int, int], Page] = {}
        self.cached: dict[int, dict[int, tuple[int, int]]] = {1: {}, 2: {}}
        self.object_frames = 0
        self.touched = {base // PAGE_SIZE for base in BASES}

    # --- Frames -----------------------------------------------------------------------------------

    @rule(target=objects, count=st.integers(1, 40), align=st.sampled_from([1, 16]))
    def allocate(self, count: int, align: int) -> Memory | MultipleResults[Memory]:
        try:
            runs = self.memory.allocate(count * PAGE_SIZE, 7, align * PAGE_SIZE)
        except DeviceError:
            assert self.memory.free_bytes < count * PAGE_SIZE
            return multiple()
        self.object_frames += count
        return Memory(runs, 7)

    @rule(held=consumes(objects))
    def free(self, held: Memory) -> None:
        """Free frames as a device must: unmap, invalidate, then free."""
        addresses = {
            frame * PAGE_SIZE for first, count in held.runs for frame in range(first, first + count)
        }
        for (vmid, page), at in list(self.pages.items()):
            if at.aperture == 0 and not at.null and at.address in addresses:
                self.unmap_pages(vmid, page, 1)
                assert self.spaces[vmid].invalidate(
                    InvalidateScope.PAGE, page * PAGE_SIZE
                ) == self.forget(vmid, page, 1)
        self.memory.free(held.runs)
        self.object_frames -= sum(count for _, count in held.runs)

    # --- Tables -----------------------------------------------------------------------------------

    @rule(vmid=VMIDS, place=PLACES, held=objects, rights=RIGHTS)
    def map_object(self, vmid: int, place: tuple[int, int], held: Memory, rights: Rights) -> None:
        va = place[0] + place[1] * PAGE_SIZE
        extents: list[tuple[int, int, int]] = []
        for first, count in held.runs:
            extents.append((va, count * PAGE_SIZE, local(first * PAGE_SIZE, rights)))
            va += count * PAGE_SIZE
        self.map_extents(vmid, extents)

    @rule(
        vmid=VMIDS,
        parts=st.lists(
            st.tuples(PLACES, COUNTS, st.sampled_from([0, 1, 16, 512]), st.booleans(), RIGHTS),
            min_size=1,
            max_size=4,
        ),
    )
    def map_elsewhere(
        self, vmid: int, parts: list[tuple[tuple[int, int], int, int, bool, Rights]]
    ) -> None:
        extents: list[tuple[int, int, int]] = []
        for (base, offset), count, frame, is_null, rights in parts:
            entry = null(rights) if is_null else bus(frame * PAGE_SIZE, rights)
            extents.append((base + offset * PAGE_SIZE, count * PAGE_SIZE, entry))
        self.map_extents(vmid, extents)

    def map_extents(self, vmid: int, extents: list[tuple[int, int, int]]) -> None:
        wanted: dict[int, Page] = {}
        clashes: list[int] = []
        for extent in sorted(extents):
            found = pages_of(*extent)
            clashes += sorted(found.keys() & wanted.keys())
            wanted |= found
        mapped = sorted(page for page in wanted if (vmid, page) in self.pages)
        tables = self.spaces[vmid].tables
        if len(extents) == 1:
            answer = attempt(partial(tables.map_one, *extents[0]))
        else:
            answer = attempt(partial(tables.map, *columns(*extents)))
        if isinstance(answer, DeviceError):
            if clashes or mapped:
                first = (clashes or mapped)[0]
                assert (answer.status, answer.detail) == (Status.OVERLAP, first * PAGE_SIZE)
            else:
                assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            return
        assert not clashes
        assert not mapped
        assert answer == len(wanted)
        self.pages |= {(vmid, page): at for page, at in wanted.items()}
        self.touched |= {min(wanted), max(wanted), min(wanted) - 1, max(wanted) + 1}

    @rule(vmid=VMIDS, place=PLACES, count=COUNTS)
    def unmap(self, vmid: int, place: tuple[int, int], count: int) -> None:
        self.unmap_pages(vmid, place[0] // PAGE_SIZE + place[1], count)

    def unmap_pages(self, vmid: int, first: int, count: int) -> None:
        before = self.memory.free_bytes
        there = [page for page in range(first, first + count) if (vmid, page) in self.pages]
        tables = self.spaces[vmid].tables
        answer = attempt(partial(tables.unmap, first * PAGE_SIZE, count * PAGE_SIZE))
        if isinstance(answer, DeviceError):
            assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            assert before < 4 * PAGE_SIZE
            # Make room by unmapping all; that needs no split.
            there = [page for owner, page in self.pages if owner == vmid]
            answer = tables.unmap(0, 1 << 48)
        assert answer == len(there)
        for page in there:
            del self.pages[vmid, page]

    @rule(vmid=VMIDS, ranges=st.lists(st.tuples(PLACES, COUNTS), min_size=1, max_size=4))
    def unmap_list(self, vmid: int, ranges: list[tuple[tuple[int, int], int]]) -> None:
        there: set[int] = set()
        for (base, offset), count in ranges:
            first = base // PAGE_SIZE + offset
            there.update(p for p in range(first, first + count) if (vmid, p) in self.pages)
        va = np.array([base + offset * PAGE_SIZE for (base, offset), _ in ranges], np.uint64)
        size = np.array([count * PAGE_SIZE for _, count in ranges], np.uint64)
        answer = attempt(partial(self.spaces[vmid].tables.unmap_list, va, size))
        if isinstance(answer, DeviceError):
            assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            return
        assert answer == len(there)
        for page in there:
            del self.pages[vmid, page]

    @rule(vmid=VMIDS, place=PLACES, count=COUNTS, rights=RIGHTS)
    def protect(self, vmid: int, place: tuple[int, int], count: int, rights: Rights) -> None:
        first = place[0] // PAGE_SIZE + place[1]
        covered = range(first, first + count)
        holes = [page for page in covered if (vmid, page) not in self.pages]
        tables = self.spaces[vmid].tables
        answer = attempt(partial(tables.protect, first * PAGE_SIZE, count * PAGE_SIZE, rights))
        if isinstance(answer, DeviceError):
            if holes:
                first = holes[0] * PAGE_SIZE
                assert (answer.status, answer.detail) == (Status.NOT_MAPPED, first)
            else:
                assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            return
        assert not holes
        for page in covered:
            self.pages[vmid, page] = self.pages[vmid, page]._replace(rights=rights)

    # --- TLB --------------------------------------------------------------------------------------

    @rule(
        vmid=VMIDS,
        place=PLACES,
        offset=st.integers(0, PAGE_SIZE - 1),
        size=st.one_of(st.integers(1, 3 * PAGE_SIZE), st.integers(1, 200 * PAGE_SIZE)),
        access=st.sampled_from([Access.READ, Access.WRITE, Access.ATOMIC]),
    )
    def touch(
        self, vmid: int, place: tuple[int, int], offset: int, size: int, access: Access
    ) -> None:
        va = place[0] + place[1] * PAGE_SIZE + offset
        expected: list[int] = []
        fault: Fault | None = None
        for page in range(va // PAGE_SIZE, (va + size - 1) // PAGE_SIZE + 1):
            at = max(va, page * PAGE_SIZE)
            entry, fault = self.touch_page(vmid, page, at, access)
            if fault:
                break
            expected.append(entry)

        found = outcome(self.spaces[vmid], va, size, access)

        if fault:
            assert isinstance(found, Fault)
            assert found._replace(level=fault.level, entry=fault.entry) == fault
            if fault.level == NO_LEVEL:
                assert (found.level, found.entry) == (NO_LEVEL, fault.entry)
            return
        assert not isinstance(found, Fault)
        assert sum(row.size for row in found) == size
        for page, entry in enumerate(expected, va // PAGE_SIZE):
            at = max(va, page * PAGE_SIZE)
            row = next(row for row in found if row.va <= at < row.va + row.size)
            there = Page.of(entry)
            assert (row.aperture, row.rights, row.null) == (
                there.aperture,
                there.rights,
                there.null,
            )
            if not there.null:
                assert row.address + at - row.va == there.address + at % PAGE_SIZE

    def touch_page(self, vmid: int, page: int, va: int, access: Access) -> tuple[int, Fault | None]:
        """Return what one page gives through the model of the TLB, which learns of it."""
        need = need_mask(access)
        held = self.cached[vmid].get(page % TLB_ENTRIES, (-1, 0))
        if held[0] == page:
            entry, level = held[1], NO_LEVEL
        elif (vmid, page) not in self.pages:
            return 0, Fault(FaultReason.NOT_PRESENT, va, access, 0, 0)
        else:
            entry, level = self.pages[vmid, page].entry, 0
            self.cached[vmid][page % TLB_ENTRIES] = (page, entry)
        if entry & need != need:
            return 0, Fault(FaultReason.RIGHTS, va, access, level, entry)
        return entry, None

    @rule(vmid=VMIDS, places=st.lists(PLACES, min_size=1, max_size=20))
    def touch_many(self, vmid: int, places: list[tuple[int, int]]) -> None:
        pages = [base // PAGE_SIZE + offset for base, offset in places]
        held = self.cached[vmid]
        expected: dict[int, int] = {}
        for page in pages:
            tag, entry = held.get(page % TLB_ENTRIES, (-1, 0))
            known = self.pages.get((vmid, page))
            expected[page] = entry if tag == page else known.entry if known else 0
        hits = {page for page in pages if held.get(page % TLB_ENTRIES, (-1,))[0] == page}
        for page in pages:
            if page not in hits and expected[page]:
                held[page % TLB_ENTRIES] = (page, expected[page])
        need = need_mask(Access.READ)

        found = self.spaces[vmid].translate_pages(np.array(pages, np.int64), need)

        assert found.tolist() == [
            expected[page] if expected[page] & need == need else 0 for page in pages
        ]

    def forget(self, vmid: int, first: int, count: int) -> int:
        held = self.cached[vmid]
        gone = [place for place, (page, _) in held.items() if first <= page < first + count]
        for place in gone:
            del held[place]
        return len(gone)

    @rule(vmid=VMIDS, place=PLACES, count=COUNTS)
    def invalidate(self, vmid: int, place: tuple[int, int], count: int) -> None:
        first = place[0] // PAGE_SIZE + place[1]

        forgotten = self.spaces[vmid].invalidate(
            InvalidateScope.RANGE, first * PAGE_SIZE, count * PAGE_SIZE
        )

        assert forgotten == self.forget(vmid, first, count)

    @rule(vmid=VMIDS)
    def invalidate_all(self, vmid: int) -> None:
        assert self.spaces[vmid].invalidate(InvalidateScope.SPACE) == self.forget(vmid, 0, 1 << 36)

    @precondition(lambda self: len(self.pages) > 200)
    @rule(vmid=VMIDS)
    def start_over(self, vmid: int) -> None:
        self.spaces[vmid].destroy()
        self.pages = {key: at for key, at in self.pages.items() if key[0] != vmid}
        self.cached[vmid] = {}
        self.spaces[vmid] = space_of(
            self.memory, vmid=vmid, page_sizes=self.page_sizes, tlb_entries=TLB_ENTRIES
        )

    # --- Invariants -------------------------------------------------------------------------------

    @invariant()
    def every_block_is_sound(self) -> None:
        self.memory.check()
        for space in self.spaces.values():
            space.check()

    @invariant()
    def no_frame_is_lost(self) -> None:
        tables = sum(space.tables.table_count for space in self.spaces.values())
        assert self.memory.table_bytes == tables * PAGE_SIZE
        assert self.memory.free_bytes == (FRAMES - tables - self.object_frames) * PAGE_SIZE

    @invariant()
    def tables_say_what_was_mapped(self) -> None:
        for vmid, space in self.spaces.items():
            pages = {page for owner, page in self.pages if owner == vmid}
            assert space.tables.mapped_pages == len(pages)
            self.compare(vmid, space)

    def compare(self, vmid: int, space: AddressSpace) -> None:
        root = space.tables.root
        for base in BASES:
            first = base // PAGE_SIZE
            expected = [
                self.pages[vmid, page].entry if (vmid, page) in self.pages else 0
                for page in range(first, first + REGION)
            ]
            found, hole = walk_pages(self.memory, root, first, REGION)
            assert found.tolist() == expected
            assert hole == (expected.index(0) if 0 in expected else -1)
        edges = sorted(page for page in self.touched if 0 <= page < 1 << 36)
        alone = walked(self.memory, root, edges)
        assert alone == {
            page: self.pages[vmid, page].entry for page in edges if (vmid, page) in self.pages
        }
        many = walk_many(self.memory, root, np.array(edges, np.int64))
        assert many.tolist() == [alone.get(page, 0) for page in edges]
        assert all(walk(self.memory, root, page * PAGE_SIZE).fault is None for page in alone)

    @invariant()
    def tlb_holds_what_was_touched(self) -> None:
        for vmid, space in self.spaces.items():
            held = {
                place: (tag, page)
                for place, (tag, page) in enumerate(
                    zip(space.tlb.tags.tolist(), space.tlb.pages.tolist(), strict=True)
                )
                if tag >= 0
            }
            assert held == self.cached[vmid]


TestPaging = PagingMachine.TestCase
TestPaging.settings = settings(stateful_step_count=30)
