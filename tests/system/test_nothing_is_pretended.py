"""Page tables, TLB and rings are the real thing: change their bytes, and the outcome changes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import InvalidateScope, Query, Subject, TlbInvalidate
from firmware.abi.control_extents import TranslationExtent
from firmware.abi.faults import FaultReason
from firmware.abi.paging import FRAME_MASK, LEVELS, Pde, Pte
from firmware.abi.replies import Invalidated, Queried
from firmware.abi.rings import RingHeader, RingState
from firmware.abi.statistics import SpaceStatistics
from tests.harness.commands import copy, fill
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient, RawQueue

PAGE = 4096
SIZE = 16 * PAGE
THERE = 1 << 32
HERE = 1 << 33
STAGE = (1 << 34) + (256 << 12)
# Other sets of the TLB than those of `HERE`: nothing is evicted.


class Sharing:
    """An exporter and an importer of the same memory, and what the importer reads."""

    def __init__(self) -> None:
        self.pair = DevicePair()
        self.exporter = self.pair.attach()
        self.importer = self.pair.attach()
        there = self.exporter.space()
        self.vmid = self.importer.space()
        # Two objects side by side, so that the importer's leaves are 4 KiB pages.
        for index in range(16):
            page = self.exporter.object(PAGE)
            self.exporter.map(there, THERE + index * PAGE, PAGE, page)
        queue = self.exporter.queue(there)
        for index in range(16):
            self.exporter.submit(queue, fill(THERE + index * PAGE, PAGE, index + 1))
        self.pair.step()
        exported = self.exporter.export(there, THERE, SIZE)
        self.importer.open(self.vmid, exported, HERE)
        self.stage = self.importer.object(PAGE)
        self.importer.map(self.vmid, STAGE, PAGE, self.stage)
        self.queue: RawQueue = self.importer.queue(self.vmid)

    def entry_at(self, va: int) -> int:
        """Return the VRAM address of the leaf entry of an address, walked by hand."""
        table = self.root()
        for level in reversed(LEVELS):
            at = table + ((va >> level.shift) & 511) * 8
            [entry] = struct.unpack_from("<Q", self.pair.vram, at)
            if entry & Pte.leaf.mask:
                return at
            table = entry & Pde.frame.mask
        raise AssertionError(f"no leaf at {va:#x}")

    def root(self) -> int:
        found = [
            SpaceStatistics.unpack(record) for record in self.importer.statistics(Subject.SPACE)
        ]
        [space] = (item for item in found if isinstance(item, SpaceStatistics) and self.owns(item))
        return space.root_address

    def owns(self, space: SpaceStatistics) -> bool:
        return space.client_id == self.importer.client_id and space.vmid == self.vmid

    def load(self, va: int) -> int:
        at = self.entry_at(va)
        return int.from_bytes(self.pair.vram[at : at + 8], "little")

    def store(self, va: int, entry: int) -> None:
        """Change the bits of a leaf entry behind everybody's back."""
        struct.pack_into("<Q", self.pair.vram, self.entry_at(va), entry)

    def forget(self) -> None:
        """Tell the importer's TLB."""
        command = TlbInvalidate(
            request=self.importer.request(),
            vmid=self.vmid,
            scope=InvalidateScope.SPACE,
            va=0,
            size_bytes=0,
        )
        self.importer.ask(command, Invalidated)

    def read(self, va: int) -> int | None:
        """Return the byte that fills the page at `va`, read by the copy engine; None on a fault."""
        self.importer.submit(self.queue, copy(va, STAGE, PAGE))
        self.pair.step()
        if self.importer.header(self.queue.header).state is RingState.STOPPED:
            return None
        frame = self.load(STAGE) & FRAME_MASK
        page = self.pair.vram[frame : frame + PAGE]
        assert len(set(page)) == 1
        return page[0]


@pytest.fixture
def sharing() -> Sharing:
    return Sharing()


def test_a_cleared_leaf_entry_makes_the_next_read_fault_at_that_address(sharing: Sharing) -> None:
    va = HERE + 5 * PAGE
    assert sharing.read(va) == 6

    sharing.store(va, 0)
    sharing.forget()

    assert sharing.read(va - PAGE) == 5
    assert sharing.read(va) is None
    [fault] = sharing.importer.faults()
    assert fault.reason is FaultReason.NOT_PRESENT
    assert fault.va == va
    assert fault.level == 0


def test_an_entry_redirected_to_another_frame_shows_that_frames_bytes(sharing: Sharing) -> None:
    assert sharing.read(HERE) == 1

    sharing.store(HERE, sharing.load(HERE + 7 * PAGE))
    sharing.forget()

    assert sharing.read(HERE) == 8


def test_a_stale_translation_shows_the_old_bytes_until_it_is_invalidated(
    sharing: Sharing,
) -> None:
    assert sharing.read(HERE) == 1

    sharing.store(HERE, sharing.load(HERE + 7 * PAGE))

    assert sharing.read(HERE) == 1
    sharing.forget()
    assert sharing.read(HERE) == 8


def test_an_entry_without_the_right_to_read_faults(sharing: Sharing) -> None:
    sharing.store(HERE, sharing.load(HERE) & ~Pte.read.mask)
    sharing.forget()

    assert sharing.read(HERE) is None
    [fault] = sharing.importer.faults()
    assert fault.reason is FaultReason.RIGHTS


def test_a_reserved_bit_in_an_entry_is_a_fault_that_shows_the_entry(sharing: Sharing) -> None:
    damaged = sharing.load(HERE) | 1 << 60
    sharing.store(HERE, damaged)
    sharing.forget()

    assert sharing.read(HERE) is None
    [fault] = sharing.importer.faults()
    assert fault.reason is FaultReason.MALFORMED_ENTRY
    assert fault.entry == damaged


def test_a_query_walks_the_same_bits(sharing: Sharing) -> None:
    sharing.store(HERE, sharing.load(HERE + 7 * PAGE))

    command = Query(
        request=sharing.importer.request(),
        vmid=sharing.vmid,
        payload_offset=0,
        va=HERE,
        size_bytes=1,
        capacity=1,
    )
    sharing.importer.ask(command, Queried)
    extent = TranslationExtent.unpack(sharing.importer.payload(0, TranslationExtent.SIZE))

    assert isinstance(extent, TranslationExtent)
    assert extent.address == sharing.load(HERE + 7 * PAGE) & FRAME_MASK


def test_damaging_a_command_in_the_ring_changes_the_outcome(sharing: Sharing) -> None:
    importer = sharing.importer
    importer.submit(sharing.queue, copy(HERE, STAGE, PAGE))
    slot = sharing.queue.header + RingHeader.SIZE
    importer.u8[slot : slot + 2] = b"\xee\xee"
    sharing.pair.step()

    assert importer.header(sharing.queue.header).state is RingState.STOPPED
    [fault] = importer.faults()
    assert fault.reason is FaultReason.BAD_COMMAND
    assert fault.opcode == 0xEEEE


def test_a_command_changed_in_the_ring_does_what_it_now_says(sharing: Sharing) -> None:
    importer: RawClient = sharing.importer
    importer.submit(sharing.queue, copy(HERE, STAGE, PAGE))
    slot = sharing.queue.header + RingHeader.SIZE
    importer.u8[slot : slot + 64] = copy(HERE + 3 * PAGE, STAGE, PAGE).pack()
    sharing.pair.step()

    frame = sharing.load(STAGE) & FRAME_MASK
    assert sharing.pair.vram[frame] == 4
