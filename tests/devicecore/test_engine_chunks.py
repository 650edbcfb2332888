"""Large copies and fills: cut in chunks that the shell runs, while others go on."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError, InternalError
from firmware.abi.control import InvalidateScope
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import Prefetch, WorkFlags
from tests.harness.engine import (
    NONE,
    Rig,
    RigClient,
    copy,
    fill,
    make_spec,
    nop,
    signal,
    store,
)

A = 0x1000_0000
B = 0x2000_0000
MIB = 1 << 20
SIZE = 6 * MIB
WHOLE = bytes(range(256)) * (SIZE // 256)


def make(**spec: int) -> RigClient:
    values = {"vram_size": 32 * MIB, "chunk_bytes": 2 * MIB, **spec}
    client = Rig(make_spec(None, **values)).client()
    client.map(A, SIZE)
    client.map(B, SIZE)
    client.poke(A, WHOLE)
    return client


def until_chunks(client: RigClient) -> None:
    """Step until chunks are in flight."""
    for _ in range(20):
        client.rig.step()
        if client.rig.chunks:
            return
    pytest.fail("no chunk was handed out in 20 calls")


def test_large_copy_runs_in_chunks_on_all_engines() -> None:
    client = make()
    lane = client.queue()

    lane.submit(copy(A, B, SIZE - 5), signal(0, 1))
    until_chunks(client)
    assert [chunk.size for chunk in client.rig.chunks] == [2 * MIB, 2 * MIB]
    assert lane.completed == 0
    assert client.slot(0).value == 0
    client.rig.run()

    assert lane.completed == 2
    assert client.peek(B, SIZE) == WHOLE[: SIZE - 5] + bytes(5)
    assert lane.queue.bytes_moved == SIZE - 5
    assert client.rig.scheduler.statistics().chunks == 3


def test_large_fill_keeps_the_phase_of_its_pattern() -> None:
    client = make()
    lane = client.queue()
    mark = b"0123456789abcdef"

    lane.submit(fill(B + 3, SIZE - 8, mark))
    client.rig.run()

    assert client.peek(B, SIZE) == bytes(3) + (mark * (SIZE // 16))[: SIZE - 8] + bytes(5)
    assert client.rig.scheduler.statistics().chunks == 3


def test_other_rings_go_on_while_chunks_are_in_flight() -> None:
    client = make()
    big, other = client.queue(), client.queue()
    big.submit(copy(A, B, SIZE), nop())
    until_chunks(client)

    other.submit(*(store(A + 8 * index, 0) for index in range(30)))
    while client.rig.scheduler.has_work:
        client.rig.step()

    assert (big.completed, other.completed) == (0, 30)


@pytest.mark.parametrize("distance", [-3 * MIB, -PAGE_SIZE - 1, PAGE_SIZE + 1, 3 * MIB])
def test_large_overlapping_copy_is_memmove(distance: int) -> None:
    client = make()
    lane = client.queue()
    start = max(0, -distance)
    size = SIZE - abs(distance)

    lane.submit(copy(A + start, A + start + distance, size))
    client.rig.run()

    after = bytearray(WHOLE)
    after[start + distance : start + distance + size] = WHOLE[start : start + size]
    assert client.peek(A, SIZE) == bytes(after)
    assert lane.completed == 1


def test_never_more_chunks_in_flight_than_engines() -> None:
    client = make(copy_engines=2)
    lanes = [client.queue() for _ in range(3)]
    for lane in lanes:
        lane.submit(copy(A, B, SIZE))

    while any(lane.completed < 1 for lane in lanes):
        client.rig.step()
        assert len(client.rig.chunks) <= 2
        if client.rig.chunks:
            client.rig.finish_chunk(-1)

    assert client.peek(B, SIZE) == WHOLE


def test_engines_are_shared_by_bytes_and_priority() -> None:
    client = make(copy_engines=1)
    low, high = client.queue(priority=2), client.queue(priority=1)
    low.submit(*(copy(A, B, 2 * MIB) for _ in range(50)))
    high.submit(*(copy(A, B, 2 * MIB) for _ in range(50)))

    while low.completed + high.completed < 50:
        client.rig.step()
        if client.rig.chunks:
            client.rig.finish_chunk()

    assert 8 <= low.completed <= 12


def test_invalidation_is_acknowledged_between_chunks_only() -> None:
    client = make()
    scheduler = client.rig.scheduler
    lane = client.queue()
    vmid = client.space.vmid
    assert scheduler.quiesced(vmid, A, SIZE)
    lane.submit(copy(A, B, SIZE))
    until_chunks(client)

    # The first two chunks are in flight: 4 of 6 MiB on both sides.
    for base in (A, B):
        assert not scheduler.quiesced(vmid, base, 1)
        assert not scheduler.quiesced(vmid, base + 4 * MIB - 1, 1)
        assert scheduler.quiesced(vmid, base + 4 * MIB, 2 * MIB)
    assert scheduler.quiesced(vmid, A - PAGE_SIZE, PAGE_SIZE)
    assert scheduler.quiesced(vmid + 1, A, SIZE)

    client.rig.finish_chunk()
    client.rig.finish_chunk()
    assert scheduler.quiesced(vmid, A, SIZE)


def test_chunks_in_line_for_an_engine_hold_their_translations_too() -> None:
    client = make(copy_engines=1)
    first, second = client.queue(), client.queue()
    first.submit(copy(A, B, 2 * MIB))
    second.submit(copy(A + 4 * MIB, B + 4 * MIB, 2 * MIB))
    until_chunks(client)
    client.rig.step()

    assert len(client.rig.chunks) == 1
    assert not client.rig.scheduler.quiesced(client.space.vmid, A + 4 * MIB, 1)


def test_copy_sees_what_was_unmapped_while_it_ran() -> None:
    client = make(copy_engines=1)
    lane = client.queue()
    lane.submit(copy(A, B, SIZE))
    until_chunks(client)

    client.space.tables.unmap(A + 4 * MIB, 2 * MIB)
    client.space.invalidate(InvalidateScope.RANGE, A + 4 * MIB, 2 * MIB)
    assert client.rig.scheduler.quiesced(client.space.vmid, A + 4 * MIB, 2 * MIB)
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.va, record.access) == (
        FaultReason.NOT_PRESENT,
        A + 4 * MIB,
        Access.READ,
    )
    assert client.peek(B, SIZE) == WHOLE[: 4 * MIB] + bytes(2 * MIB)


def test_poison_in_a_large_copy_faults() -> None:
    client = make()
    page = client.space.translate_page(A + 5 * MIB, 0) & 0xFFFF_FFFF_F000
    client.rig.memory.inject_poison(page)
    lane = client.queue()

    lane.submit(copy(A, B, SIZE), nop())
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.va) == (FaultReason.POISON, A + 5 * MIB)
    assert lane.completed == 0


def test_large_copy_from_client_memory_that_ends() -> None:
    client = make()
    client.pages.data = bytearray(WHOLE[: 3 * MIB])
    start = client.pages.start
    lane = client.queue()

    lane.submit(copy(start, B, 3 * MIB, WorkFlags.CLIENT_SOURCE))
    client.rig.run()
    assert client.peek(B, 3 * MIB) == WHOLE[: 3 * MIB]

    lane.submit(copy(start + 1, B, 3 * MIB, WorkFlags.CLIENT_SOURCE))
    client.rig.run()
    (record,) = client.faults()
    assert (record.reason, record.va) == (FaultReason.CLIENT_MEMORY, start + 3 * MIB)


@pytest.mark.parametrize("flags", [WorkFlags.CLIENT_SOURCE, WorkFlags.CLIENT_DESTINATION])
def test_size_that_no_memory_has_costs_no_more_than_memory_that_ends(flags: WorkFlags) -> None:
    client = make()
    start = client.pages.start
    lane = client.queue()
    size = 1 << 46

    if flags is WorkFlags.CLIENT_SOURCE:
        lane.submit(copy(start, B, size, flags))
    else:
        lane.submit(copy(A, start, size, flags))
    for _ in range(20):
        client.rig.step()

    (record,) = client.faults()
    mapped = B if flags is WorkFlags.CLIENT_SOURCE else A
    assert (record.reason, record.va) == (FaultReason.NOT_PRESENT, mapped + SIZE)


def test_removed_queue_is_busy_until_its_chunk_is_done() -> None:
    client = make()
    scheduler = client.rig.scheduler
    lane = client.queue()
    lane.submit(copy(A, B, SIZE), nop())
    until_chunks(client)

    assert not scheduler.remove(lane.queue)
    assert scheduler.busy(lane.queue)
    client.rig.finish_chunk()
    assert scheduler.busy(lane.queue)
    client.rig.finish_chunk()
    assert not scheduler.busy(lane.queue)
    client.rig.run()
    assert lane.completed == 0


def test_queue_with_a_chunk_in_flight_cannot_be_reset() -> None:
    client = make()
    lane = client.queue()
    lane.submit(copy(A, B, SIZE))
    until_chunks(client)

    with pytest.raises(DeviceError) as refusal:
        lane.reset()
    assert refusal.value.status is Status.IN_USE
    client.rig.run()
    assert lane.completed == 1


def test_lost_queue_ignores_its_last_chunk() -> None:
    client = make()
    lane = client.queue()
    lane.submit(copy(A, B, SIZE))
    until_chunks(client)

    assert not client.rig.scheduler.lose(lane.queue)
    client.rig.run()

    assert lane.header.state is RingState.LOST
    with pytest.raises(DeviceError) as refusal:
        client.rig.scheduler.reset_queue(lane.queue)
    assert refusal.value.status is Status.DEVICE_LOST


def test_chunk_that_is_not_in_flight_is_a_bug() -> None:
    client = make()
    lane = client.queue()
    lane.submit(copy(A, B, SIZE))
    until_chunks(client)
    chunk = client.rig.chunks[0]
    client.rig.finish_chunk()

    with pytest.raises(InternalError, match="not in flight"):
        client.rig.scheduler.chunk_done(chunk)


def test_prefetch_of_a_huge_range_gives_way() -> None:
    client = make(tlb_entries=64)
    base = 1 << 40
    client.map(base, 1 << 30, null=True)
    lane, other = client.queue(), client.queue()
    lane.submit(Prefetch(flags=NONE, tag=0, address=base, size_bytes=1 << 30))
    other.submit(nop())

    client.rig.step()
    assert (lane.completed, other.completed) == (0, 1)
    client.rig.run()

    assert lane.completed == 1


def test_huge_copy_is_checked_in_parts_before_it_moves() -> None:
    client = make(tlb_entries=64, chunk_bytes=64 * MIB)
    base, size = 1 << 40, 160 * MIB
    client.map(base, size, null=True)
    client.map(base + (1 << 30), size - PAGE_SIZE, null=True)
    lane = client.queue()
    lane.submit(copy(base, base + (1 << 30), size))

    turns = 0
    while client.rig.scheduler.has_work:
        client.rig.step()
        turns += 1

    (record,) = client.faults()
    assert (record.va, record.access) == (base + (1 << 30) + size - PAGE_SIZE, Access.WRITE)
    assert turns == 5
    assert client.rig.scheduler.statistics().chunks == 0


def test_large_fill_of_client_memory_that_ends() -> None:
    client = make()
    client.pages.data = bytearray(3 * MIB)
    start = client.pages.start
    lane = client.queue()

    lane.submit(fill(start + 8, 3 * MIB, b"z", WorkFlags.CLIENT_DESTINATION))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.va) == (FaultReason.CLIENT_MEMORY, start + 3 * MIB)
