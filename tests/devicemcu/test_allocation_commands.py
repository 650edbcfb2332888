"""ALLOCATE and RELEASE: all or nothing, and nothing freed under work that was submitted before."""

from __future__ import annotations

from typing import Any

import pytest

from device.core.releases import MOST_AT_ONCE
from device.core.spec import DeviceSpec
from firmware.abi.control import (
    Allocate,
    Nop,
    ObjectDestroy,
    ObjectFlags,
    ObjectKind,
    QueueDestroy,
    Release,
    ReleaseMode,
    SegmentUnregister,
)
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, Rights
from firmware.abi.registers import FREE_MEMORY
from firmware.abi.replies import Allocated, Released
from firmware.abi.segment import FenceSlot
from firmware.abi.status import Status
from firmware.abi.work import Copy, FenceWait, Fill, WorkFlags
from tests.harness.devicepair import DevicePair
from tests.harness.stepped_client import RawQueue, is_done

VA = 1 << 30
SIZE = 16 * PAGE_SIZE
NONE = WorkFlags.NONE
WAIT, BEHIND = ReleaseMode.WAIT, ReleaseMode.BEHIND_WORK


class Bench:
    """A client with one address space."""

    def __init__(self, vram_size: int = 4 << 20) -> None:
        self.pair = DevicePair(DeviceSpec(vram_size=vram_size, chunk_bytes=512 << 10))
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        self.queue: RawQueue | None = None

    @property
    def free(self) -> int:
        return self.pair.device.memory.free_bytes

    def allocate(
        self,
        va: int = VA,
        size: int = SIZE,
        kind: ObjectKind = ObjectKind.VRAM,
        flags: ObjectFlags = ObjectFlags.NONE,
        rights: Rights = READ_WRITE,
    ) -> Allocate:
        return Allocate(
            request=self.client.request(),
            vmid=self.vmid,
            kind=kind,
            flags=flags,
            rights=rights,
            va=va,
            size_bytes=size,
            page_size=0,
        )

    def allocated(self, va: int = VA, size: int = SIZE) -> int:
        return self.client.ask(self.allocate(va, size), Allocated).object_id

    def release(
        self, object_id: int, va: int = VA, size: int = SIZE, mode: ReleaseMode = BEHIND
    ) -> Release:
        return Release(
            request=self.client.request(),
            vmid=self.vmid,
            mode=mode,
            va=va,
            size_bytes=size,
            object_id=object_id,
        )

    def submit_behind_a_fence(self, *commands: Copy | Fill, slot: int = 0) -> RawQueue:
        """Submit commands that run when a fence slot gets the value 1."""
        queue = self.client.queue(self.vmid)
        wait = FenceWait(flags=NONE, tag=0, pool=0, slot=slot, value=1)
        self.client.submit(queue, wait, *commands)
        self.pair.step()
        return queue

    def open_fence(self, slot: int = 0) -> None:
        at = self.client.layout.fences_offset + slot * FenceSlot.SIZE
        self.client.u64[at >> 3] = 1
        self.pair.step()

    def send(self, command: Release) -> list[int]:
        """Send a command and return the requests that were answered."""
        self.client.send(command.pack())
        self.pair.step()
        return [reply.request for reply in self.client.replies()]


def fill(va: int, size: int = 8, value: bytes = b"\x11") -> Fill:
    pattern = value.ljust(16, b"\0")
    return Fill(flags=NONE, tag=0, destination=va, size_bytes=size, pattern=pattern, pattern_size=1)


