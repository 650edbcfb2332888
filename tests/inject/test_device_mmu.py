"""Page tables: entries whose bits flip, and walks that find nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.paging.walker import find_leaf
from firmware.abi.control import (
    Protect,
    Unmap,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Rights
from firmware.abi.paging import Pte
from firmware.abi.replies import Mapped
from firmware.inject import RuleError, parse_rule
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.commands import copy, fill
from tests.harness.injected import MIB, A, B, Injected
from tests.harness.injection import faults_of
from tests.harness.levelzero import fails
from tests.inject.test_device_dma import region

if TYPE_CHECKING:
    from firmware.abi.work import WorkCommand

VA = 0x4000_0000
D = B + 8 * PAGE_SIZE
"""Bytes whose page has another place in the TLB than A's first ones."""
LARGE = 6 * MIB


def unmap(b: Injected, va: int, size: int) -> Unmap:
    return Unmap(request=b.client.request(), vmid=b.vmid, va=va, size_bytes=size)


def entry(b: Injected, va: int) -> Pte:
    """Return the leaf entry of an address as the tables have it."""
    return Pte(b.device.memory.words[find_leaf(b.device.memory.words, b.root, va)])


# --- mmu.entry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "changed", "reason"),
    [
        ("field=write", Pte.write.mask, FaultReason.RIGHTS),
        ("field=valid", Pte.valid.mask, FaultReason.MALFORMED_ENTRY),
        ("mask=0x8000000000000000", 1 << 63, FaultReason.MALFORMED_ENTRY),
        ("field=frame mask=0x800000000", Pte.frame.of(1 << 35), FaultReason.BAD_APERTURE),
    ],
)
def test_one_bit_of_one_entry_flips_and_the_engine_meets_it(
    what: str, changed: int, reason: FaultReason
) -> None:
    b = Injected()
    object_id = b.client.object(4 * PAGE_SIZE)
    b.faults.add(f"mmu.entry flip {what} address={VA + PAGE_SIZE:#x} times=1")
    b.client.map(b.vmid, VA, 4 * PAGE_SIZE, object_id)
    assert b.run(fill(VA, PAGE_SIZE, 1), fill(VA + 2 * PAGE_SIZE, PAGE_SIZE, 1)) == []
    (record,) = b.run(fill(VA + PAGE_SIZE + 5, 8, 1))
    assert (record.reason, record.va, record.level) == (reason, VA + PAGE_SIZE + 5, 0)
    assert record.entry ^ changed == int(entry(b, VA)) + PAGE_SIZE
    (hit,) = b.faults.hits
    assert (hit.site.address, hit.site.size, hit.site.level) == (VA, 4 * PAGE_SIZE, 0)
    assert (hit.site.pid, hit.site.process) == (4711, "test")
    # A reset restores: the space goes with all its tables.
    b.faults.clear()
    b.device.reset(b.pair.now)
    b.pair.step()
    b.device.check()
    b.begin()
    b.client.map(b.vmid, VA, 4 * PAGE_SIZE, b.client.object(4 * PAGE_SIZE))
    assert b.run(fill(VA, 4 * PAGE_SIZE, 1)) == []
    b.device.check()


def test_bits_of_an_entry_are_chosen_by_the_seed_and_others_by_another() -> None:
    def entries(seed: int) -> list[int]:
        b = Injected(seed=seed)
        b.faults.add("mmu.entry flip=2 level=0")
        object_id = b.client.object(8 * PAGE_SIZE)
        b.client.map(b.vmid, VA, 8 * PAGE_SIZE, object_id)
        plain = int(entry(b, A)) & ~Pte.frame.mask
        found = [int(entry(b, VA + n * PAGE_SIZE)) & ~Pte.frame.mask for n in range(8)]
        assert len(b.faults.hits) == 1
        return [value ^ plain for value in found] + [
            int(entry(b, VA + n * PAGE_SIZE)) for n in range(8)
        ]

    assert entries(3) == entries(3) != entries(4)


def test_a_directory_entry_flips_where_the_rule_names_its_level() -> None:
    b = Injected()
    b.faults.add("mmu.entry flip field=valid level=1 times=1")
    b.client.map(b.vmid, VA, PAGE_SIZE, b.client.object(PAGE_SIZE))
    (record,) = b.run(fill(VA, 8, 1))
    assert (record.reason, record.level) == (FaultReason.MALFORMED_ENTRY, 1)


def test_new_rights_are_entries_that_were_written_too() -> None:
    b = Injected()
    b.faults.add(f"mmu.entry flip field=read address={A:#x}")
    protect = Protect(
        request=b.client.request(), vmid=b.vmid, rights=Rights.READ, va=A, size_bytes=PAGE_SIZE
    )
    b.client.ask(protect, Mapped)
    (record,) = b.run(copy(A, B, 8))
    assert (record.reason, record.va) == (FaultReason.RIGHTS, A)


