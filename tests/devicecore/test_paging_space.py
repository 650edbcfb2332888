"""Address spaces: translation through the TLB, exact faults, stale entries."""

from __future__ import annotations

import numpy as np
import pytest

from device.core.errors import EngineFault, InternalError
from device.core.paging import AddressSpace, need_mask
from device.core.paging.space import FEW_PAGES
from firmware.abi.control import InvalidateScope
from firmware.abi.faults import NO_LEVEL, FaultReason
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, Access, Rights
from firmware.abi.paging import leaf_entry
from tests.harness.memory import memory_of
from tests.harness.paging import (
    ALL_SIZES,
    GIB,
    MIB,
    SMALL,
    Fault,
    bus,
    local,
    map_all,
    outcome,
    space_of,
)

VA = 0x7000_0000_0000
READ = need_mask(Access.READ)
WRITE = need_mask(Access.WRITE)
LONG = 4 * FEW_PAGES
"""Pages that are translated with numpy."""


def make(frames: int = 512, **options: object) -> AddressSpace:
    return space_of(memory_of(frames), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("access", "need"),
    [
        (Access.READ, leaf_entry(0, Rights.READ)),
        (Access.WRITE, leaf_entry(0, Rights.WRITE)),
        (Access.ATOMIC, leaf_entry(0, Rights.ATOMIC)),
        (Access.FETCH, leaf_entry(0, Rights.READ)),
        (Access.READ | Access.WRITE, leaf_entry(0, READ_WRITE)),
    ],
)
def test_access_needs_the_right_of_its_name(access: Access, need: int) -> None:
    assert need_mask(access) == need & ~int(leaf_entry(0, Rights.NONE))


def test_page_is_walked_once_and_then_cached() -> None:
    space = make()
    space.tables.map_one(VA, 2 * MIB, bus(0))

    for _ in range(3):
        assert space.translate_page(VA + 5 * PAGE_SIZE + 7, READ) == bus(5 * PAGE_SIZE)

    counters = space.statistics().tlb
    assert (counters.hits, counters.misses, counters.entries) == (2, 1, 1)


def test_stale_entry_is_seen_until_it_is_invalidated() -> None:
    space = make()
    space.tables.map_one(VA, PAGE_SIZE, local(0x1000))
    space.translate_page(VA, READ)

    space.tables.unmap(VA, PAGE_SIZE)
    space.tables.map_one(VA, PAGE_SIZE, local(0x2000))
    assert space.translate_page(VA, READ) == local(0x1000)
    space.check()

    assert space.invalidate(InvalidateScope.PAGE, VA + 5) == 1
    assert space.translate_page(VA, READ) == local(0x2000)


@pytest.mark.parametrize("pages", [3, LONG])
def test_stale_entry_is_seen_in_the_middle_of_a_range(pages: int) -> None:
    space = make(tlb_entries=1024)
    space.tables.map_one(VA, pages * PAGE_SIZE, local(0))
    space.translate_page(VA + PAGE_SIZE, READ)
    space.tables.unmap(VA + PAGE_SIZE, PAGE_SIZE)

    assert len(space.translate(VA, pages * PAGE_SIZE, Access.READ)) == 1

    space.invalidate(InvalidateScope.RANGE, VA + PAGE_SIZE, 1)
    with pytest.raises(EngineFault) as fault:
        space.translate(VA, pages * PAGE_SIZE, Access.READ)
    assert fault.value.va == VA + PAGE_SIZE


def test_changed_rights_are_not_seen_before_an_invalidate() -> None:
    space = make()
    space.tables.map_one(VA, PAGE_SIZE, local(0, Rights.READ))
    space.translate_page(VA, READ)
    space.tables.protect(VA, PAGE_SIZE, READ_WRITE)

    with pytest.raises(EngineFault) as fault:
        space.translate_page(VA, WRITE)
    assert (fault.value.reason, fault.value.level) == (FaultReason.RIGHTS, NO_LEVEL)
    assert fault.value.entry == local(0, Rights.READ)

    space.invalidate(InvalidateScope.SPACE)
    assert space.translate_page(VA, WRITE) == local(0)


@pytest.mark.parametrize("pages", [1, 3, LONG])
def test_cached_range_is_seen_whole_until_it_is_invalidated(pages: int) -> None:
    space = make(tlb_entries=1024)
    space.tables.map_one(VA, pages * PAGE_SIZE, local(0, Rights.READ))
    before = outcome(space, VA, pages * PAGE_SIZE, Access.READ)
    space.tables.unmap(VA, pages * PAGE_SIZE)

    assert outcome(space, VA, pages * PAGE_SIZE, Access.READ) == before
    refused = Fault(FaultReason.RIGHTS, VA + 5, Access.WRITE, NO_LEVEL, local(0, Rights.READ))
    assert outcome(space, VA + 5, pages * PAGE_SIZE - 5, Access.WRITE) == refused

    assert space.invalidate(InvalidateScope.RANGE, VA, pages * PAGE_SIZE) == pages
    assert isinstance(outcome(space, VA, pages * PAGE_SIZE, Access.READ), Fault)


