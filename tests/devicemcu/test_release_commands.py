"""RELEASE: nothing is freed under work that was submitted before."""

from __future__ import annotations

from device.core.releases import MOST_AT_ONCE
from firmware.abi.control import (
    Nop,
    ObjectDestroy,
    ObjectKind,
    QueueDestroy,
    SegmentUnregister,
)
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.registers import FREE_MEMORY
from firmware.abi.replies import Allocated, Released
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags
from tests.harness.allocation_bench import SIZE, VA, WAIT, AllocationBench, fill
from tests.harness.stepped_client import is_done

NONE = WorkFlags.NONE


def test_only_what_is_mapped_once_and_as_a_whole_is_released() -> None:
    bench = AllocationBench()
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
    bench = AllocationBench()
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
    bench = AllocationBench()
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number), Released)

    bench.open_fence()

    assert bench.client.load64(FREE_MEMORY.offset) == bench.free


def test_many_releases_behind_one_command_are_not_done_in_one_round() -> None:
    bench = AllocationBench()
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
    bench = AllocationBench()
    number = bench.allocated()
    bench.allocated(2 * VA)
    bench.submit_behind_a_fence(fill(2 * VA), fill(VA + SIZE), fill(VA - 8))

    assert bench.client.ask(bench.release(number), Released).number == 0
    bench.pair.device.check()


def test_release_that_waits_is_answered_when_the_memory_has_gone() -> None:
    bench = AllocationBench()
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
    bench = AllocationBench()
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
    bench = AllocationBench()
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
    bench = AllocationBench(16 << 20)
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
    bench = AllocationBench()
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
    bench = AllocationBench()
    number = bench.allocated()
    bench.submit_behind_a_fence(fill(VA))
    bench.client.ask(bench.release(number), Released)

    assert bench.client.refused(bench.release(number)).status is Status.IN_USE
    destroy = ObjectDestroy(request=bench.client.request(), object_id=number)
    assert bench.client.refused(destroy).status is Status.IN_USE
    bench.open_fence()
    assert bench.client.refused(bench.release(number)).status is Status.BAD_OBJECT


def test_client_that_unmaps_or_moves_what_it_releases_harms_nobody() -> None:
    bench = AllocationBench()
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
    bench = AllocationBench(16 << 20)
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
    bench = AllocationBench()
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
    bench = AllocationBench()
    number = bench.allocated()
    exported = bench.client.export(bench.vmid, VA, SIZE)

    assert bench.client.ask(bench.release(number), Released).number == 0

    before = bench.free
    bench.pair.device.check()
    bench.client.put(exported.token)
    assert bench.free == before + SIZE


def test_released_segment_of_the_client_is_unregistered() -> None:
    bench = AllocationBench()
    number = bench.client.object(SIZE, ObjectKind.SYSTEM)
    bench.client.map(bench.vmid, VA, SIZE, number)

    assert bench.client.ask(bench.release(number), Released).number == 0

    gone = SegmentUnregister(request=bench.client.request(), object_id=number)
    assert bench.client.refused(gone).status is Status.BAD_OBJECT
