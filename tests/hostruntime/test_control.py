"""The control channel: replies find their requests, whatever the order and the threads."""

import os
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from firmware.abi.control import (
    ControlCommand,
    GetStatistics,
    Nop,
    ObjectCreate,
    ObjectFlags,
    ObjectKind,
    ProtectList,
    Subject,
)
from firmware.abi.handshake import DescriptorNote
from firmware.abi.replies import Done, ObjectCreated, Reply, Statistics
from firmware.abi.status import Status
from firmware.link.descriptors import DescriptorsLost, Received
from firmware.link.errors import LinkLost
from firmware.link.sealed import create_sealed
from hostdriver.core.questions import Answer
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.runtime.control import ControlChannel
from hostdriver.runtime.requests import Pending
from tests.harness.fake_firmware import (
    done,
    head_of,
    inline_firmware,
    served_firmware,
)
from tests.harness.link_pairs import PLAN

CREATE = ObjectCreate(
    request=0, kind=ObjectKind.SYSTEM, flags=ObjectFlags.NONE, size_bytes=4096, page_size=4096
)


def request_of(answer: Answer) -> int:
    return answer.reply.request


def test_reply_carries_the_number_that_was_given() -> None:
    with inline_firmware() as (device, host):
        channel = ControlChannel(host)

        answers = [channel.collect(channel.post(Nop(request=0))) for _ in range(40)]

    assert [request_of(answer) for answer in answers] == list(range(1, 41))
    assert [command.request for command in device.commands] == list(range(1, 41))


def test_replies_may_overtake_each_other() -> None:
    held: list[ControlCommand] = []
    with inline_firmware(held.append) as (device, host):
        channel = ControlChannel(host)
        one, two = channel.post(Nop(request=0)), channel.post(Nop(request=0))
        device.reply(done(held[1]), done(held[0]))

        assert request_of(channel.collect(one)) == one.request
        assert request_of(channel.collect(two)) == two.request


def test_payload_goes_out_and_comes_back() -> None:
    def answer(command: ControlCommand) -> Reply:
        if isinstance(command, ProtectList):
            taken.append(device.payload(command.payload_offset, 5))
            return done(command)
        assert isinstance(command, GetStatistics)
        device.store_payload(command.payload_offset, b"counts")
        return Statistics(**head_of(command), count=1, total=1, record_size=6)

    taken: list[bytes] = []
    with inline_firmware(answer) as (device, host):
        channel = ControlChannel(host)
        protect = ProtectList(request=0, vmid=1, count=1, payload_offset=0)
        statistics = GetStatistics(
            request=0, subject=Subject.DEVICE, payload_offset=0, payload_size=6
        )
        first = channel.post(protect, b"hello")
        second = channel.post(statistics, room=6)

        assert channel.collect(second).payload == b"counts"
        assert channel.collect(first).payload == b""

    assert taken == [b"hello"]


def test_payloads_in_flight_do_not_overlap_and_are_given_back() -> None:
    held: list[ControlCommand] = []
    with inline_firmware(held.append) as (device, host):
        channel = ControlChannel(host)
        command = ProtectList(request=0, vmid=1, count=1, payload_offset=0)
        for _ in range(5):
            pending = [channel.post(command, bytes([n]) * 4096) for n in range(2)]
            for number, sent in enumerate(held):
                assert isinstance(sent, ProtectList)
                assert device.payload(sent.payload_offset, 4096) == bytes([number]) * 4096
                device.reply(done(sent))
            for item in pending:
                channel.collect(item)
            held.clear()


def test_payload_that_never_fits_is_refused() -> None:
    with inline_firmware() as (_, host):
        channel = ControlChannel(host)
        command = ProtectList(request=0, vmid=1, count=1, payload_offset=0)

        with pytest.raises(ValueError, match="payload"):
            channel.post(command, bytes(PLAN.payload_size + 1))
        assert channel.payload_size == PLAN.payload_size


def object_created(command: ControlCommand, count: int) -> ObjectCreated:
    return ObjectCreated(
        **head_of(command),
        object_id=5,
        size_bytes=4096,
        bus_address=0,
        page_size=4096,
        descriptors=count,
    )


def test_descriptor_comes_with_its_reply() -> None:
    def answer(command: ControlCommand) -> Reply:
        note = DescriptorNote(request=command.request, count=1, object_id=5, size_bytes=4096)
        device.end.carrier.send(note, [file])
        return object_created(command, 1)

    file = create_sealed("test", 4096)
    with served_firmware(answer) as (device, host):
        channel = ControlChannel(host)
        answer_ = channel.collect(channel.post(CREATE))

    (descriptor,) = answer_.descriptors
    assert os.fstat(descriptor).st_ino == os.fstat(file).st_ino
    os.close(descriptor)
    os.close(file)


def test_descriptor_that_did_not_come_is_told() -> None:
    with inline_firmware(lambda command: object_created(command, 1)) as (_, host):
        channel = ControlChannel(host)
        answer = channel.collect(channel.post(CREATE))

    assert answer.descriptors == ()
    assert "did not send" in answer.problem


