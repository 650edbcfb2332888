"""What cannot go on stops its ring alone, is written down, and can be recovered from."""

from __future__ import annotations

import pytest

from firmware.abi.faults import NO_LEVEL, FaultReason, FaultRecord
from firmware.abi.ids import PAGE_SIZE, VA_LIMIT, Access, Rights
from firmware.abi.paging import Aperture, Pte, leaf_entry
from firmware.abi.registers import FAULT_STATUS, FaultStatus
from firmware.abi.rings import (
    COMPLETION_SLEEPERS,
    CONSUMER_SLEEPERS,
    TAIL,
    TAIL_EVENT,
    U32_MASK,
    RingState,
)
from firmware.abi.status import Status
from firmware.abi.work import Copy, Fill, WorkOpcode
from tests.harness.engine import (
    LIMITS,
    Lane,
    Rig,
    RigClient,
    copy,
    fill,
    nop,
    notices_of,
    signal,
    store,
)

A = 0x10_0000
B = 0x20_0000
HOLE = 0x30_0000


@pytest.fixture
def client() -> RigClient:
    rig = Rig()
    client = rig.client()
    client.map(A, 16 * PAGE_SIZE)
    client.map(B, 16 * PAGE_SIZE)
    return client


@pytest.fixture
def lane(client: RigClient) -> Lane:
    return client.queue()


def fault_of(lane: Lane) -> FaultRecord:
    """Run and return the one record that there is."""
    lane.rig.run()
    (record,) = lane.client.faults()
    return record


def test_record_tells_when_which_command_and_where(client: RigClient, lane: Lane) -> None:
    client.rig.now = 77_000
    lane.submit(nop(), copy(A, HOLE + 5, 100, tag=0xBEEF), nop())

    record = fault_of(lane)

    assert record == FaultRecord(
        time_ticks=77_000,
        seqno=2,
        va=HOLE + 5,
        entry=0,
        queue_id=lane.queue.queue_id,
        vmid=client.space.vmid,
        tag=0xBEEF,
        reason=FaultReason.NOT_PRESENT,
        access=Access.WRITE,
        level=0,
        opcode=WorkOpcode.COPY,
        detail=0,
    )


def test_fault_stops_the_ring_and_nothing_behind_it_runs(client: RigClient, lane: Lane) -> None:
    lane.submit(store(A, 1), store(HOLE, 2), store(A + 8, 3), signal(0, 9))
    lane.rig.run()
    lane.submit(store(A + 16, 4))
    lane.rig.run()

    header = lane.header
    assert header.state is RingState.STOPPED
    assert (header.status, header.completion_status) == (Status.FAULT, Status.FAULT)
    assert header.completed == 1
    assert client.peek(A, 24) == b"\x01" + bytes(23)
    assert client.slot(0).value == 0


@pytest.mark.decision("FAULT-02")
def test_other_rings_go_on_after_a_fault(client: RigClient, lane: Lane) -> None:
    other = client.queue()
    lane.submit(store(HOLE, 1))
    other.submit(*(store(A + 8 * index, index) for index in range(20)))

    client.rig.run()

    assert lane.header.state is RingState.STOPPED
    assert other.header.state is RingState.RUNNING
    assert other.completed == 20


@pytest.mark.parametrize("size", [PAGE_SIZE, 3 * PAGE_SIZE, 100 * PAGE_SIZE, 4 << 20])
def test_copy_that_faults_on_its_last_page_moves_nothing(client: RigClient, size: int) -> None:
    lane = client.queue()
    source, destination = 0x4000_0000, 0x5000_0000
    client.map(source, size)
    client.map(destination, size - PAGE_SIZE) if size > PAGE_SIZE else None
    client.poke(source, b"x" * size)

    lane.submit(copy(source, destination, size))

    record = fault_of(lane)
    assert (record.va, record.access) == (destination + size - PAGE_SIZE, Access.WRITE)
    assert record.reason is FaultReason.NOT_PRESENT
    if size > PAGE_SIZE:
        assert client.peek(destination, size - PAGE_SIZE) == bytes(size - PAGE_SIZE)


def test_source_is_looked_at_before_destination(lane: Lane) -> None:
    lane.submit(copy(HOLE, HOLE + PAGE_SIZE, 8))

    record = fault_of(lane)

    assert (record.va, record.access) == (HOLE, Access.READ)


