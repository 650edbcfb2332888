"""Where everything stands in a segment, decided by the device from the firmware's limits.

Every part begins on a page of its own, in the order of `firmware.abi.segment`. A client never
computes an offset: it reads the superblock, and `check_superblock` tells whether it can be true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from firmware.abi.faults import FaultRecord
from firmware.abi.ids import ABI_MAJOR, CONTROL_MESSAGE_SIZE, PAGE_SIZE, WORK_COMMAND_SIZE, Feature
from firmware.abi.registers import REGISTER_PAGE_SIZE
from firmware.abi.segment import SUPERBLOCK_OFFSET, FenceSlot, SpecBlock, Superblock
from firmware.link.errors import ContractError
from firmware.link.ringshape import RingShape

if TYPE_CHECKING:
    from firmware.abi.boot import FirmwareLimits

DOORBELL_SIZE: Final = 4
"""Bytes of one doorbell word."""
SEGMENT_LIMIT: Final = 1 << 32
"""Segments are smaller than this: their offsets are u32."""
_SPEC_OFFSET: Final = 0x400
"""In the first page, behind the superblock: both are constant while the device runs."""


def page_aligned(size: int) -> int:
    """Return `size` rounded up to whole pages."""
    return (size + PAGE_SIZE - 1) & -PAGE_SIZE


def control_shape(entry_count: int) -> RingShape:
    """Return the shape of a control or reply ring."""
    return RingShape(entry_count, CONTROL_MESSAGE_SIZE)


def fault_shape(entry_count: int) -> RingShape:
    """Return the shape of a fault ring."""
    return RingShape(entry_count, FaultRecord.SIZE)


def work_shape(entry_count: int) -> RingShape:
    """Return the shape of a work ring."""
    return RingShape(entry_count, WORK_COMMAND_SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlan:
    """Offsets and sizes of a segment's parts, in bytes; all offsets are multiples of 64."""

    registers_offset: int
    doorbells_offset: int
    doorbell_count: int
    spec_offset: int
    control_ring_offset: int
    control_ring: RingShape
    reply_ring_offset: int
    reply_ring: RingShape
    fault_ring_offset: int
    fault_ring: RingShape
    fences_offset: int
    fence_count: int
    ring_pool_offset: int
    ring_pool_size: int
    payload_offset: int
    payload_size: int
    size: int
    """Size of the segment, whole pages."""

    @classmethod
    def of(cls, limits: FirmwareLimits) -> SegmentPlan:
        """Lay out a segment for these limits: one doorbell a queue and one for control.

        Raises:
            ValueError: a ring that is no power of two, or a segment of 4 GiB or more.
        """
        control = control_shape(limits.control_ring_entries).checked()
        fault = fault_shape(limits.fault_ring_entries).checked()
        doorbell_count = limits.max_queues + 1
        registers = PAGE_SIZE
        doorbells = registers + REGISTER_PAGE_SIZE
        control_ring = doorbells + page_aligned(doorbell_count * DOORBELL_SIZE)
        reply_ring = control_ring + page_aligned(control.size)
        fault_ring = reply_ring + page_aligned(control.size)
        fences = fault_ring + page_aligned(fault.size)
        ring_pool = fences + page_aligned(limits.fence_count * FenceSlot.SIZE)
        payload = ring_pool + page_aligned(limits.ring_pool_size)
        size = payload + page_aligned(limits.payload_size)
        if size >= SEGMENT_LIMIT:
            raise ValueError(f"segment of {size:#x} bytes, expected less than {SEGMENT_LIMIT:#x}")
        return cls(
            registers_offset=registers,
            doorbells_offset=doorbells,
            doorbell_count=doorbell_count,
            spec_offset=_SPEC_OFFSET,
            control_ring_offset=control_ring,
            control_ring=control,
            reply_ring_offset=reply_ring,
            reply_ring=control,
            fault_ring_offset=fault_ring,
            fault_ring=fault,
            fences_offset=fences,
            fence_count=limits.fence_count,
            ring_pool_offset=ring_pool,
            ring_pool_size=page_aligned(limits.ring_pool_size),
            payload_offset=payload,
            payload_size=page_aligned(limits.payload_size),
            size=size,
        )

    def superblock(
        self,
        *,
        abi_minor: int,
        features: Feature,
        device_index: int,
        emulator_id: int,
        client_id: int,
    ) -> Superblock:
        """Return the superblock that tells a client this plan and what was agreed with it."""
        return Superblock(
            abi_major=ABI_MAJOR,
            abi_minor=abi_minor,
            device_index=device_index,
            features=features,
            segment_size=self.size,
            emulator_id=emulator_id,
            client_id=client_id,
            registers_offset=self.registers_offset,
            doorbells_offset=self.doorbells_offset,
            doorbell_count=self.doorbell_count,
            spec_offset=self.spec_offset,
            control_ring_offset=self.control_ring_offset,
            control_ring_entries=self.control_ring.entry_count,
            reply_ring_offset=self.reply_ring_offset,
            reply_ring_entries=self.reply_ring.entry_count,
            fault_ring_offset=self.fault_ring_offset,
            fault_ring_entries=self.fault_ring.entry_count,
            fences_offset=self.fences_offset,
            fence_count=self.fence_count,
            ring_pool_offset=self.ring_pool_offset,
            ring_pool_size=self.ring_pool_size,
            payload_offset=self.payload_offset,
            payload_size=self.payload_size,
        )


def parts_of(block: Superblock) -> tuple[tuple[str, int, int], ...]:
    """Return name, offset and size in bytes of every part that a superblock tells of."""
    return (
        ("superblock", SUPERBLOCK_OFFSET, Superblock.SIZE),
        ("spec", block.spec_offset, SpecBlock.SIZE),
        ("registers", block.registers_offset, REGISTER_PAGE_SIZE),
        ("doorbells", block.doorbells_offset, block.doorbell_count * DOORBELL_SIZE),
        ("control ring", block.control_ring_offset, control_shape(block.control_ring_entries).size),
        ("reply ring", block.reply_ring_offset, control_shape(block.reply_ring_entries).size),
        ("fault ring", block.fault_ring_offset, fault_shape(block.fault_ring_entries).size),
        ("fences", block.fences_offset, block.fence_count * FenceSlot.SIZE),
        ("ring pool", block.ring_pool_offset, block.ring_pool_size),
        ("payload", block.payload_offset, block.payload_size),
    )


def check_superblock(view: memoryview, size: int) -> Superblock:
    """Return the superblock at the start of a segment of `size` bytes.

    Raises:
        ContractError: it is malformed, tells another size, or its parts overlap, are not aligned
            or leave the segment.
    """
    block = Superblock.unpack(view, SUPERBLOCK_OFFSET)
    if not isinstance(block, Superblock):
        raise ContractError(f"segment: {block}")
    if block.segment_size != size:
        raise ContractError(
            f"superblock tells {block.segment_size:#x} bytes, the segment has {size:#x}"
        )
    end, before = 0, "start"
    for name, offset, part_size in sorted(parts_of(block), key=lambda part: part[1:]):
        if offset % 8:
            raise ContractError(f"{name} at {offset:#x}, expected a multiple of 8")
        if offset < end:
            raise ContractError(f"{name} at {offset:#x} overlaps {before}, which ends at {end:#x}")
        end, before = offset + part_size, name
    if end > size:
        raise ContractError(f"{before} ends at {end:#x}, behind the segment's end at {size:#x}")
    return block