class LosingCarrier:
    """A carrier from which nothing can be taken."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def send(self, note: DescriptorNote, descriptors: Sequence[int]) -> None:
        raise self.error

    def take(self, request: int) -> Received | None:
        raise self.error

    def renew(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def test_descriptor_that_was_lost_is_told() -> None:
    with inline_firmware(lambda command: object_created(command, 1)) as (_, host):
        lost = LosingCarrier(DescriptorsLost("RLIMIT_NOFILE"))
        channel = ControlChannel(replace(host, carrier=lost))
        answer = channel.collect(channel.post(CREATE))

    assert answer.descriptors == ()
    assert answer.problem == "RLIMIT_NOFILE"


def test_device_that_is_gone_before_its_descriptor_came_is_lost() -> None:
    with inline_firmware(lambda command: object_created(command, 1)) as (_, host):
        gone = LosingCarrier(LinkLost("process 7 has ended"))
        channel = ControlChannel(replace(host, carrier=gone))
        pending = channel.post(CREATE)

        with pytest.raises(ZeError, match="process 7 has ended") as caught:
            channel.collect(pending)
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


def test_many_threads_get_their_own_replies() -> None:
    wrong: list[tuple[int, int]] = []

    def ask(channel: ControlChannel) -> None:
        for _ in range(100):
            pending = channel.post(Nop(request=0))
            answer = channel.collect(pending)
            if request_of(answer) != pending.request:
                wrong.append((request_of(answer), pending.request))

    with served_firmware() as (device, host):
        channel = ControlChannel(host)
        threads = [threading.Thread(target=ask, args=(channel,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert wrong == []
    assert len(device.commands) == 800


def test_more_requests_than_the_ring_holds_wait_for_room() -> None:
    # Each thread posts many before it collects one; together far more than both rings hold.
    def ask(channel: ControlChannel, results: list[int]) -> None:
        for _ in range(50):
            pending = channel.post(Nop(request=0))
            results.append(request_of(channel.collect(pending)))

    with served_firmware() as (_, host):
        channel = ControlChannel(host)
        assert channel.most_in_flight == PLAN.control_ring.entry_count // 2
        results: list[int] = []
        threads = [
            threading.Thread(target=ask, args=(channel, results))
            for _ in range(3 * channel.most_in_flight)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(results) == list(range(1, len(results) + 1))


def test_reply_to_nobody_ends_the_session() -> None:
    with inline_firmware(lambda command: None) as (device, host):
        channel = ControlChannel(host)
        pending = channel.post(Nop(request=0))
        device.reply(Done(opcode=0, status=Status.OK, request=77))

        with pytest.raises(ZeError) as caught:
            channel.collect(pending)
        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        with pytest.raises(ZeError, match=caught.value.description):
            channel.collect(pending)


def test_malformed_reply_ends_the_session() -> None:
    with inline_firmware(lambda command: None) as (device, host):
        channel = ControlChannel(host)
        pending = channel.post(Nop(request=0))
        device.reply(b"\0\0\xff\xff" + bytes(60))

        with pytest.raises(ZeError, match="reply ring"):
            channel.collect(pending)


def test_lost_device_ends_every_wait() -> None:
    ended: list[str] = []

    def ask(channel: ControlChannel, pending: Pending) -> None:
        try:
            channel.collect(pending)
        except ZeError as error:
            ended.append(error.result.name)

    with served_firmware(lambda command: None) as (device, host):
        channel = ControlChannel(host)
        threads = [
            threading.Thread(target=ask, args=(channel, channel.post(Nop(request=0))))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        device.lose_client()
        for thread in threads:
            thread.join()

    assert ended == ["ZE_RESULT_ERROR_DEVICE_LOST"] * 4


def test_end_tells_everybody_why() -> None:
    with inline_firmware(lambda command: None) as (_, host):
        channel = ControlChannel(host)
        pending = channel.post(Nop(request=0))
        channel.end("it was closed")

        with pytest.raises(ZeError, match="it was closed"):
            channel.collect(pending)


def test_numbers_in_flight_are_not_given_again() -> None:
    held: list[ControlCommand] = []
    with inline_firmware(held.append) as (device, host):
        channel = ControlChannel(host)
        first = channel.post(Nop(request=0))
        channel._requests._last = first.request
        second = channel.post(Nop(request=0))
        channel._requests._last = 0xFFFF_FFFF
        third, fourth = channel.post(Nop(request=0)), channel.post(Nop(request=0))

        assert second.request == first.request + 1
        assert (third.request, fourth.request) == (0xFFFF_FFFF, 3)
        device.reply(*(done(command) for command in held))
        for pending in (first, second, third, fourth):
            assert request_of(channel.collect(pending)) == pending.request


def test_descriptors_go_ahead_of_their_command() -> None:
    taken: list[Received | None] = []
    with inline_firmware(
        lambda command: taken.append(device.end.carrier.take(command.request))
    ) as (
        device,
        host,
    ):
        channel = ControlChannel(host)
        number = create_sealed("test", 4096)
        pending = channel.post(Nop(request=0), descriptors=(number,))
        os.close(number)

        (received,) = taken
        assert received is not None
        assert (received.note.request, len(received.descriptors)) == (pending.request, 1)
        received.descriptors.close()


def test_descriptor_that_is_not_open_is_told_and_nothing_is_sent() -> None:
    with inline_firmware() as (device, host):
        channel = ControlChannel(host)

        with pytest.raises(ZeError) as caught:
            channel.post(Nop(request=0), b"payload", descriptors=(-1,))

        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert device.commands == []
        assert request_of(channel.collect(channel.post(Nop(request=0))))
