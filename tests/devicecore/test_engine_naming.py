"""Which submitted commands name a range: every operand of every kind of command."""

from __future__ import annotations

import pytest

from device.core.engine.naming import MOST_SCANNED
from firmware.abi.control import Release, ReleaseMode
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Released
from firmware.abi.rings import TAIL
from firmware.abi.work import (
    Advice,
    Advise,
    Barrier,
    Copy,
    CopyRegion,
    FenceTimes,
    FenceWait,
    FenceWrite,
    Fill,
    MemoryAdd,
    MemoryWait,
    MemoryWrite,
    Nop,
    Prefetch,
    TimestampWrite,
    WorkCommand,
    WorkFlags,
)
from tests.harness.devicepair import DevicePair

VA = 1 << 30
SIZE = 16 * PAGE_SIZE
END = VA + SIZE
NONE = WorkFlags.NONE
FAR = 1 << 40


def copy(source: int, destination: int, size: int, flags: WorkFlags = NONE) -> Copy:
    return Copy(flags=flags, tag=0, source=source, destination=destination, size_bytes=size)


def box(source: int, destination: int) -> CopyRegion:
    """Return a box of which only the very last byte, 0x2103 bytes on, matters."""
    return CopyRegion(
        flags=NONE,
        tag=0,
        source=source,
        destination=destination,
        width=4,
        height=2,
        depth=3,
        source_row_pitch=0x100,
        source_slice_pitch=0x1000,
        destination_slice_pitch=0x1000,
        destination_row_pitch=0x100,
    )


def fill(at: int, size: int) -> Fill:
    return Fill(
        flags=NONE, tag=0, destination=at, size_bytes=size, pattern=bytes(16), pattern_size=1
    )


NAMING: list[WorkCommand] = [
    copy(VA - 8, FAR, 9),
    copy(END - 1, FAR, 1),
    copy(FAR, END - 1, 8),
    copy(FAR, VA - 8, 1 << 30),
    copy(1 << 46, VA, 1, WorkFlags.CLIENT_SOURCE),
    box(VA - 0x2103, FAR),
    box(FAR, VA - 0x2103),
    box(FAR, END - 1),
    fill(VA + 8, 1),
    TimestampWrite(flags=NONE, tag=0, destination=END - 8),
    MemoryWrite(flags=NONE, tag=0, destination=VA - 7, value=1),
    MemoryAdd(flags=NONE, tag=0, destination=END - 8, value=1),
    MemoryWait(flags=NONE, tag=0, source=VA, value=1),
    FenceTimes(flags=NONE, tag=0, pool=0, slot=1, destination=VA - 24),
    Prefetch(flags=NONE, tag=0, address=VA + SIZE // 2, size_bytes=8),
    Advise(flags=NONE, tag=0, address=VA, size_bytes=PAGE_SIZE, advice=Advice.SET_READ_MOSTLY),
    copy(VA - PAGE_SIZE, FAR, (1 << 64) - PAGE_SIZE),
]
OTHERS: list[WorkCommand] = [
    copy(VA - 8, END, 8),
    copy(VA, END, 0),
    copy(VA, FAR, 8, WorkFlags.CLIENT_SOURCE),
    copy(FAR, VA, 8, WorkFlags.CLIENT_DESTINATION),
    box(VA - 0x2104, END),
    fill(END, 1),
    TimestampWrite(flags=NONE, tag=0, destination=VA - 8),
    MemoryWrite(flags=NONE, tag=0, destination=END, value=VA),
    MemoryAdd(flags=NONE, tag=0, destination=END, value=VA),
    MemoryWait(flags=WorkFlags.CLIENT_SOURCE, tag=0, source=VA, value=VA),
    FenceTimes(flags=NONE, tag=0, pool=0, slot=1, destination=VA - 32),
    Prefetch(flags=NONE, tag=0, address=END, size_bytes=8),
    FenceWrite(flags=NONE, tag=0, pool=0, slot=1, value=VA),
    Barrier(flags=NONE, tag=0),
    Nop(flags=NONE, tag=0),
]


class Bench:
    """A client with an object at VA, and commands behind a fence that never opens."""

    def __init__(self, entry_count: int = 64) -> None:
        self.pair = DevicePair()
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        self.object = self.client.object(SIZE)
        self.client.map(self.vmid, VA, SIZE, self.object)
        self.queue = self.client.queue(self.vmid, entry_count)
        self.client.submit(self.queue, FenceWait(flags=NONE, tag=0, pool=0, slot=0, value=1))

    def is_named(self) -> bool:
        """Release the object; return whether that has to wait."""
        release = Release(
            request=self.client.request(),
            vmid=self.vmid,
            mode=ReleaseMode.BEHIND_WORK,
            va=VA,
            size_bytes=SIZE,
            object_id=self.object,
        )
        return bool(self.client.ask(release, Released).number)


@pytest.mark.parametrize("command", NAMING, ids=repr)
def test_command_that_touches_a_byte_names_the_memory(command: WorkCommand) -> None:
    bench = Bench()
    bench.client.submit(bench.queue, command, OTHERS[0])

    assert bench.is_named()


@pytest.mark.parametrize("command", OTHERS, ids=repr)
def test_command_that_touches_none_does_not(command: WorkCommand) -> None:
    bench = Bench()
    bench.client.submit(bench.queue, command)

    assert not bench.is_named()


def test_ring_that_wraps_is_read_to_its_end() -> None:
    bench = Bench(entry_count=16)
    bench.client.u64[bench.client.layout.fences_offset >> 3] = 1
    bench.client.submit(bench.queue, *[Nop(flags=NONE, tag=0)] * 11)
    bench.pair.step()
    wait = FenceWait(flags=NONE, tag=0, pool=0, slot=0, value=2)
    bench.client.submit(bench.queue, wait, *[OTHERS[0]] * 9, NAMING[1])

    assert bench.is_named()


def test_of_very_many_commands_each_counts() -> None:
    bench = Bench(entry_count=8192)
    bench.client.submit(bench.queue, *[Nop(flags=NONE, tag=0)] * (MOST_SCANNED + 2))

    assert bench.is_named()


def test_tail_that_cannot_be_holds_nothing_up() -> None:
    bench = Bench()
    bench.pair.step()
    bench.client.u32[(bench.queue.header + TAIL) >> 2] = 1 << 20

    assert not bench.is_named()