@pytest.mark.parametrize("kind", [ObjectKind.VRAM, ObjectKind.SYSTEM])
def test_memory_is_made_and_mapped_in_one_step_and_goes_in_one(kind: ObjectKind) -> None:
    bench = Bench()
    before = bench.free
    first = bench.client.ask(bench.allocate(kind=kind), Allocated)
    files = bench.pair.port(bench.client).received
    assert first.descriptors == len(files) == (kind is ObjectKind.SYSTEM)

    queue = bench.client.queue(bench.vmid)
    bench.client.submit(queue, fill(VA, SIZE))
    bench.pair.step()
    assert not bench.client.faults()
    bench.pair.device.check()

    released = bench.client.ask(bench.release(first.object_id), Released)
    assert (released.number, released.released) == (0, 0)
    bench.client.submit(queue, fill(VA))
    bench.pair.step()
    assert len(bench.client.faults()) == 1
    bench.pair.device.check()
    assert before - bench.free <= 3 * PAGE_SIZE  # tables stay for the next mapping


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"va": VA + 1}, Status.BAD_ALIGNMENT),
        ({"va": 1 << 48}, Status.BAD_RANGE),
        ({"size": 0}, Status.BAD_RANGE),
        ({"size": 8 << 20}, Status.OUT_OF_DEVICE_MEMORY),
        ({"kind": ObjectKind.CLIENT_PAGES}, Status.UNSUPPORTED),
        ({"kind": ObjectKind.SYSTEM, "flags": ObjectFlags.READ_ONLY}, Status.BAD_RIGHTS),
        ({"va": 2 * VA}, Status.OVERLAP),
    ],
)
def test_refused_allocation_leaves_nothing(change: dict[str, Any], status: Status) -> None:
    bench = Bench()
    bench.allocated(2 * VA)
    audit = bench.free, len(bench.pair.system_memory.open_files)
    command = bench.allocate(**change)

    assert bench.client.refused(command).status is status

    assert (bench.free, len(bench.pair.system_memory.open_files)) == audit
    assert bench.pair.port(bench.client).received == []
    bench.pair.device.check()


def test_allocation_in_a_foreign_space_is_refused() -> None:
    bench = Bench()
    other = bench.pair.attach()

    assert other.refused(bench.allocate()).status is Status.BAD_SPACE


def test_descriptor_that_cannot_be_sent_takes_the_mapping_back() -> None:
    bench = Bench()
    bench.pair.port(bench.client).refuses = True
    refused = bench.client.refused(bench.allocate(kind=ObjectKind.SYSTEM))

    assert refused.status is Status.OUT_OF_HOST_MEMORY
    bench.pair.device.check()
    assert bench.allocated()


def test_only_what_is_mapped_once_and_as_a_whole_is_released() -> None:
    bench = Bench()
    number = bench.allocated()
    other = bench.client.object(SIZE)
    bench.client.map(bench.vmid, 2 * VA, SIZE, other)
    bench.client.map(bench.vmid, 3 * VA, SIZE, other)
    cases = [
        (bench.release(number + 100), Status.BAD_OBJECT),
        (bench.release(number, VA + PAGE_SIZE, SIZE - PAGE_SIZE), Status.NOT_MAPPED),
        (bench.release(number, VA, SIZE // 2), Status.NOT_MAPPED),
        (bench.release(number, 2 * VA), Status.NOT_MAPPED),
        (bench.release(other, 2 * VA), Status.IN_USE),
    ]

    for command, status in cases:
        assert bench.client.refused(command).status is status

    bench.pair.device.check()
    assert bench.client.ask(bench.release(number), Released).number == 0


def test_memory_of_submitted_work_goes_when_the_last_command_that_names_it_is_done() -> None:
    bench = Bench()
    number = bench.allocated()
    bench.allocated(2 * VA)
    before = bench.free
    bench.submit_behind_a_fence(
        Copy(flags=NONE, tag=0, source=VA, destination=2 * VA, size_bytes=8), fill(2 * VA + 64)
    )

    released = bench.client.ask(bench.release(number), Released)

    assert (released.number, released.released) == (1, 0)
    assert bench.free == before
    bench.pair.device.check()
    bench.open_fence()
    assert not bench.client.faults()
    assert bench.free >= before + SIZE
    third = bench.client.ask(bench.allocate(), Allocated)
    assert third.released == 1
    bench.pair.device.check()


def test_free_memory_is_told_when_a_release_has_waited() -> None:
    bench = Bench()
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number), Released)

    bench.open_fence()

    assert bench.client.load64(FREE_MEMORY.offset) == bench.free


