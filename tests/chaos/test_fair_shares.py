"""Invariant: a client waits for one step of another's command at most, however long that takes.

Counted in steps and commands, not in seconds: what one step may cost is bounded elsewhere.
"""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from device.core.engine.large import CHECK_BYTES
from device.core.engine.regions import MOST_ROWS, ODD_ROWS
from device.core.engine.scheduler import MOST_LONG_STEPS
from device.core.spec import DeviceSpec
from device.core.weights import weight_of
from firmware.abi.control import (
    CONTROL_COMMANDS,
    Export,
    MapExtent,
    MapList,
    Nop,
    Query,
    SegmentRegister,
)
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, PageSizes
from firmware.abi.replies import Exported, Mapped, Opened, Queried, Reply
from firmware.abi.rings import RingHeader
from firmware.abi.status import Status
from firmware.abi.work import Prefetch, WorkFlags
from tests.harness.devicepair import SMALL_IMAGE, DevicePair
from tests.harness.engine import Rig, region
from tests.harness.engine import copy as copy_command

if TYPE_CHECKING:
    from device.core.effects import Effect
    from firmware.abi.work import WorkCommand

A = 0x100_0000
NULL = 1 << 40
MANY = 50
STEPS = 8
LARGE_RANGE = 1 << 34


def many_rows(rows: int, source: int, destination: int) -> WorkCommand:
    return region(source, destination, (1, rows, 1), (64, 0), (64, 0))


LONG_WORK: dict[str, WorkCommand] = {
    "rows that stand anywhere": many_rows(16 * ODD_ROWS, A, NULL),
    "very many rows": many_rows(4 * MOST_ROWS, A, A + (1 << 20)),
    "a few rows": many_rows(8, A, A + 4096),
    "rows at uneven distances": region(A, A + (1 << 20), (1, 2, 200), (64, 256), (64, 192)),
    "translations": Prefetch(flags=WorkFlags.NONE, tag=0, address=NULL, size_bytes=CHECK_BYTES),
    "very many translations": Prefetch(
        flags=WorkFlags.NONE, tag=0, address=NULL, size_bytes=1 << 46
    ),
}


@pytest.mark.parametrize("what", LONG_WORK)
def test_a_turn_ends_with_a_command_that_may_take_long(what: str) -> None:
    rig = Rig()
    hostile, other = rig.client(), rig.client()
    hostile.map(A, 2 << 20)
    hostile.map(NULL, 1 << 46, null=True)
    other.map(A, 2 * PAGE_SIZE)
    other.poke(A, b"patience")
    long, short = hostile.queue(), other.queue()
    long.submit(*[LONG_WORK[what]] * MANY)
    rig.step()

    short.submit(copy_command(A, A + PAGE_SIZE, 8))
    rig.step()

    assert other.peek(A + PAGE_SIZE, 8) == b"patience"
    assert long.completed <= 2
    for _ in range(STEPS):
        rig.step()
    assert long.completed <= STEPS + 2
    assert hostile.faults() == []


def test_one_call_of_work_has_few_steps_that_take_long_and_everybody_has_a_turn() -> None:
    rig = Rig()
    client = rig.client()
    client.map(A, 2 << 20)
    lanes = [client.queue(16) for _ in range(3 * MOST_LONG_STEPS)]
    for lane in lanes:
        lane.submit(*[LONG_WORK["a few rows"]] * 3)

    for calls in (1, 2, 3):
        rig.step()
        moved = [lane.queue.bytes_moved for lane in lanes]
        begun = calls * MOST_LONG_STEPS
        assert moved == [8] * begun + [0] * (len(lanes) - begun)


def test_rows_that_are_moved_one_by_one_are_few_in_a_step() -> None:
    rig = Rig()
    client = rig.client()
    client.map(A, 2 << 20)
    client.map(NULL, 1 << 20, null=True)
    client.poke(A, b"x" * 4096)
    lane = client.queue()
    lane.submit(region(NULL, A, (1, 4 * ODD_ROWS, 1), (1, 0), (2, 0)))

    rig.step()

    # Null pages were read so far.
    assert client.peek(A, 4096).count(0) == ODD_ROWS


def test_every_command_has_a_weight_and_most_have_that_of_one() -> None:
    weights = {
        opcode: weight_of(int(opcode).to_bytes(2, "little").ljust(64, b"\0"))
        for opcode in CONTROL_COMMANDS
    }

    assert weights[Nop.OPCODE] == 1
    assert all(1 <= weight <= 8 for weight in weights.values())
    assert weight_of(b"\xff" * 64) == 1
    for opcode in CONTROL_COMMANDS:
        assert weight_of(int(opcode).to_bytes(2, "little").ljust(64, b"\xff")) >= weights[opcode]


def test_memory_of_a_program_is_weighed_as_if_each_page_were_an_area_of_its_own() -> None:
    command = SegmentRegister(
        request=1,
        kind=ObjectKind.CLIENT_PAGES,
        flags=ObjectFlags.NONE,
        address=0,
        size_bytes=1000 * PAGE_SIZE,
    )

    # Some ten milliseconds, when they are: one in a round.
    assert weight_of(command.pack()) >= 1000


def rounds(pair: DevicePair, count: int) -> list[list[Effect]]:
    return [pair.device.work(pair.now) for _ in range(count)]


