"""The control ring: order, room for replies, contract errors, time, fairness, notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.spec import DeviceSpec, Latencies
from firmware.abi.control import Nop, SpaceCreate
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Refused, SpaceCreated
from firmware.abi.rings import (
    CONSUMER_SLEEPERS,
    HEAD,
    HEAD_EVENT,
    PRODUCER_SLEEPERS,
    TAIL,
    TAIL_EVENT,
    RingState,
    needs_notify,
)
from firmware.abi.status import Status
from firmware.abi.work import FenceWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient


def nop(client: RawClient) -> bytes:
    return Nop(request=client.request()).pack()


def requests(client: RawClient) -> list[int]:
    return [reply.request for reply in client.replies()]


def test_commands_are_answered_in_order() -> None:
    client = DevicePair().attach()
    for _ in range(5):
        client.send(nop(client))

    client.step()

    assert requests(client) == [1, 2, 3, 4, 5]


def test_indices_run_around_the_ring_many_times() -> None:
    client = DevicePair().attach()
    count = 3 * client.layout.control_ring_entries

    for number in range(1, count + 1):
        client.send(nop(client))
        if number % 100 == 0 or number == count:
            client.step()
            assert requests(client)[-1] == number

    assert client.header(client.layout.control_ring_offset).head == count


def test_no_command_is_taken_without_room_for_its_reply() -> None:
    pair = DevicePair()
    client = pair.attach()
    entries = client.layout.control_ring_entries
    for _ in range(entries):
        client.send(nop(client))
    client.step()
    client.send(SpaceCreate(request=client.request()).pack())

    client.step()

    control = client.layout.control_ring_offset
    assert client.header(control).head == entries
    assert pair.device.statistics().space_count == 0
    assert requests(client) == list(range(1, entries + 1))
    client.step()
    (reply,) = client.replies()
    assert isinstance(reply, SpaceCreated)


def test_a_tail_that_cannot_be_stops_this_ring_alone() -> None:
    pair = DevicePair()
    bad, good = pair.attach(), pair.attach()
    queue = bad.queue(bad.space())

    bad.store_control_tail(1 << 20)
    pair.step()

    header = bad.header(bad.layout.control_ring_offset)
    assert (header.state, header.status) == (RingState.STOPPED, Status.BAD_TAIL)
    good.space()
    fence = FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=3)
    bad.submit(queue, fence)
    pair.step()
    assert bad.fence(0).value == 3
    bad.store_control_tail(1)
    pair.step()
    assert bad.replies() == []
    pair.device.check()
    pair.detach(bad)
    pair.device.check()


def test_a_head_that_cannot_be_stops_the_ring() -> None:
    pair = DevicePair()
    client = pair.attach()
    client.u32[(client.layout.reply_ring_offset + HEAD) >> 2] = 77

    client.send(nop(client))
    for _ in range(client.layout.control_ring_entries):
        client.send(nop(client))
        pair.step()

    assert client.header(client.layout.control_ring_offset).state is RingState.STOPPED
    pair.device.check()


def test_a_head_that_goes_wrong_while_commands_wait_stops_the_ring() -> None:
    pair = DevicePair()
    client = pair.attach()
    for _ in range(client.layout.control_ring_entries):
        client.send(nop(client))
    client.step()
    client.send(nop(client))
    client.step()
    assert [pair.device.has_work] == [False]

    client.u32[(client.layout.reply_ring_offset + HEAD) >> 2] = 0x8000_0000

    assert [pair.device.has_work] == [True]
    pair.step()
    assert client.header(client.layout.control_ring_offset).state is RingState.STOPPED
    pair.device.prepare_sleep()
    pair.device.check()


def test_a_device_that_lacks_room_for_replies_asks_for_it_before_it_sleeps() -> None:
    pair = DevicePair()
    client = pair.attach()
    entries = client.layout.control_ring_entries
    for _ in range(entries):
        client.send(nop(client))
    client.step()
    client.send(nop(client))
    client.step()

    pair.device.prepare_sleep()

    # The notice is due as soon as the host takes one reply.
    header = client.header(client.layout.reply_ring_offset)
    assert needs_notify(header.head_event, 1, 0)
    assert len(client.replies()) == entries
    client.step()
    assert len(client.replies()) == 1


def test_the_host_is_told_of_replies_and_of_room() -> None:
    pair = DevicePair()
    client = pair.attach()
    client.send(nop(client))
    client.send(nop(client))

    pair.step()

    reply, room = pair.notices(client)
    ring = client.layout.reply_ring_offset
    assert (reply.word, reply.sleepers, reply.event) == (
        ring + TAIL,
        ring + CONSUMER_SLEEPERS,
        ring + TAIL_EVENT,
    )
    assert (reply.old, reply.new, reply.force) == (0, 2, False)
    ring = client.layout.control_ring_offset
    assert (room.word, room.sleepers, room.event) == (
        ring + HEAD,
        ring + PRODUCER_SLEEPERS,
        ring + HEAD_EVENT,
    )
    assert (room.old, room.new) == (0, 2)


def test_a_full_ring_of_one_client_does_not_hold_up_another() -> None:
    pair = DevicePair()
    flood, single = pair.attach(), pair.attach()
    pair.step()
    for _ in range(1000):
        flood.send(nop(flood))
    single.send(nop(single))

    pair.device.work(pair.now)

    assert requests(single) == [1]
    assert len(flood.replies()) < 100
    pair.step()
    assert len(flood.replies()) > 900


def test_commands_take_model_time_one_after_another() -> None:
    latencies = Latencies(control_ticks=100)
    pair = DevicePair(DeviceSpec(vram_size=1 << 20, latencies=latencies))
    client = pair.attach()
    client.send(nop(client))
    client.send(nop(client))

    pair.step()
    assert requests(client) == []
    assert pair.wakes() == [pair.now + 100]

    pair.now += 99
    pair.step()
    assert requests(client) == []
    pair.now += 1
    pair.step()
    assert requests(client) == [1]
    pair.now += 100
    pair.step()
    assert requests(client) == [2]
    assert not pair.device.has_work


def test_a_doorbell_without_a_new_tail_does_no_harm() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.step()

    client.u32[client.layout.doorbells_offset >> 2] = 0xDEAD
    client.ring()

    pair.step()
    assert client.replies() == []
    assert not pair.device.has_work


def test_a_bell_is_enough_when_the_doorbell_word_was_lost() -> None:
    pair = DevicePair()
    client = pair.attach()
    vmid = client.space()
    queue = client.queue(vmid)
    client.submit(queue, FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1))
    client.send(nop(client))
    doorbells = client.layout.doorbells_offset >> 2
    state = pair.device._state.clients[client.client_id]
    client.u32[doorbells] = int.from_bytes(state.doorbells.seen[:4], "little")
    client.u32[doorbells + queue.doorbell] = 0
    assert [pair.device.has_work] == [False]

    client.ring()
    assert [pair.device.has_work] == [True]
    pair.step()

    assert client.fence(0).value == 1
    assert len(client.replies()) == 1


@pytest.mark.case("D05")
@pytest.mark.parametrize("word", range(1, 33))
def test_doorbells_of_nobody_are_ignored(word: int) -> None:
    pair = DevicePair()
    client = pair.attach()

    client.u32[(client.layout.doorbells_offset >> 2) + word] = 5

    pair.step()
    pair.device.check()


def test_a_sleeping_device_asks_to_be_rung() -> None:
    pair = DevicePair()
    client = pair.attach()
    queue = client.queue(client.space())
    for value in (1, 2):
        fence = FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=value)
        client.submit(queue, fence)
        pair.step()

    pair.device.prepare_sleep()

    control = client.header(client.layout.control_ring_offset)
    assert control.tail_event == control.head == 2
    work = client.header(queue.header)
    assert work.tail_event == work.head == 2
    assert not pair.device.has_work


def test_replies_of_a_lost_session_name_the_command() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.device.reset(pair.now)

    client.send((0x1234).to_bytes(4, "little") + (9).to_bytes(4, "little") + bytes(56))
    pair.step()

    (reply,) = client.replies()
    assert isinstance(reply, Refused)
    assert (reply.opcode, reply.request) == (0x1234, 9)
    assert reply.status is Status.DEVICE_LOST


def test_segment_and_plan_have_to_agree() -> None:
    pair = DevicePair()
    client = pair.attach()

    assert client.layout.segment_size == pair.device.segment_plan.size
    assert client.layout.segment_size % PAGE_SIZE == 0
