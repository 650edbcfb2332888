"""Descriptors on a socket: complete or not at all, and none is ever leaked."""

from __future__ import annotations

import array
import os
import resource
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from firmware.abi.handshake import MAX_DESCRIPTORS, DescriptorNote
from firmware.link.carrier import MOST_STASHED, CarrierFull, ListCarrier, SocketCarrier
from firmware.link.descriptors import (
    Descriptors,
    DescriptorsLost,
    receive_note,
    receive_packet,
    send_packet,
)
from firmware.link.errors import ContractError, LinkLost
from tests.harness.link_conformance import descriptor_count, note
from tests.harness.link_pairs import socket_pair

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def sockets() -> Generator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a connection, and see that nothing else is left open."""
    before = descriptor_count()
    ours, theirs = socket_pair()
    with ours, theirs:
        yield ours, theirs
    assert descriptor_count() == before


@contextmanager
def descriptor_limit(spare: int) -> Generator[None]:
    """Leave this process room for `spare` more descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        while True:
            try:
                fillers.append(os.dup(0))
            except OSError:
                break
        for _ in range(spare):
            os.close(fillers.pop())
        yield
    finally:
        for number in fillers:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Descriptors in hand


def test_what_is_not_taken_is_closed() -> None:
    before = descriptor_count()
    with Descriptors([os.dup(0), os.dup(0), os.dup(0)]) as descriptors:
        assert len(descriptors) == 3
        first = descriptors.peek()
        assert descriptors.take() == first
        assert len(descriptors) == 2

    descriptors.close()

    assert descriptor_count() == before + 1
    os.close(first)


# Packets


def test_a_packet_arrives_with_its_descriptors(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets

    send_packet(ours, b"data", [0, 1, 2])
    packet = receive_packet(theirs, 64)

    assert packet.data == b"data"
    assert not packet.lost
    with packet.descriptors as descriptors:
        assert len(descriptors) == 3
        assert not os.get_inheritable(descriptors.peek())


def test_a_longer_packet_than_expected_is_refused_and_its_descriptors_closed(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    send_packet(ours, bytes(65), [0])

    with pytest.raises(ContractError, match="more than 64 bytes"):
        receive_packet(theirs, 64)


def test_a_packet_without_data_but_with_descriptors_is_no_hang_up(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    send_packet(ours, b"", [0])

    with pytest.raises(ContractError, match="DescriptorNote"):
        receive_note(theirs)


def test_a_closed_connection_is_a_lost_link(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    ours.close()

    with pytest.raises(LinkLost, match="hung up"):
        receive_packet(theirs, 64)
    with pytest.raises(LinkLost, match="hung up before a message was sent"):
        send_packet(theirs, b"data")


def test_a_connection_closed_with_unread_data_is_a_lost_link(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    send_packet(theirs, b"unread")
    ours.close()

    with pytest.raises(LinkLost, match="hung up"):
        receive_packet(theirs, 64)


# Notes


def test_at_the_descriptor_limit_the_loss_is_noticed_and_a_retry_works(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    carrier = SocketCarrier(theirs)
    for request in (1, 2):
        send_packet(ours, note(request, 3).pack(), [0, 0, 0])
    before = descriptor_count()

    with (
        descriptor_limit(spare=1),
        pytest.raises(DescriptorsLost, match=r"of 3 descriptors of request 1.*RLIMIT_NOFILE"),
    ):
        carrier.take(1)

    assert descriptor_count() == before
    with pytest.raises(DescriptorsLost):
        carrier.take(2)  # it was received in the same moment
    send_packet(ours, note(3, 3).pack(), [0, 0, 0])
    received = carrier.take(3)
    assert received is not None
    assert len(received.descriptors) == 3
    received.descriptors.close()


def test_more_descriptors_than_a_message_may_carry_are_not_taken(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    many = array.array("i", [0] * (MAX_DESCRIPTORS + 1))
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, many.tobytes())]
    ours.sendmsg([note(1, len(many)).pack()], ancillary)

    received = receive_note(theirs)

    assert received.lost
    assert len(received.descriptors) == 0


@pytest.mark.parametrize("told", [0, 1, 3])
def test_a_note_with_another_number_of_descriptors_is_refused(
    sockets: tuple[socket.socket, socket.socket], told: int
) -> None:
    ours, theirs = sockets
    send_packet(ours, note(1, told).pack(), [0, 0])

    with pytest.raises(ContractError, match=f"its note tells {told}"):
        receive_note(theirs)


@pytest.mark.parametrize("size", [1, DescriptorNote.SIZE - 1])
def test_a_packet_that_is_no_note_is_refused(
    sockets: tuple[socket.socket, socket.socket], size: int
) -> None:
    ours, theirs = sockets
    send_packet(ours, bytes(size), [0])

    with pytest.raises(ContractError, match="on the socket: DescriptorNote"):
        receive_note(theirs)


# Carriers


def test_a_flood_that_no_request_asked_for_ends_in_an_error(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    carrier = SocketCarrier(theirs)
    before = descriptor_count()

    for request in range(MOST_STASHED):
        send_packet(ours, note(request, 1).pack(), [0])
        assert carrier.take(1000) is None
    send_packet(ours, note(MOST_STASHED, 1).pack(), [0])
    with pytest.raises(ContractError, match=f"more than {MOST_STASHED}"):
        carrier.take(1000)

    carrier.close()
    assert descriptor_count() == before


def test_a_peer_that_does_not_read_is_an_error_and_no_hang(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    carrier = SocketCarrier(sockets[0], patience_seconds=0.001)

    def flood() -> None:
        for request in range(100_000):
            carrier.send(note(request, 0), [])

    with pytest.raises(CarrierFull, match="does not read"):
        flood()


def test_what_was_sent_before_the_hang_up_can_still_be_taken(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    carrier = SocketCarrier(theirs)
    send_packet(ours, note(1, 1).pack(), [0])
    ours.close()
    assert carrier.take(2) is None

    received = carrier.take(1)

    assert received is not None
    received.descriptors.close()
    with pytest.raises(LinkLost):
        carrier.take(2)


def test_a_bad_descriptor_is_the_senders_error_and_nothing_is_sent(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    one, other = ListCarrier.pair()
    carrier, peer = SocketCarrier(sockets[0]), SocketCarrier(sockets[1])

    for end in (one, carrier):
        with pytest.raises(OSError, match="Bad file descriptor"):
            end.send(note(1, 2), [0, 1 << 20])

    assert other.take(1) is None
    assert peer.take(1) is None


def test_the_in_process_carrier_has_the_same_bound() -> None:
    one, other = ListCarrier.pair()
    for request in range(MOST_STASHED):
        one.send(note(request, 0), [])

    with pytest.raises(CarrierFull):
        one.send(note(MOST_STASHED, 0), [])

    other.close()
    with pytest.raises(LinkLost):
        one.send(note(MOST_STASHED, 0), [])
    with pytest.raises(LinkLost):
        one.take(1)


def test_a_closed_in_process_carrier_leaves_nothing_open() -> None:
    before = descriptor_count()
    one, other = ListCarrier.pair()
    one.send(note(1, 1), [0])
    assert other.take(2) is None
    one.send(note(2, 1), [0])

    other.close()

    assert descriptor_count() == before
