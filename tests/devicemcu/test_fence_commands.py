"""Fence pools by control commands: made, opened by token, closed, and given back at any end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import (
    ControlCommand,
    FencePoolClose,
    FencePoolCreate,
    FencePoolExport,
    FencePoolOpen,
    FencePoolRevoke,
)
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Done, FencePoolExported, FencePoolOpened
from firmware.abi.segment import FenceSlot
from firmware.abi.status import Status
from firmware.abi.work import FenceWait, FenceWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

PER_PAGE = PAGE_SIZE // FenceSlot.SIZE


@pytest.fixture
def pair() -> DevicePair:
    return DevicePair()


@pytest.fixture
def client(pair: DevicePair) -> RawClient:
    return pair.attach()


def make(client: RawClient, count: int = 4) -> FencePoolOpened:
    reply = client.call(FencePoolCreate(request=0, slot_count=count))
    assert isinstance(reply, FencePoolOpened)
    return reply


def token_of(client: RawClient, pool: int) -> bytes:
    reply = client.call(FencePoolExport(request=0, pool=pool))
    assert isinstance(reply, FencePoolExported)
    return reply.token


def refused(client: RawClient, command: ControlCommand, status: Status) -> None:
    assert client.refused(command).status is status


def signal(pool: int, slot: int, value: int) -> FenceWrite:
    return FenceWrite(flags=WorkFlags.NONE, tag=0, pool=pool, slot=slot, value=value)


def wait_for(pool: int, slot: int, value: int) -> FenceWait:
    return FenceWait(flags=WorkFlags.NONE, tag=0, pool=pool, slot=slot, value=value)


def test_a_pool_is_a_file_of_whole_pages(pair: DevicePair, client: RawClient) -> None:
    made = make(client, PER_PAGE + 1)

    assert (made.slot_count, made.size_bytes, made.descriptors) == (PER_PAGE + 1, 2 * PAGE_SIZE, 1)
    assert made.pool > 0
    assert [file.size for file in pair.system_memory.open_files] == [2 * PAGE_SIZE]


def test_queues_of_two_clients_meet_in_a_pool(pair: DevicePair, client: RawClient) -> None:
    other = pair.attach()
    made = make(client)
    opened = other.call(FencePoolOpen(request=0, token=token_of(client, made.pool)))
    assert isinstance(opened, FencePoolOpened)
    waiting, signalling = other.queue(other.space()), client.queue(client.space())

    other.submit(waiting, wait_for(opened.pool, 2, 5))
    pair.step()
    client.submit(signalling, signal(made.pool, 2, 5))
    for _ in range(3):
        pair.step()

    (file,) = pair.system_memory.open_files
    slot = FenceSlot.unpack(file.view, 2 * FenceSlot.SIZE)
    assert isinstance(slot, FenceSlot)
    assert (slot.value, slot.device_waits) == (5, 0)
    pair.device.check()


def test_a_pool_lives_as_long_as_anyone_has_it(pair: DevicePair, client: RawClient) -> None:
    other = pair.attach()
    made = make(client)
    token = token_of(client, made.pool)
    opened = other.call(FencePoolOpen(request=0, token=token))
    assert isinstance(opened, FencePoolOpened)

    client.call(FencePoolClose(request=0, pool=made.pool))
    assert len(pair.system_memory.open_files) == 1
    refused(other, FencePoolOpen(request=0, token=token), Status.BAD_TOKEN)

    pair.device.detach(other.client_id, pair.now)
    assert not pair.system_memory.open_files
    pair.device.check()


@pytest.mark.parametrize("end", ["detach", "reset"])
def test_everything_comes_back_at_the_end_of_a_client(
    pair: DevicePair, client: RawClient, end: str
) -> None:
    made = make(client)
    token_of(client, made.pool)
    queue = client.queue(client.space())
    client.submit(queue, wait_for(made.pool, 0, 1), signal(made.pool, 1, 1))
    pair.step()

    if end == "detach":
        pair.device.detach(client.client_id, pair.now)
    else:
        pair.device.reset(pair.now)

    assert not pair.system_memory.open_files
    pair.device.check()


def test_a_pool_that_a_queue_waits_in_is_not_closed(pair: DevicePair, client: RawClient) -> None:
    made = make(client)
    queue = client.queue(client.space())
    client.submit(queue, wait_for(made.pool, 0, 1))
    pair.step()

    refused(client, FencePoolClose(request=0, pool=made.pool), Status.IN_USE)


def test_one_of_two_numbers_of_a_pool_may_go_while_a_queue_waits_in_it(
    pair: DevicePair, client: RawClient
) -> None:
    made = make(client)
    token = token_of(client, made.pool)
    again = client.call(FencePoolOpen(request=0, token=token))
    assert isinstance(again, FencePoolOpened)
    waiting, signalling = (client.queue(client.space()) for _ in range(2))
    client.submit(waiting, wait_for(made.pool, 0, 1))
    pair.step()

    assert isinstance(client.call(FencePoolClose(request=0, pool=made.pool)), Done)

    refused(client, FencePoolClose(request=0, pool=again.pool), Status.IN_USE)
    client.submit(signalling, signal(again.pool, 0, 1))
    pair.step()
    assert client.header(waiting.header).completed == 1


def test_a_pool_may_go_before_the_queue_that_it_released_goes_on(
    pair: DevicePair, client: RawClient
) -> None:
    made = make(client)
    space = client.space()
    waiting, signalling = client.queue(space), client.queue(space)
    client.submit(waiting, wait_for(made.pool, 0, 1))
    pair.step()
    client.submit(signalling, signal(made.pool, 0, 1))
    pair.device.work(pair.now)

    client.call(FencePoolClose(request=0, pool=made.pool))

    assert client.header(waiting.header).completed == 1
    assert not pair.system_memory.open_files
    pair.device.check()


def test_what_does_not_exist_is_refused(client: RawClient) -> None:
    made = make(client)
    refused(client, FencePoolCreate(request=0, slot_count=0), Status.BAD_RANGE)
    refused(client, FencePoolCreate(request=0, slot_count=0xFFFF_FFFF), Status.BAD_RANGE)
    for number in (0, made.pool + 1):
        refused(client, FencePoolClose(request=0, pool=number), Status.BAD_OBJECT)
        refused(client, FencePoolExport(request=0, pool=number), Status.BAD_OBJECT)
    refused(client, FencePoolOpen(request=0, token=bytes(16)), Status.BAD_TOKEN)
    refused(client, FencePoolRevoke(request=0, token=bytes(16)), Status.BAD_TOKEN)


def test_a_token_is_its_exporters_alone(pair: DevicePair, client: RawClient) -> None:
    other = pair.attach()
    token = token_of(client, make(client).pool)

    refused(other, FencePoolRevoke(request=0, token=token), Status.BAD_TOKEN)
    client.call(FencePoolRevoke(request=0, token=token))
    refused(other, FencePoolOpen(request=0, token=token), Status.BAD_TOKEN)


def test_without_host_memory_there_is_no_pool(pair: DevicePair, client: RawClient) -> None:
    pair.system_memory.room = 0

    refused(client, FencePoolCreate(request=0, slot_count=1), Status.OUT_OF_HOST_MEMORY)
    pair.device.check()
