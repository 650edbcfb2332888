"""Attaching over a socket: every way in which it can fail leaves nothing open."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import msgspec
import pytest

from firmware.abi.handshake import HandshakeStatus, Hello
from firmware.abi.segment import Superblock
from firmware.link import segment as segment_module
from firmware.link.client import attach, connect
from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.errors import AttachError, ContractError, LinkLost, Refused
from firmware.link.handshake import Offer, say_hello
from firmware.link.linux import create_memory
from firmware.link.runtime_dir import listen_socket
from firmware.link.sealed import create_sealed
from firmware.link.segment import Segment
from firmware.link.server import Attachment, receive_hello, refuse
from tests.harness.link_conformance import descriptor_count
from tests.harness.link_pairs import (
    CLIENT_ID,
    PLAN,
    accept_client,
    agree_on,
    socket_pair,
    welcome_early,
    write_segment,
)
from tests.link.test_descriptors import descriptor_limit

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

HELLO = say_hello("attaching")
AGREEMENT = agree_on(HELLO.pack())
WELCOME = AGREEMENT.welcome(PLAN.size, CLIENT_ID)


@pytest.fixture
def both() -> Generator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a connection."""
    ours, theirs = socket_pair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def device(both: tuple[socket.socket, socket.socket]) -> socket.socket:
    """Return the device's end of the connection."""
    return both[0]


@pytest.fixture
def host(both: tuple[socket.socket, socket.socket]) -> socket.socket:
    """Return the driver's end of the connection."""
    return both[1]


def attach_fails(host: socket.socket, patience_seconds: float = 10.0) -> Exception:
    """Attach in vain; return the error, when nothing was left open."""
    before = descriptor_count()
    with pytest.raises((AttachError, ContractError, LinkLost)) as caught:
        attach(host, HELLO, patience_seconds=patience_seconds)
    assert descriptor_count() == before - 1
    return caught.value


def send_segment(device: socket.socket, segment: int, *others: int) -> None:
    """Send a welcome with a segment that somebody made; it is closed here."""
    bells = others or (os.eventfd(0), os.eventfd(0))
    send_packet(device, WELCOME.pack(), [segment, *bells])
    for number in (segment, *bells):
        os.close(number)


# The driver's half


def test_a_link_is_made_and_closed_without_a_trace(
    device: socket.socket, host: socket.socket
) -> None:
    before = descriptor_count()
    device_end = welcome_early(device, HELLO)

    host_end = attach(host, HELLO)

    assert receive_hello(device) == HELLO.pack()
    assert host_end.welcome == WELCOME
    host_end.close()
    device_end.close()
    assert descriptor_count() == before - 2


@pytest.mark.parametrize("status", [item for item in HandshakeStatus if item])
def test_a_refusal_reaches_the_driver(
    device: socket.socket, host: socket.socket, status: HandshakeStatus
) -> None:
    send_packet(device, Offer().refuse(status, 3).pack())

    error = attach_fails(host)

    assert isinstance(error, Refused)
    assert (error.status, error.detail) == (status, 3)


def test_a_device_that_hangs_up_is_an_error(device: socket.socket, host: socket.socket) -> None:
    device.shutdown(socket.SHUT_RDWR)

    assert "no answer to the hello" in str(attach_fails(host))


def test_a_device_that_is_silent_is_an_error_in_time(
    device: socket.socket, host: socket.socket
) -> None:
    assert str(attach_fails(host, 0.01)) == "no answer to the hello within 0.01 s"


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_a_welcome_with_another_number_of_descriptors_is_refused(
    device: socket.socket, host: socket.socket, count: int
) -> None:
    send_packet(device, WELCOME.pack(), [0] * count)

    assert f"{count} of 3 descriptors" in str(attach_fails(host))


def test_descriptors_lost_on_the_way_are_an_error(
    device: socket.socket, host: socket.socket
) -> None:
    send_packet(device, WELCOME.pack(), [0, 0, 0])

    with descriptor_limit(spare=1), pytest.raises(AttachError, match="RLIMIT_NOFILE"):
        attach(host, HELLO)


def test_an_answer_that_is_none_is_refused(device: socket.socket, host: socket.socket) -> None:
    send_packet(device, b"hello yourself", [0, 0])

    assert isinstance(attach_fails(host), ContractError)


def test_a_segment_that_could_shrink_is_refused(device: socket.socket, host: socket.socket) -> None:
    send_segment(device, create_memory("not sealed", PLAN.size))

    assert "F_SEAL_SHRINK" in str(attach_fails(host))


@pytest.mark.parametrize("size", [PLAN.size - 4096, PLAN.size + 4096])
def test_a_segment_of_another_size_is_refused(
    device: socket.socket, host: socket.socket, size: int
) -> None:
    send_segment(device, create_sealed("other size", size))

    assert f"{size:#x} bytes, expected" in str(attach_fails(host))


def test_a_segment_that_is_no_memory_is_refused(device: socket.socket, host: socket.socket) -> None:
    send_segment(device, os.eventfd(0))

    assert "no memory file" in str(attach_fails(host))