def test_an_entry_has_no_field_of_that_name() -> None:
    with pytest.raises(RuleError, match="'frame'"):
        parse_rule("mmu.entry flip field=colour")


def test_a_damaged_space_can_be_left() -> None:
    b = Injected()
    b.faults.add("mmu.entry flip=3")
    for number in range(20):
        b.client.map(b.vmid, VA + number * 4 * MIB, 8 * PAGE_SIZE, b.client.object(8 * PAGE_SIZE))
        b.run(fill(VA + number * 4 * MIB, 8 * PAGE_SIZE, 1))
        b.reset_queue()
    for number in range(20):
        b.client.call(unmap(b, VA + number * 4 * MIB, 8 * PAGE_SIZE))
    b.faults.clear()
    b.pair.detach(b.client)
    b.pair.step()
    b.device.check()
    assert b.statistics().free_bytes == b.before.free_bytes


# --- mmu.walk ------------------------------------------------------------------------------------

WAYS: dict[str, tuple[list[WorkCommand], int]] = {
    "page": ([fill(B + 5 * PAGE_SIZE, 8, 1)], B + 5 * PAGE_SIZE),
    "few": ([copy(A, B, 8 * PAGE_SIZE)], B + 5 * PAGE_SIZE),
    "window": ([copy(A, B, 64 * PAGE_SIZE)], B + 5 * PAGE_SIZE),
    "chunks": ([copy(A, B, LARGE)], B + 5 * PAGE_SIZE),
    "rows": ([region(64, 8, 3, PAGE_SIZE, 8 * PAGE_SIZE)], B + 5 * PAGE_SIZE),
    "long rows": ([region(3 * PAGE_SIZE, 8, 2, 4 * PAGE_SIZE, 64 * PAGE_SIZE)], B + 5 * PAGE_SIZE),
    "batch": ([copy(A + n, B + 5 * PAGE_SIZE + n, 1) for n in range(40)], B + 5 * PAGE_SIZE),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_a_walk_fails_whatever_way_the_page_is_looked_up(way: str) -> None:
    commands, va = WAYS[way]
    b = Injected(LARGE)
    b.faults.add(f"mmu.walk fail_walk=2 address={B + 5 * PAGE_SIZE:#x}+0x1000 nth=1")
    (record,) = b.run(*commands)
    assert (record.reason, record.level, record.entry) == (FaultReason.NOT_PRESENT, 2, 0)
    assert record.va == va
    assert len(b.faults.hits) == 1
    b.reset_queue()
    assert b.run(*commands) == [], "the walk after it finds all"
    b.end()


def test_walks_are_asked_for_only_where_the_tlb_knows_nothing() -> None:
    b = Injected()
    assert b.run(copy(A, D, 64)) == []
    b.faults.add("mmu.walk fail_walk")
    assert b.run(copy(A, D, 64), copy(A + 8, D + 8, 64)) == []
    (record,) = b.run(copy(A + PAGE_SIZE, D, 64))
    assert (record.reason, record.va, record.level) == (FaultReason.NOT_PRESENT, A + PAGE_SIZE, 0)
    site = b.faults.hits[0].site
    assert (site.address, site.size, site.level) == (A + PAGE_SIZE, PAGE_SIZE, 0)
    b.end()


def test_a_level_beyond_the_root_is_the_root() -> None:
    b = Injected()
    b.faults.add("mmu.walk fail_walk=99")
    (record,) = b.run(copy(A, B, 64))
    assert record.level == 3
    b.end()


def test_rules_of_several_points_come_and_go_in_any_order() -> None:
    b = Injected()
    lines = (
        "mmu.walk fail_walk nth=1000",
        "dma.transfer partial nth=1000",
        "memory.access retire nth=1000",
        "mmu.invalidate drop nth=1000",
        "memory.allocate fail nth=1000",
        "mmu.entry flip nth=1000",
    )
    for first in range(len(lines)):
        names = [b.faults.add(line) for line in lines[first:] + lines[:first]]
        assert b.run(copy(A, B, 64)) == []
        for name in names:
            b.faults.remove(name)
            assert b.run(copy(A, B, 64)) == []
    batch: list[WorkCommand] = [copy(A + n, B + n, 1) for n in range(40)]
    assert b.run(*batch) == []
    assert b.device.inside.blocks.scheduler.statistics().batched == 40
    b.end()


def test_a_program_is_told_where_a_walk_failed() -> None:
    with pair(DeviceSpec(vram_size=64 * MIB)) as p, p.driver.create_context() as context:
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults = faults_of(p)
        faults.add(f"mmu.walk fail_walk=1 address={pointer:#x}")
        with fails("DEVICE_LOST", f"{pointer:#x}", "nothing is mapped there", "level 1"):
            context.memory_fill(pointer, b"x", 64)
        faults.clear()
        context.memory_fill(pointer, b"x", 64)
        context.mem_free(pointer)
        p.assert_nothing_left()