def test_many_releases_behind_one_command_are_not_done_in_one_round() -> None:
    bench = Bench()
    other = bench.pair.attach()
    places = [VA + number * PAGE_SIZE for number in range(2 * MOST_AT_ONCE + 1)]
    objects = [bench.allocated(va, PAGE_SIZE) for va in places]
    bench.submit_behind_a_fence(fill(VA, len(places) * PAGE_SIZE))
    for va, number in zip(places, objects, strict=True):
        bench.client.ask(bench.release(number, va, PAGE_SIZE), Released)
    before = bench.free
    bench.client.u64[bench.client.layout.fences_offset >> 3] = 1

    bench.pair.device.work(bench.pair.now)
    assert bench.free == before + MOST_AT_ONCE * PAGE_SIZE
    for client in (bench.client, other):
        client.send(Nop(request=client.request()).pack())
    bench.pair.device.work(bench.pair.now)

    # Who gave up so much waits until all of it has gone; nobody else does.
    assert (len(other.replies()), len(bench.client.replies())) == (1, 0)
    bench.pair.step()
    assert len(bench.client.replies()) == 1
    assert bench.client.ask(bench.allocate(), Allocated).released == len(places)


def test_work_that_names_other_memory_holds_nothing_up() -> None:
    bench = Bench()
    number = bench.allocated()
    bench.allocated(2 * VA)
    bench.submit_behind_a_fence(fill(2 * VA), fill(VA + SIZE), fill(VA - 8))

    assert bench.client.ask(bench.release(number), Released).number == 0
    bench.pair.device.check()


def test_release_that_waits_is_answered_when_the_memory_has_gone() -> None:
    bench = Bench()
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    release = bench.release(number, mode=WAIT)

    assert bench.send(release) == []
    bench.open_fence()

    (reply,) = bench.client.replies()
    assert isinstance(reply, Released)
    assert (reply.request, reply.number) == (release.request, 0)
    bench.pair.device.check()


def test_numbers_tell_which_releases_are_done_whatever_their_order() -> None:
    bench = Bench()
    one, two = bench.allocated(), bench.allocated(2 * VA)
    bench.submit_behind_a_fence(fill(VA), slot=0)
    bench.submit_behind_a_fence(fill(2 * VA), slot=1)
    assert bench.client.ask(bench.release(one), Released).number == 1
    assert bench.client.ask(bench.release(two, 2 * VA), Released).number == 2

    bench.open_fence(1)
    assert bench.client.ask(bench.allocate(3 * VA), Allocated).released == 0
    bench.open_fence(0)
    assert bench.client.ask(bench.allocate(4 * VA), Allocated).released == 2
    bench.pair.device.check()


def test_release_waits_for_every_queue_that_names_the_memory() -> None:
    bench = Bench()
    number = bench.allocated()
    before = bench.free
    bench.submit_behind_a_fence(fill(VA), slot=0)
    bench.submit_behind_a_fence(fill(VA + 64), slot=1)
    bench.client.ask(bench.release(number), Released)

    bench.open_fence(0)
    assert bench.free == before
    bench.open_fence(1)
    assert bench.free >= before + SIZE


def test_memory_under_a_large_copy_goes_when_its_last_chunk_is_done() -> None:
    bench = Bench(16 << 20)
    large = 2 << 20
    number = bench.allocated(VA, large)
    bench.allocated(2 * VA, large)
    queue = bench.client.queue(bench.vmid)
    bench.pair.hold_chunks = True
    bench.client.submit(
        queue, Copy(flags=NONE, tag=0, source=VA, destination=2 * VA, size_bytes=large)
    )
    bench.pair.step()
    assert bench.pair.chunks
    before = bench.free

    assert bench.client.ask(bench.release(number, VA, large), Released).number == 1
    bench.pair.finish_chunks()

    assert not bench.client.faults()
    assert bench.free >= before + large
    bench.pair.device.check()