@pytest.mark.parametrize("pages", [1, 3, LONG])
def test_faults_are_not_cached(pages: int) -> None:
    space = make()
    with pytest.raises(EngineFault):
        space.translate(VA, pages * PAGE_SIZE, Access.READ)

    space.tables.map_one(VA, pages * PAGE_SIZE, local(0))

    assert space.translate(VA, pages * PAGE_SIZE, Access.READ).total == pages * PAGE_SIZE


@pytest.mark.parametrize("scope", InvalidateScope)
def test_invalidate_forgets_no_more_than_its_scope(scope: InvalidateScope) -> None:
    space = make()
    space.tables.map_one(VA, 8 * PAGE_SIZE, local(0))
    space.translate(VA, 8 * PAGE_SIZE, Access.READ)

    forgotten = space.invalidate(scope, VA + PAGE_SIZE + 1, 2 * PAGE_SIZE)

    expected = {InvalidateScope.PAGE: 1, InvalidateScope.RANGE: 3}.get(scope, 8)
    assert forgotten == expected
    assert space.statistics().tlb.entries == 8 - expected


def test_nothing_has_no_extents_and_less_is_a_mistake() -> None:
    space = make()

    assert list(space.translate(VA, 0, Access.READ)) == []
    with pytest.raises(InternalError, match="-1 bytes"):
        space.translate(VA, -1, Access.READ)


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE, Access.ATOMIC])
@pytest.mark.parametrize("pages", [1, 5, LONG])
@pytest.mark.parametrize("bad", [0, 1, 4, LONG - 1])
@pytest.mark.parametrize("what", ["hole", "rights", "malformed", "aperture"])
def test_fault_is_at_the_first_bad_byte(access: Access, pages: int, bad: int, what: str) -> None:
    space = make(page_sizes=SMALL)
    bad %= pages
    every = Rights.READ | Rights.WRITE | Rights.ATOMIC
    space.tables.map_one(VA, pages * PAGE_SIZE, bus(0, every))
    where = VA + bad * PAGE_SIZE
    words = space._memory.words
    at = words.tolist().index(bus(bad * PAGE_SIZE, every))
    entry, reason = {
        "hole": (0, FaultReason.NOT_PRESENT),
        "rights": (bus(0, Rights(every & ~access)), FaultReason.RIGHTS),
        "malformed": (bus(0) | 1 << 60, FaultReason.MALFORMED_ENTRY),
        "aperture": (local(1 << 40, every), FaultReason.BAD_APERTURE),
    }[what]
    words[at] = entry

    found = outcome(space, VA + 9, pages * PAGE_SIZE - 9, access)

    assert found == Fault(reason, max(where, VA + 9), access, 0, entry)
    counters = space.statistics().tlb
    assert counters.entries == min(bad + (what == "rights"), space.tlb.size)
    assert (counters.hits, counters.misses) == (0, bad + 1)


@pytest.mark.parametrize("size", [PAGE_SIZE, MIB, GIB, 1 << 60])
def test_range_over_the_end_of_the_address_space_faults_there(size: int) -> None:
    space = make()
    space.tables.map_one(VA_LIMIT - MIB, MIB, bus(0))

    found = outcome(space, VA_LIMIT - PAGE_SIZE, PAGE_SIZE + size, Access.READ)

    assert found == Fault(FaultReason.NOT_PRESENT, VA_LIMIT, Access.READ, 3, 0)


def test_many_pages_in_any_order_are_what_each_of_them_is() -> None:
    space = make()
    map_all(space.tables, (VA, MIB, bus(0)), (VA + MIB, MIB, local(0, Rights.READ)))
    vpns = np.array([5, 600, 5, 0, 260, 511, 512, 256], np.int64) + VA // PAGE_SIZE
    space.translate_page(VA, READ)

    read = space.translate_pages(vpns, READ).tolist()
    assert space.translate_pages(vpns[:1], READ).tolist() == read[:1]
    written = space.translate_pages(vpns, WRITE).tolist()

    low, high = bus(5 * PAGE_SIZE), local(4 * PAGE_SIZE, Rights.READ)
    last, first = local(255 * PAGE_SIZE, Rights.READ), local(0, Rights.READ)
    assert read == [low, 0, low, bus(0), high, last, 0, first]
    assert written == [low, 0, low, bus(0), 0, 0, 0, 0]
    space.check()


def test_destroyed_space_gave_its_tables_back() -> None:
    memory = memory_of(64)
    space = space_of(memory)
    space.tables.map_one(VA, PAGE_SIZE, local(0))
    space.translate_page(VA, READ)

    space.destroy()

    assert memory.free_bytes == 64 * PAGE_SIZE
    assert space.statistics().tlb.entries == 0


def test_statistics_tell_who_and_how_much() -> None:
    space = make(vmid=9)
    space.tables.map_one(VA, MIB, bus(0))

    counters = space.statistics()

    assert (counters.vmid, counters.owner) == (9, 7)
    assert counters.root_address == space.tables.root
    assert (counters.mapped_pages, counters.table_count) == (256, 4)


def test_space_uses_every_page_size_of_its_device() -> None:
    space = make(page_sizes=ALL_SIZES)
    space.tables.map_one(VA, GIB, bus(0))

    assert space.tables.table_count == 2
