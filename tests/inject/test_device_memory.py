"""Device memory: allocations that fail, and errors that engines meet, corrected or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.spec import DeviceSpec
from firmware.abi.control import Allocate, ObjectFlags, ObjectKind, SpaceCreate
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Access
from firmware.abi.registers import STATUS, DeviceStatus
from firmware.abi.replies import Allocated, Refused
from firmware.abi.status import Status
from firmware.abi.work import MemoryAdd, MemoryWrite, WorkFlags
from hostdriver.testing.pair import pair
from tests.harness.commands import copy, fill
from tests.harness.injected import MIB, A, B, Injected
from tests.harness.injection import faults_of
from tests.harness.levelzero import fails
from tests.inject.test_device_dma import LARGE, region

if TYPE_CHECKING:
    from firmware.abi.work import WorkCommand

VA = 0x4000_0000
NONE = WorkFlags.NONE


def allocate(b: Injected, va: int, size: int = 3 * PAGE_SIZE) -> Allocate:
    return Allocate(
        request=b.client.request(),
        vmid=b.vmid,
        kind=ObjectKind.VRAM,
        flags=ObjectFlags.NONE,
        rights=READ_WRITE,
        va=va,
        size_bytes=size,
        page_size=0,
    )


# --- memory.allocate -----------------------------------------------------------------------------


def test_each_allocation_of_frames_may_be_the_one_that_fails_and_nothing_is_left() -> None:
    b = Injected()
    free, reached = b.statistics().free_bytes, 0
    # The object's own, and three page tables.
    for nth in range(1, 9):
        rule = b.faults.add(f"memory.allocate fail nth={nth} name=at{nth}")
        reply = b.client.call(allocate(b, VA + (nth << 30)))
        b.device.check()
        b.faults.remove(rule)
        if isinstance(reply, Allocated):
            break
        reached += 1
        assert isinstance(reply, Refused)
        assert reply.status is Status.OUT_OF_DEVICE_MEMORY
        assert reply.detail <= free
        assert b.statistics().free_bytes == free
    assert reached == len(b.faults.hits) == 3
    assert b.faults.hits[0].site.size == 3 * PAGE_SIZE
    assert b.run(fill(VA + ((reached + 1) << 30), PAGE_SIZE, 1)) == []
    b.end()


def test_a_space_without_room_for_its_table_is_refused() -> None:
    b = Injected()
    rule = b.faults.add("memory.allocate fail")
    refused = b.client.refused(SpaceCreate(request=b.client.request()))
    assert refused.status is Status.OUT_OF_DEVICE_MEMORY
    b.faults.remove(rule)
    b.client.space()
    b.end()


def test_a_program_is_told_of_exhausted_memory_and_allocates_when_the_rule_has_gone() -> None:
    with pair(DeviceSpec(vram_size=64 * MIB)) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        device = p.driver.devices[0]
        rule = faults.add("memory.allocate fail")
        with fails("OUT_OF_DEVICE_MEMORY"):
            context.mem_alloc_device(device, 1 << 16)
        faults.remove(rule)
        context.mem_free(context.mem_alloc_device(device, 1 << 16))
        p.assert_nothing_left()


def test_memory_fails_behind_so_many_bytes() -> None:
    b = Injected()
    b.faults.add(f"memory.allocate fail space={8 * PAGE_SIZE}")
    assert isinstance(b.client.call(allocate(b, A + (4 << 20), PAGE_SIZE)), Allocated)
    assert isinstance(b.client.call(allocate(b, A + (5 << 20), 16 * PAGE_SIZE)), Refused)
    b.end()


# --- memory.access -------------------------------------------------------------------------------


def bench(size: int = LARGE) -> Injected:
    made = Injected(size)
    assert made.run(fill(A, size, 0x5A), fill(B, size, 0x11)) == []
    return made


SPOT = 2 * PAGE_SIZE + 40
"""Byte of the source that errors sit at."""
READERS: dict[str, tuple[list[WorkCommand], int]] = {
    "small": ([copy(A + SPOT - 8, B, 16)], 3),
    "pages": ([copy(A, B, 4 * PAGE_SIZE)], 3),
    "chunks": ([copy(A, B, LARGE)], 3),
    "rows": ([region(64, 4, 3, PAGE_SIZE, 4 * PAGE_SIZE)], 3),
    "word": ([MemoryAdd(flags=NONE, tag=0, destination=A + SPOT, value=1)], 3),
}


@pytest.mark.parametrize("way", ["small", "pages", "chunks", "rows", "word"])
def test_a_poisoned_address_faults_whatever_way_it_is_read_and_is_retired_when_freed(
    way: str,
) -> None:
    b = bench()
    commands, seqno = READERS[way]
    b.faults.add(f"memory.access uncorrectable address={b.vram(A + SPOT):#x} times=1")
    (record,) = b.run(*commands)
    assert (record.reason, record.access, record.seqno) == (
        FaultReason.POISON,
        Access.READ,
        seqno,
    )
    assert record.va & -PAGE_SIZE == A + 2 * PAGE_SIZE
    assert len(b.faults.hits) == 1
    # Who reads there again consumes the poison again, also when the rule has gone.
    b.faults.clear()
    b.reset_queue()
    (record,) = b.run(copy(A + 2 * PAGE_SIZE, B, 1))
    assert (record.reason, record.va) == (FaultReason.POISON, A + 2 * PAGE_SIZE)
    b.reset_queue()
    assert b.run(copy(A + 3 * PAGE_SIZE, B, PAGE_SIZE)) == []
    assert b.statistics().ecc_uncorrected == 1
    b.end(lost_bytes=PAGE_SIZE)


def test_many_small_copies_meet_the_error_where_it_is() -> None:
    b = bench()
    copies: list[WorkCommand] = [copy(A + 64 * n, B + 64 * n, 64) for n in range(40)]
    b.faults.add(f"memory.access uncorrectable address={b.vram(A + 64 * 30):#x}")
    (record,) = b.run(*copies)
    assert (record.va, record.seqno) == (A + 64 * 30, 3 + 30)
    b.end(lost_bytes=PAGE_SIZE)


@pytest.mark.parametrize("way", ["small", "pages", "chunks", "rows", "word"])
def test_a_correctable_error_is_corrected_and_counted_whatever_way_it_is_read(way: str) -> None:
    b = bench()
    b.faults.add(f"memory.access correctable address={b.vram(A + SPOT):#x} times=3")
    commands, _ = READERS[way]
    assert b.run(*commands) == []
    assert b.statistics().ecc_corrected >= 1
    assert b.faults.fired[0] == "memory.access"
    assert b.peek(A + SPOT - 8, 8) == b"\x5a" * 8
    b.end()


def test_errors_at_random_are_the_same_for_a_seed_and_others_for_another() -> None:
    def addresses(seed: int) -> list[int]:
        b = Injected(seed=seed)
        b.faults.add("memory.access correctable probability=0.5")
        for _ in range(30):
            assert b.run(copy(A, B, 4 * PAGE_SIZE)) == []
        assert 10 < len(b.faults.hits) < 60
        assert b.statistics().ecc_corrected > 0
        b.end()
        return [hit.occurrence for hit in b.faults.hits]

    assert addresses(1) == addresses(1) != addresses(2)


def test_an_error_without_an_address_is_anywhere_in_the_bytes() -> None:
    b = bench()
    b.faults.add("memory.access uncorrectable nth=1")
    assert len(b.run(copy(A, B, LARGE))) == 1
    found = b.faults.hits[0]
    assert found.address == -1
    b.faults.clear()
    (frame,) = b.device.memory.local.ecc.marked
    assert found.site.address <= frame * PAGE_SIZE < found.site.address + found.site.size
    assert frame * PAGE_SIZE != found.site.address, "of 1,536 frames it is not the first"
    b.end(lost_bytes=PAGE_SIZE)


def test_an_error_that_comes_with_a_write_is_met_by_the_next_read() -> None:
    b = bench()
    b.faults.add(f"memory.access correctable address={b.vram(B + 8):#x} nth=1")
    assert b.run(MemoryWrite(flags=NONE, tag=0, destination=B + 8, value=7)) == []
    assert b.statistics().ecc_corrected == 0
    assert b.run(copy(B, A, 64)) == []
    assert b.statistics().ecc_corrected == 1
    b.faults.add(f"memory.access uncorrectable address={b.vram(B + 8):#x} nth=1")
    assert b.run(MemoryWrite(flags=NONE, tag=0, destination=B + 8, value=7)) == []
    (record,) = b.run(copy(B, A, 64))
    assert (record.reason, record.va) == (FaultReason.POISON, B)
    b.end(lost_bytes=PAGE_SIZE)


def test_a_frame_retires_when_it_is_freed_and_serves_until_then() -> None:
    b = bench()
    b.faults.add(f"memory.access retire address={b.vram(A):#x}")
    assert b.run(copy(A, B, 64), copy(A, B, 64)) == []
    assert len(b.faults.hits) == 2
    assert b.device.memory.retired_frames == 0
    b.end(lost_bytes=PAGE_SIZE)
    assert b.device.memory.retired_frames == 1


def test_poison_is_told_in_the_status_register_while_rules_watch_all_accesses() -> None:
    b = bench()
    b.faults.add("memory.access uncorrectable nth=2")
    b.pair.step()
    assert not DeviceStatus(b.client.load32(STATUS.offset)).poison
    b.run(copy(A, B, 64))
    b.pair.step()
    assert DeviceStatus(b.client.load32(STATUS.offset)).poison


def test_copies_take_the_short_way_again_when_nobody_watches() -> None:
    b = bench()
    rule = b.faults.add("memory.access retire address=0x0-0xfff")
    copies: list[WorkCommand] = [copy(A + 64 * n, B + 64 * n, 64) for n in range(40)]
    assert b.run(*copies) == []
    assert b.device.inside.blocks.scheduler.statistics().batched == 0
    b.faults.remove(rule)
    assert b.run(*copies) == []
    assert b.device.inside.blocks.scheduler.statistics().batched == 40
    assert not b.device.memory.local.ecc.marked
    b.end()


def test_a_device_without_ecc_changes_the_data_silently() -> None:
    b = Injected(spec=DeviceSpec(vram_size=16 * MIB, ecc=False))
    assert b.run(fill(A, 64, 0)) == []
    b.faults.add(f"memory.access uncorrectable address={b.vram(A + 3):#x} nth=1")
    assert b.run(copy(A, B, 8)) == []
    assert b.peek(B, 8) == bytes([0, 0, 0, 3, 0, 0, 0, 0])
    assert b.statistics().ecc_uncorrected == 0
    b.end()


def test_a_program_is_told_of_the_poison_it_reads_and_lives_with_other_memory() -> None:
    with pair(DeviceSpec(vram_size=64 * MIB)) as p, p.driver.create_context() as context:
        device = p.driver.devices[0]
        pointer = context.mem_alloc_device(device, 1 << 16)
        other = context.mem_alloc_device(device, 1 << 16)
        context.memory_fill(pointer, b"x", 1 << 16)
        faults = faults_of(p)
        faults.add("memory.access uncorrectable nth=1")
        with fails("DEVICE_LOST", "uncorrectable error"):
            context.memory_read(pointer, 1 << 16)
        faults.clear()
        context.memory_fill(other, b"y", 64)
        assert context.memory_read(other, 64) == b"y" * 64
        context.mem_free(pointer)
        context.mem_free(other)
        assert p.device.memory.retired_frames == 1
        p.assert_nothing_left()