def test_a_segment_that_cannot_be_mapped_is_refused(
    device: socket.socket, host: socket.socket
) -> None:
    read_only = create_sealed("read only", PLAN.size)
    again = os.open(f"/proc/self/fd/{read_only}", os.O_RDONLY)
    os.close(read_only)
    send_segment(device, again)

    assert "cannot be mapped" in str(attach_fails(host))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"client_id": 8}, "the superblock tells"),
        ({"abi_minor": 9}, "the superblock tells"),
        ({"segment_size": 4096}, "superblock tells 0x1000 bytes"),
        ({"payload_offset": 0}, "overlaps"),
    ],
)
def test_a_superblock_that_contradicts_the_welcome_is_refused(
    device: socket.socket, host: socket.socket, changes: dict[str, int], text: str
) -> None:
    segment, descriptor = Segment.create(PLAN.size)
    write_segment(segment, AGREEMENT)
    block = Superblock.unpack(segment.view)
    assert isinstance(block, Superblock)
    segment.view[: block.SIZE] = msgspec.structs.replace(block, **changes).pack()
    segment.close()
    send_segment(device, descriptor)

    assert text in str(attach_fails(host))


def test_a_peer_that_cannot_be_watched_is_an_error(
    device: socket.socket, host: socket.socket
) -> None:
    segment, descriptor = Segment.create(PLAN.size)
    write_segment(segment, AGREEMENT)
    segment.close()
    send_segment(device, descriptor)

    with descriptor_limit(spare=3), pytest.raises(AttachError, match="cannot be watched"):
        attach(host, HELLO)


def test_nobody_listens(tmp_path: Path) -> None:
    before = descriptor_count()

    with pytest.raises(AttachError, match="no emulator answers"):
        connect(tmp_path / "nobody", "program")

    assert descriptor_count() == before


def test_a_machine_that_reorders_stores_has_no_shared_links(
    device: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_module, "ORDERS_STORES", False)
    before = descriptor_count()

    with pytest.raises(AttachError, match="need x86_64"):
        Attachment(device, PLAN.size)

    assert descriptor_count() == before


# The device's half


@pytest.mark.parametrize("spare", range(4))
def test_a_device_without_descriptors_refuses_and_leaves_nothing(
    device: socket.socket, spare: int
) -> None:
    before = descriptor_count()

    with descriptor_limit(spare), pytest.raises(OSError, match="Too many open files"):
        Attachment(device, PLAN.size)

    assert descriptor_count() == before


def test_a_client_that_hung_up_before_its_welcome_leaves_nothing(
    device: socket.socket, host: socket.socket
) -> None:
    before = descriptor_count()
    attachment = Attachment(device, PLAN.size)
    host.close()

    with pytest.raises(LinkLost):
        attachment.welcome(WELCOME)
    attachment.end.close()

    assert descriptor_count() == before - 2


def test_a_client_that_reads_nothing_gets_no_welcome(
    device: socket.socket, host: socket.socket
) -> None:
    before = descriptor_count()
    attachment = Attachment(device, PLAN.size)
    device.setblocking(False)
    fill(device)

    with pytest.raises(LinkLost, match="does not read"):
        attachment.welcome(WELCOME)
    attachment.end.close()

    assert descriptor_count() == before - 1


def fill(connection: socket.socket) -> None:
    """Send until the peer's queue is full."""
    while True:
        try:
            connection.send(bytes(4096))
        except BlockingIOError:
            return


def test_a_refused_client_is_told_and_nothing_is_left(
    device: socket.socket, host: socket.socket
) -> None:
    before = descriptor_count()
    attachment = Attachment(device, PLAN.size)

    attachment.refuse(Offer().refuse(HandshakeStatus.FULL))

    assert isinstance(attach_fails(host), Refused)
    assert descriptor_count() == before - 2


def test_a_client_is_refused_before_anything_is_made(
    device: socket.socket, host: socket.socket
) -> None:
    refuse(device, Offer().refuse(HandshakeStatus.PERMISSION))

    error = attach_fails(host)
    assert isinstance(error, Refused)
    assert error.status is HandshakeStatus.PERMISSION


def test_a_refusal_by_a_device_that_did_not_read_the_hello_is_understood(
    device: socket.socket, host: socket.socket
) -> None:
    send_packet(host, HELLO.pack())
    refuse(device, Offer().refuse(HandshakeStatus.PERMISSION))

    assert isinstance(attach_fails(host), Refused)


def test_refusing_a_client_that_has_gone_is_no_error(
    device: socket.socket, host: socket.socket
) -> None:
    host.close()

    refuse(device, Offer().refuse(HandshakeStatus.FULL))


def test_descriptors_that_come_with_a_hello_are_closed(
    device: socket.socket, host: socket.socket
) -> None:
    before = descriptor_count()
    send_packet(host, HELLO.pack(), [0, 0])

    assert receive_hello(device) == HELLO.pack()

    assert descriptor_count() == before


def test_a_first_packet_longer_than_any_hello_is_a_bad_hello(
    device: socket.socket, host: socket.socket
) -> None:
    send_packet(host, bytes(Hello.SIZE + 1), [0])

    assert receive_hello(device) == b""


def test_a_client_that_leaves_without_a_word_is_a_lost_link(
    device: socket.socket, host: socket.socket
) -> None:
    host.close()

    with pytest.raises(LinkLost):
        receive_hello(device)


def test_nothing_but_descriptors_crosses_the_socket_after_the_handshake(tmp_path: Path) -> None:
    with listen_socket(tmp_path / "emulator") as listener:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(tmp_path / "emulator"))
        send_packet(connection, HELLO.pack())
        end = accept_client(listener)
        welcome = receive_packet(connection, 64)

        with pytest.raises(BlockingIOError):
            connection.recv(1, socket.MSG_DONTWAIT)

        welcome.descriptors.close()
        connection.close()
        end.close()