def test_queue_that_is_destroyed_or_faults_holds_nothing_up() -> None:
    bench = Bench()
    one, two = bench.allocated(), bench.allocated(2 * VA)
    before = bench.free
    first = bench.submit_behind_a_fence(fill(VA), slot=0)
    bench.submit_behind_a_fence(fill(9 * VA), fill(2 * VA), slot=1)
    bench.client.ask(bench.release(one), Released)
    bench.client.ask(bench.release(two, 2 * VA), Released)

    assert is_done(
        bench.client.call(QueueDestroy(request=bench.client.request(), queue_id=first.queue_id))
    )
    bench.open_fence(1)

    assert len(bench.client.faults()) == 1
    assert bench.free >= before + 2 * SIZE
    bench.pair.device.check()


def test_memory_that_is_being_released_cannot_be_released_or_destroyed_again() -> None:
    bench = Bench()
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number), Released)

    assert bench.client.refused(bench.release(number)).status is Status.IN_USE
    destroy = ObjectDestroy(request=bench.client.request(), object_id=number)
    assert bench.client.refused(destroy).status is Status.IN_USE
    bench.open_fence()
    assert bench.client.refused(bench.release(number)).status is Status.BAD_OBJECT


def test_client_that_unmaps_or_moves_what_it_releases_harms_nobody() -> None:
    bench = Bench()
    one, two = bench.allocated(), bench.allocated(2 * VA)
    bench.submit_behind_a_fence(fill(VA), fill(2 * VA))
    bench.client.ask(bench.release(one), Released)
    bench.client.ask(bench.release(two, 2 * VA), Released)
    bench.client.unmap(bench.vmid, VA, SIZE)
    destroy = ObjectDestroy(request=bench.client.request(), object_id=one)
    assert is_done(bench.client.call(destroy))
    bench.client.unmap(bench.vmid, 2 * VA + PAGE_SIZE, PAGE_SIZE)
    bench.client.map(bench.vmid, 5 * VA, SIZE, two)

    bench.open_fence()

    bench.pair.device.check()
    bench.client.unmap(bench.vmid, 5 * VA, SIZE)
    assert is_done(bench.client.destroy(two))


def test_client_that_maps_what_it_releases_across_its_end_keeps_that() -> None:
    bench = Bench(16 << 20)
    size = (4 << 20) + SIZE
    number = bench.allocated(size=size)
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number, size=size), Released)
    bench.client.unmap(bench.vmid, VA, size)
    # A page of 2 MiB across the end of the released range, and no memory to split it.
    pages = bench.client.map(bench.vmid, VA + (2 << 20), size, number)
    bench.client.object(bench.free)

    bench.open_fence()

    bench.pair.device.check()
    assert bench.client.unmap(bench.vmid, VA + (2 << 20), size) == pages
    assert is_done(bench.client.destroy(number))


def test_client_that_dies_before_its_releases_leaves_nothing() -> None:
    bench = Bench()
    other = bench.pair.attach()
    before = bench.free
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number), Released)

    bench.pair.detach(bench.client)
    bench.pair.step()

    bench.pair.device.check()
    assert bench.free > before
    assert other.space()


def test_export_keeps_released_memory_alive() -> None:
    bench = Bench()
    number = bench.allocated()
    exported = bench.client.export(bench.vmid, VA, SIZE)

    assert bench.client.ask(bench.release(number), Released).number == 0

    before = bench.free
    bench.pair.device.check()
    bench.client.put(exported.token)
    assert bench.free == before + SIZE


def test_released_segment_of_the_client_is_unregistered() -> None:
    bench = Bench()
    number = bench.client.object(SIZE, ObjectKind.SYSTEM)
    bench.client.map(bench.vmid, VA, SIZE, number)

    assert bench.client.ask(bench.release(number), Released).number == 0

    gone = SegmentUnregister(request=bench.client.request(), object_id=number)
    assert bench.client.refused(gone).status is Status.BAD_OBJECT
