"""Work queues: creation, limits, doorbells, destruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.spec import DeviceSpec
from firmware.abi.control import QueueCreate, QueueDestroy, QueueKind, SpaceDestroy
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Done, QueueCreated, Refused
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import FenceWrite, MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient, RawQueue

VA = 1 << 30
COPY = QueueKind.COPY


def create(
    client: RawClient, vmid: int, entries: int = 64, kind: QueueKind = COPY, priority: int = 0
) -> QueueCreate:
    return QueueCreate(
        request=client.request(), vmid=vmid, kind=kind, entry_count=entries, priority=priority
    )


def test_a_queue_gets_a_ring_in_the_pool_and_a_doorbell() -> None:
    client = DevicePair().attach()
    vmid = client.space()

    made = client.ask(create(client, vmid, 128), QueueCreated)

    layout = client.layout
    assert made.entry_count == 128
    assert made.ring_offset % 64 == 0
    pool = range(layout.ring_pool_offset, layout.ring_pool_offset + layout.ring_pool_size)
    assert made.ring_offset in pool
    assert 1 <= made.doorbell < layout.doorbell_count
    header = client.header(made.ring_offset)
    assert (header.state, header.entry_count, header.entry_size) == (RingState.RUNNING, 128, 64)


def test_queues_run_side_by_side() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    queues = [client.queue(vmid) for _ in range(4)]
    assert len({queue.doorbell for queue in queues}) == 4

    for slot, queue in enumerate(queues):
        client.submit(
            queue, FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=slot, value=slot + 10)
        )
    pair.step()

    assert [client.fence(slot).value for slot in range(4)] == [10, 11, 12, 13]


@pytest.mark.parametrize(
    ("entries", "status", "detail"),
    [
        (8, Status.LIMIT, 16),
        (0, Status.LIMIT, 16),
        (16384, Status.LIMIT, 8192),
        (100, Status.BAD_ALIGNMENT, 100),
    ],
)
def test_ring_sizes_are_powers_of_two_within_limits(
    entries: int, status: Status, detail: int
) -> None:
    client = DevicePair().attach()

    refused = client.refused(create(client, client.space(), entries))

    assert (refused.status, refused.detail) == (status, detail)


def test_a_priority_that_there_is_not_is_malformed() -> None:
    client = DevicePair().attach()
    vmid = client.space()

    refused = client.refused(create(client, vmid, priority=3))

    assert (refused.status, refused.detail) == (Status.MALFORMED, 0x14)
    for priority in (0, 1, 2):
        client.ask(create(client, vmid, priority=priority), QueueCreated)


def test_the_number_of_queues_is_limited() -> None:
    pair = DevicePair(DeviceSpec(vram_size=1 << 20, max_queues=3))
    client = pair.attach()
    vmid = client.space()
    queues = [client.queue(vmid) for _ in range(3)]

    refused = client.refused(create(client, vmid))

    assert (refused.status, refused.detail) == (Status.LIMIT, 3)
    client.ask(QueueDestroy(request=client.request(), queue_id=queues[1].queue_id), Done)
    assert client.queue(vmid).doorbell == queues[1].doorbell
    pair.device.check()


def test_the_ring_pool_is_used_up_and_used_again() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    state = pair.device._state.clients[client.client_id]
    state.pool.take(client.layout.ring_pool_size - 8 * PAGE_SIZE)
    first = client.queue(vmid, 64)

    refused = client.refused(create(client, vmid, 1024))

    assert (refused.status, refused.detail) == (Status.LIMIT, client.layout.ring_pool_size)
    client.ask(QueueDestroy(request=client.request(), queue_id=first.queue_id), Done)
    assert client.queue(vmid, 128).header == first.header


def test_compute_queues_need_a_compute_engine() -> None:
    pair = DevicePair(DeviceSpec(vram_size=1 << 20, compute_engines=0))
    client = pair.attach()
    vmid = client.space()

    refused = client.refused(create(client, vmid, kind=QueueKind.COMPUTE))

    assert refused.status is Status.UNSUPPORTED
    client.queue(vmid)
    other = DevicePair().attach()
    other.queue(other.space(), kind=QueueKind.COMPUTE)


def test_a_space_is_in_use_while_queues_run_in_it() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    queue = client.queue(vmid)
    destroy = SpaceDestroy(request=client.request(), vmid=vmid)

    refused = client.refused(destroy)

    assert (refused.status, refused.detail) == (Status.IN_USE, 1)
    client.ask(QueueDestroy(request=client.request(), queue_id=queue.queue_id), Done)
    client.ask(destroy, Done)
    pair.device.check()


def test_a_destroyed_queue_runs_nothing_more() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    client.map(vmid, VA, PAGE_SIZE, client.object(PAGE_SIZE))
    queue = client.queue(vmid)
    client.ask(QueueDestroy(request=client.request(), queue_id=queue.queue_id), Done)

    client.submit(queue, MemoryWrite(flags=WorkFlags.NONE, tag=0, destination=VA, value=1))
    pair.step()

    assert client.faults() == []
    assert pair.device.statistics().work_commands == 0
    again = client.call(QueueDestroy(request=client.request(), queue_id=queue.queue_id))
    assert isinstance(again, Refused)
    assert again.status is Status.BAD_QUEUE


def test_a_doorbell_begins_anew_with_its_next_queue() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    for value in (1, 2):
        queue = client.queue(vmid)
        fence = FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=value)
        client.submit(queue, fence)
        pair.step()
        assert client.fence(0).value == value
        client.ask(QueueDestroy(request=client.request(), queue_id=queue.queue_id), Done)


def test_queues_and_spaces_belong_to_their_client() -> None:
    pair = DevicePair()
    owner, other = pair.attach(), pair.attach()
    vmid = owner.space()
    queue = owner.queue(vmid)

    assert other.refused(create(other, vmid)).status is Status.BAD_SPACE
    destroy = QueueDestroy(request=other.request(), queue_id=queue.queue_id)
    assert other.refused(destroy).status is Status.BAD_QUEUE


def test_numbers_of_queues_are_never_used_again() -> None:
    client = DevicePair().attach()
    vmid = client.space()
    numbers: set[int] = set()
    for _ in range(5):
        queue: RawQueue = client.queue(vmid)
        numbers.add(queue.queue_id)
        client.ask(QueueDestroy(request=client.request(), queue_id=queue.queue_id), Done)

    assert len(numbers) == 5
