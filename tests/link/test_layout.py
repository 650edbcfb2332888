"""The plan of a segment, and what a driver accepts as one."""

from __future__ import annotations

import msgspec
import pytest

from firmware.abi.ids import PAGE_SIZE, Feature
from firmware.abi.segment import FenceSlot, SpecBlock, Superblock
from firmware.link.errors import ContractError
from firmware.link.layout import SegmentPlan, check_superblock, parts_of
from tests.harness.link_pairs import LIMITS, PLAN

BLOCK = PLAN.superblock(
    abi_minor=0, features=Feature.EVENT_INDEX, device_index=2, emulator_id=3, client_id=4
)


def segment_with(block: Superblock) -> memoryview:
    view = memoryview(bytearray(PLAN.size))
    view[: block.SIZE] = block.pack()
    return view


def test_parts_follow_each_other_without_overlap() -> None:
    end = 0
    for name, offset, size in sorted(parts_of(BLOCK), key=lambda part: part[1]):
        assert offset >= end, name
        assert offset % 64 == 0, name
        end = offset + size

    assert end <= PLAN.size
    assert PLAN.size % PAGE_SIZE == 0


def test_parts_have_the_sizes_that_the_limits_ask_for() -> None:
    sizes = {name: size for name, _, size in parts_of(BLOCK)}

    assert sizes["doorbells"] == 4 * (LIMITS.max_queues + 1)
    assert sizes["control ring"] == sizes["reply ring"] == 256 + 16 * 64
    assert sizes["fault ring"] == 256 + 8 * 64
    assert sizes["fences"] == LIMITS.fence_count * FenceSlot.SIZE
    assert sizes["ring pool"] == LIMITS.ring_pool_size
    assert sizes["payload"] == LIMITS.payload_size
    assert sizes["spec"] == SpecBlock.SIZE


def test_parts_that_both_sides_store_into_share_no_page() -> None:
    pages = [
        PLAN.registers_offset,
        PLAN.doorbells_offset,
        PLAN.control_ring_offset,
        PLAN.reply_ring_offset,
        PLAN.fault_ring_offset,
        PLAN.fences_offset,
        PLAN.ring_pool_offset,
        PLAN.payload_offset,
    ]

    assert all(offset % PAGE_SIZE == 0 for offset in pages)


def test_the_superblock_tells_the_plan() -> None:
    assert check_superblock(segment_with(BLOCK), PLAN.size) == BLOCK


def test_sizes_that_are_no_whole_pages_are_rounded_up() -> None:
    plan = SegmentPlan.of(msgspec.structs.replace(LIMITS, payload_size=1, ring_pool_size=4097))

    assert (plan.payload_size, plan.ring_pool_size) == (4096, 8192)


def test_a_segment_of_four_gigabytes_is_refused() -> None:
    with pytest.raises(ValueError, match="less than 0x100000000"):
        SegmentPlan.of(msgspec.structs.replace(LIMITS, payload_size=0xFFFF_F000))


def test_rings_that_are_no_power_of_two_are_refused() -> None:
    with pytest.raises(ValueError, match="ring of 12 entries, expected a power of two"):
        SegmentPlan.of(msgspec.structs.replace(LIMITS, control_ring_entries=12))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"segment_size": PLAN.size + 4096}, "superblock tells"),
        ({"reply_ring_offset": PLAN.control_ring_offset}, "overlaps control ring"),
        ({"fences_offset": 0}, "overlaps"),
        ({"control_ring_offset": PLAN.control_ring_offset + 4}, "expected a multiple of 8"),
        ({"payload_size": PLAN.payload_size + 8}, "payload ends at"),
        ({"doorbell_count": 0xFFFF_FFFF}, "overlaps doorbells"),
    ],
)
def test_a_superblock_that_cannot_be_true_is_refused(changes: dict[str, int], text: str) -> None:
    wrong = msgspec.structs.replace(BLOCK, **changes)

    with pytest.raises(ContractError, match=text):
        check_superblock(segment_with(wrong), PLAN.size)


def test_a_segment_without_superblock_is_refused() -> None:
    with pytest.raises(ContractError, match=r"Superblock\.magic"):
        check_superblock(memoryview(bytearray(4096)), 4096)