@pytest.mark.parametrize(
    ("rights", "command", "access"),
    [
        (Rights.READ, store(HOLE, 1), Access.WRITE),
        (Rights.READ, fill(HOLE, 9000, b"x"), Access.WRITE),
        (Rights.READ, copy(A, HOLE, 8), Access.WRITE),
        (Rights.WRITE, copy(HOLE, A, 8), Access.READ),
        (Rights.NONE, copy(HOLE, A, 8), Access.READ),
    ],
)
def test_missing_rights_fault(
    client: RigClient, lane: Lane, rights: Rights, command: object, access: Access
) -> None:
    client.map(HOLE, 4 * PAGE_SIZE, rights)
    lane.submit(command)  # type: ignore[arg-type]

    record = fault_of(lane)

    assert (record.reason, record.va, record.access) == (FaultReason.RIGHTS, HOLE, access)
    assert Pte(record.entry).valid


def test_malformed_entry_in_the_tables_is_found_by_the_walk(client: RigClient, lane: Lane) -> None:
    (address,) = client.map(HOLE, PAGE_SIZE)
    entry = int(leaf_entry(address, Rights.READ | Rights.WRITE))
    at = next(i for i, word in enumerate(client.rig.memory.words) if word == entry)
    client.rig.memory.words[at] = entry | 1 << 60
    lane.submit(store(HOLE, 1))

    record = fault_of(lane)

    assert record.reason is FaultReason.MALFORMED_ENTRY
    assert (record.entry, record.level) == (entry | 1 << 60, 0)


@pytest.mark.parametrize(
    "command", [copy(A, HOLE + 8, 8), fill(HOLE + 8, 100, b"x"), fill(HOLE + 8, 3 << 20, b"x")]
)
def test_entry_that_points_to_no_window_is_a_bad_aperture(
    client: RigClient, lane: Lane, command: Copy | Fill
) -> None:
    entry = leaf_entry(0x7000_0000, Rights.READ | Rights.WRITE, Aperture.BUS)
    client.space.tables.map_one(HOLE, 4 << 20, entry)
    lane.submit(command)

    record = fault_of(lane)

    assert (record.reason, record.va) == (FaultReason.BAD_APERTURE, HOLE + 8)
    assert Pte(record.entry).aperture is Aperture.BUS


@pytest.mark.parametrize("offset", [0, 8, 4000])
def test_poison_faults_at_its_frame_and_moves_nothing(
    client: RigClient, lane: Lane, offset: int
) -> None:
    addresses = client.map(HOLE, 2 * PAGE_SIZE)
    client.rig.memory.inject_poison(addresses[1] + offset)
    client.poke(HOLE, b"data")
    lane.submit(copy(HOLE, A, 2 * PAGE_SIZE))

    record = fault_of(lane)

    assert (record.reason, record.va) == (FaultReason.POISON, HOLE + PAGE_SIZE)
    assert client.peek(A, 4) == bytes(4)


@pytest.mark.case("D11")
@pytest.mark.parametrize(
    ("command", "va", "detail"),
    [
        (copy(VA_LIMIT - 4, A, 8), VA_LIMIT - 4, 8),
        (copy(A, VA_LIMIT, 1), VA_LIMIT, 16),
        (copy(A, U32_MASK << 32 | U32_MASK, 1), U32_MASK << 32 | U32_MASK, 16),
        (copy(A, B, 1 << 63), A, 8),
        (fill(VA_LIMIT - 8, 16, b"x"), VA_LIMIT - 8, 8),
        (store(VA_LIMIT, 1), VA_LIMIT, 8),
    ],
)
def test_range_beyond_the_address_space_is_a_bad_command(
    lane: Lane, command: object, va: int, detail: int
) -> None:
    lane.submit(command)  # type: ignore[arg-type]

    record = fault_of(lane)

    assert (record.reason, record.va, record.detail) == (FaultReason.BAD_COMMAND, va, detail)
    assert record.level == NO_LEVEL


@pytest.mark.parametrize(
    ("at", "value", "detail"), [(0, 0x77, 0), (2, 0x80, 2), (40, 1, 32), (63, 255, 32)]
)
def test_bytes_that_do_not_decode_are_a_bad_command(
    lane: Lane, at: int, value: int, detail: int
) -> None:
    raw = bytearray(copy(A, B, 64, tag=5).pack())
    raw[at] = value
    lane.submit(bytes(raw))

    record = fault_of(lane)

    assert (record.reason, record.access) == (FaultReason.BAD_COMMAND, Access.FETCH)
    assert (record.detail, record.tag) == (detail, 5)
    assert record.opcode == int.from_bytes(raw[:2], "little")


def test_record_stands_before_the_state_and_the_interrupt_is_forced(
    client: RigClient, lane: Lane
) -> None:
    lane.submit(store(HOLE, 1))
    lane.rig.run()

    ring = client.plan.fault_ring_offset
    (notice,) = notices_of(lane.rig.notices, ring + TAIL)
    assert notice.force
    assert (notice.old, notice.new) == (0, 1)
    assert (notice.sleepers, notice.event) == (ring + CONSUMER_SLEEPERS, ring + TAIL_EVENT)
    sleepers = {notice.sleepers for notice in lane.rig.notices}
    assert lane.queue.header + COMPLETION_SLEEPERS in sleepers


