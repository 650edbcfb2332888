"""What a device that is polled has to be asked, and what can be seen in its doorbell words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.spec import DeviceSpec, Latencies
from firmware.abi.control import Nop
from firmware.abi.work import FenceWait, FenceWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from device.core.effects import Effect
    from tests.harness.stepped_client import RawClient


def nop(client: RawClient) -> bytes:
    return Nop(request=client.request()).pack()


def is_rung(pair: DevicePair) -> bool:
    """Return whether a doorbell word is another than the device saw."""
    pages = pair.device.doorbells()
    assert pages is not None
    return any(view.tobytes() != seen for view, seen in pages)


def test_a_device_at_rest_has_something_to_do_exactly_when_a_doorbell_word_changed() -> None:
    pair = DevicePair()
    clients = [pair.attach() for _ in range(3)]
    queues = [client.queue(client.space()) for client in clients]
    pair.step()
    for client, queue in zip(clients, queues, strict=True):
        assert not is_rung(pair)

        client.submit(queue, FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1))
        assert is_rung(pair)
        pair.step()

        client.send(nop(client))
        assert is_rung(pair)
        pair.step()


def test_a_queue_that_waits_for_a_fence_is_seen_in_no_doorbell() -> None:
    pair = DevicePair()
    client = pair.attach()
    queue = client.queue(client.space())
    client.submit(queue, FenceWait(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1))
    pair.step()

    assert pair.device.doorbells() is None

    other = client.queue(client.space())
    client.submit(other, FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=1))
    pair.step()
    assert not is_rung(pair)


def test_a_command_that_waits_for_time_or_room_is_seen_in_no_doorbell() -> None:
    pair = DevicePair(DeviceSpec(vram_size=4 << 20, latencies=Latencies(control_ticks=100)))
    client = pair.attach()
    for _ in range(2):
        client.send(nop(client))
    pair.step()

    assert pair.device.doorbells() is None

    for _ in range(2):
        pair.now += 1000
        pair.step()
    assert not is_rung(pair)


def test_a_bell_that_was_rung_has_to_be_asked_for() -> None:
    pair = DevicePair()
    client = pair.attach()
    pair.step()

    pair.device.ring(client.client_id)

    assert pair.device.doorbells() is None


def test_what_came_in_front_of_the_rounds_has_to_be_asked() -> None:
    pair = DevicePair()
    pair.attach()
    pair.step()
    inner = pair.device.rounds

    class InFront:
        def watch(self, looks: int) -> bool:
            return inner.watch(looks)

        def work(self, now: int) -> list[Effect]:
            return inner.work(now)

    pair.device.rounds = InFront()

    assert pair.device.doorbells() is None