@pytest.mark.parametrize("place", [0, 1], ids=["attached first", "attached last"])
def test_long_control_commands_come_one_in_a_round_and_not_in_every_round(place: int) -> None:
    pair = DevicePair(image=SMALL_IMAGE)
    clients = [pair.attach(), pair.attach()]
    hostile, other = clients[place], clients[1 - place]
    vmid = hostile.space()
    long = Query(
        request=1, vmid=vmid, payload_offset=0, va=0, size_bytes=LARGE_RANGE, capacity=0
    ).pack()
    for _ in range(20):
        hostile.send(long)
    answered: list[tuple[int, int]] = []
    for _ in range(6):
        other.send(Nop(request=other.request()).pack())
        other.send(Nop(request=other.request()).pack())
        rounds(pair, 1)
        answered.append((len(other.replies()), len(hostile.replies())))

    # Everybody is answered in every round, and half of the rounds are short.
    assert [mine for mine, _ in answered] == [2] * 6
    assert sum(theirs for _, theirs in answered) == 3
    assert max(theirs for _, theirs in answered) == 1


def test_a_command_that_had_to_wait_is_carried_out_as_it_was_weighed() -> None:
    pair = DevicePair(image=SMALL_IMAGE)
    other, hostile = pair.attach(), pair.attach()
    vmid = hostile.space()
    ring = hostile.layout.control_ring_offset
    long = Query(request=77, vmid=vmid, payload_offset=0, va=0, size_bytes=LARGE_RANGE, capacity=0)

    def one_round() -> list[Reply]:
        other.send(Nop(request=other.request()).pack())
        rounds(pair, 1)
        return hostile.replies()

    hostile.send(long.pack())
    while one_round():
        # It was this client's turn; the next round is the other's.
        hostile.send(long.pack())
    entries = slice(ring + RingHeader.SIZE, ring + RingHeader.SIZE + 64 * 64)
    hostile.u8[entries] = bytes(64 * 64)

    (reply,) = one_round()
    assert isinstance(reply, Queried)
    assert reply.request == 77


def test_one_client_alone_has_all_rounds_for_its_long_commands() -> None:
    pair = DevicePair(image=SMALL_IMAGE)
    client = pair.attach()
    vmid = client.space()
    for _ in range(5):
        client.send(
            Query(
                request=client.request(),
                vmid=vmid,
                payload_offset=0,
                va=0,
                size_bytes=LARGE_RANGE,
                capacity=0,
            ).pack()
        )

    rounds(pair, 5)

    assert len(client.replies()) == 5


def test_what_cannot_fit_is_refused_without_being_planned() -> None:
    pair = DevicePair(DeviceSpec(vram_size=1 << 20, page_sizes=PageSizes.SMALL), image=SMALL_IMAGE)
    client = pair.attach()
    vmid = client.space()
    before = pair.device.statistics().free_bytes

    tracemalloc.start()
    try:
        reply = client.refused(client.map_command(vmid, PAGE_SIZE, 1 << 47, 0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert reply.status is Status.OUT_OF_DEVICE_MEMORY
    assert reply.detail == before == pair.device.statistics().free_bytes
    assert peak < 1 << 20


def test_a_query_counts_what_it_does_not_tell() -> None:
    pair = DevicePair(DeviceSpec(vram_size=8 << 20))
    client = pair.attach()
    vmid = client.space()
    # More than one block of entries, and not the same number in each.
    count = 40_000
    extents = (
        MapExtent(
            va=A + 2 * number * PAGE_SIZE,
            size_bytes=PAGE_SIZE,
            object_id=0,
            object_offset=0,
            rights=READ_WRITE,
        ).pack()
        for number in range(count)
    )
    client.put_payload(b"".join(extents))
    command = MapList(request=client.request(), vmid=vmid, count=count, payload_offset=0)
    assert client.ask(command, Mapped).page_count == count

    def query(capacity: int) -> tuple[Queried, bytes]:
        command = Query(
            request=client.request(),
            vmid=vmid,
            payload_offset=0,
            va=A,
            size_bytes=2 * count * PAGE_SIZE,
            capacity=capacity,
        )
        reply = client.ask(command, Queried)
        return reply, client.payload(0, reply.count * 40)

    everything, whole = query(count + 1)
    assert (everything.count, everything.total) == (count, count)
    for capacity in (0, 1, 2, 32_767, 32_768, 32_769, count):
        reply, told = query(capacity)
        assert (reply.count, reply.total) == (capacity, count)
        assert reply.first_hole == everything.first_hole == A + PAGE_SIZE
        assert told == whole[: capacity * 40]


def test_exports_and_imports_hold_no_more_parts_than_a_client_may_have_objects() -> None:
    most = 6
    pair = DevicePair(DeviceSpec(vram_size=4 << 20, max_objects=most), image=SMALL_IMAGE)
    client, other = pair.attach(), pair.attach()
    vmid, far = client.space(), other.space()
    for number in range(2):
        object_id = client.object(PAGE_SIZE)
        client.map(vmid, A + number * PAGE_SIZE, PAGE_SIZE, object_id)

    def export() -> Export:
        return Export(request=client.request(), vmid=vmid, va=A, size_bytes=2 * PAGE_SIZE)

    exports = [client.ask(export(), Exported) for _ in range(most // 2)]
    refused = client.refused(export())
    assert (refused.status, refused.detail) == (Status.LIMIT, most)
    opened = [other.open(far, exports[0], A + (number << 20)) for number in range(most // 2)]
    again = other.open_command(far, exports[1], A - (1 << 20))
    assert other.refused(again).status is Status.LIMIT

    other.close(opened[0].import_id)
    other.ask(again, Opened)
    client.put(exports[1].token)
    client.ask(export(), Exported)
    pair.device.check()