def test_fault_status_is_pending_until_the_host_clears_it(client: RigClient, lane: Lane) -> None:
    register = client.plan.registers_offset + FAULT_STATUS.offset
    lane.submit(store(HOLE, 1))
    lane.rig.run()
    assert client.fault_status == FaultStatus.build(pending=1)

    client.words.store32(register, FaultStatus.build(pending=1))
    client.engine.faults.take_acknowledgement()
    assert client.fault_status.pending

    client.words.store32(register, FaultStatus.build(pending=1, acknowledge=1))
    client.engine.faults.take_acknowledgement()
    assert client.fault_status == 0


def test_full_fault_ring_drops_and_counts(client: RigClient) -> None:
    room = LIMITS.fault_ring_entries
    for _ in range(room + 3):
        lane = client.queue(entries=4)
        lane.submit(store(HOLE, 1))
    client.rig.run()

    assert client.fault_status == FaultStatus.build(pending=1, overflow=1, dropped=3)
    assert len(client.faults()) == room
    assert client.engine.faults.dropped == 3

    register = client.plan.registers_offset + FAULT_STATUS.offset
    client.words.store32(register, FaultStatus.build(overflow=1, acknowledge=1))
    lane = client.queue(entries=4)
    lane.submit(store(HOLE, 1))
    client.rig.run()
    assert client.fault_status == FaultStatus.build(pending=1)
    assert len(client.faults()) == 1


def test_reset_recovers_and_seqnos_go_on(client: RigClient, lane: Lane) -> None:
    lane.submit(nop(), store(HOLE, 1), nop(), nop(), nop())
    lane.rig.run()
    assert lane.completed == 1

    lane.reset()
    header = lane.header
    assert (header.head, header.tail, header.state) == (0, 0, RingState.RUNNING)
    assert (header.status, header.completion_status) == (0, 0)
    assert header.completed == 5

    lane.submit(store(A, 6), store(HOLE, 7))
    lane.rig.run()
    assert lane.completed == 6
    assert [record.seqno for record in client.faults()] == [2, 7]
    assert client.peek(A, 1) == b"\x06"


@pytest.mark.case("D07", "D13")
def test_seqnos_are_64_bits(client: RigClient) -> None:
    start = (1 << 32) - 3
    lane = client.queue(seqno=start, index=U32_MASK - 1)
    lane.submit(*(nop() for _ in range(10)), store(HOLE, 1), nop())
    client.rig.run()
    assert lane.completed == start + 10
    (record,) = client.faults()
    assert record.seqno == start + 11

    lane.reset()
    lane.submit(nop())
    client.rig.run()
    assert lane.completed == start + 13


@pytest.mark.parametrize("ahead", [65, 1000, 1 << 31, U32_MASK])
def test_bad_tail_stops_the_ring_and_can_be_reset(
    client: RigClient, lane: Lane, ahead: int
) -> None:
    lane.submit(nop(), nop())
    client.rig.run()

    client.words.store32(lane.queue.header + TAIL, (2 + ahead) & U32_MASK)
    client.rig.scheduler.kick(lane.queue)
    record = fault_of(lane)
    assert (record.reason, record.access) == (FaultReason.BAD_TAIL, Access.FETCH)
    assert (record.va, record.seqno) == ((2 + ahead) & U32_MASK, 3)
    assert (lane.header.state, lane.header.status) == (RingState.STOPPED, Status.BAD_TAIL)

    lane.reset()
    lane.submit(store(A, 3))
    client.rig.run()
    assert lane.completed == 3


def test_entry_that_is_redirected_in_vram_shows_the_other_frame(
    client: RigClient, lane: Lane
) -> None:
    (first,) = client.map(HOLE, PAGE_SIZE)
    (second,) = client.map(HOLE + (1 << 30), PAGE_SIZE)
    client.poke(HOLE + (1 << 30), b"other")
    words = client.rig.memory.words
    entry = int(leaf_entry(first, Rights.READ | Rights.WRITE))
    at = next(index for index, word in enumerate(words) if word == entry)

    lane.submit(copy(HOLE, A, 5))
    lane.rig.run()
    words[at] = entry ^ first ^ second
    lane.submit(copy(HOLE, A + 8, 5))
    lane.rig.run()
    client.space.tlb.invalidate_all()
    lane.submit(copy(HOLE, A + 16, 5))
    lane.rig.run()

    assert client.peek(A, 21) == bytes(8) + bytes(8) + b"other"
