"""What both sides agree on, without a socket."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi.handshake import WELCOME_DESCRIPTORS, HandshakeStatus, Hello, Purpose, Welcome
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, Feature
from firmware.abi.registers import BootError, DeviceStatus, Phase
from firmware.link.errors import AttachError, ContractError, Refused
from firmware.link.handshake import (
    ALL_FEATURES,
    Agreement,
    Offer,
    examine,
    name_in,
    read_welcome,
    say_hello,
)

HELLO = say_hello("program", device_index=1, purpose=Purpose.OBSERVE)
NEWER = ABI_MINOR + 3
OFFER = Offer(device_count=2, abi_minor=NEWER)
"""Of a device that is newer than the driver."""


def agreed(hello: Hello, offer: Offer = OFFER) -> Agreement:
    answer = examine(hello.pack(), offer)
    assert isinstance(answer, Agreement)
    return answer


def refused(packet: bytes, offer: Offer = OFFER) -> Welcome:
    answer = examine(packet, offer)
    assert isinstance(answer, Welcome)
    return answer


# The device's half


@pytest.mark.parametrize(("theirs", "ours", "expected"), [(0, 3, 0), (3, 3, 3), (9, 3, 3)])
def test_the_lower_minor_version_is_agreed(theirs: int, ours: int, expected: int) -> None:
    hello = msgspec.structs.replace(HELLO, abi_minor=theirs)

    assert agreed(hello, Offer(device_count=2, abi_minor=ours)).abi_minor == expected


def test_features_that_both_have_are_agreed() -> None:
    hello = say_hello("program", features=Feature.EVENT_INDEX | Feature.TIMESTAMPS)
    offer = Offer(features=Feature.EVENT_INDEX | Feature.IPC_RANGES)

    assert agreed(hello, offer).features == Feature.EVENT_INDEX


def test_features_of_a_later_minor_version_are_not_agreed_and_no_error() -> None:
    packet = bytearray(HELLO.pack())
    packet[16:24] = (1 << 63 | Feature.EVENT_INDEX).to_bytes(8, "little")

    answer = examine(bytes(packet), OFFER)

    assert isinstance(answer, Agreement)
    assert answer.features == Feature.EVENT_INDEX


def test_another_major_version_is_refused_whatever_else_the_hello_says() -> None:
    packet = bytearray(HELLO.pack())
    packet[8:10] = (ABI_MAJOR + 1).to_bytes(2, "little")
    packet[64:] = b"\xff" * 64

    answer = refused(bytes(packet))

    assert answer.status is HandshakeStatus.VERSION
    assert answer.detail == ABI_MAJOR + 1
    assert (answer.abi_major, answer.abi_minor) == (ABI_MAJOR, NEWER)


def test_a_device_that_is_not_there_is_refused() -> None:
    answer = refused(msgspec.structs.replace(HELLO, device_index=2).pack())

    assert answer.status is HandshakeStatus.NO_DEVICE
    assert (answer.detail, answer.device_count) == (2, 2)


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        HELLO.pack()[:-1],
        HELLO.pack() + b"\0",
        b"\0" * Hello.SIZE,
        HELLO.pack()[:24] + b"\x09" + HELLO.pack()[25:],
        HELLO.pack()[:-1] + b"\1",
    ],
    ids=["nothing", "http", "short", "long", "zeros", "purpose", "reserved"],
)
def test_a_bad_hello_is_refused(packet: bytes) -> None:
    answer = refused(packet)

    assert answer.status is HandshakeStatus.BAD_HELLO
    assert answer.detail == len(packet)


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(packet: bytes) -> None:
    answer = examine(packet, OFFER)

    assert isinstance(answer, Agreement | Welcome)


@given(st.binary(min_size=32, max_size=32))
def test_any_name_can_be_shown(name: bytes) -> None:
    assert name_in(msgspec.structs.replace(HELLO, name=name)).isprintable()


@pytest.mark.parametrize(
    ("name", "shown"), [("short", "short"), ("x" * 40, "x" * 32), ("ä" * 20, "ä" * 16), ("", "")]
)
def test_a_long_name_is_cut_between_characters(name: str, shown: str) -> None:
    assert name_in(say_hello(name)) == shown


def test_a_name_with_control_characters_is_made_harmless() -> None:
    assert name_in(say_hello("a\x1b[31mb\n")) == "a?[31mb?"


# The driver's half


def test_a_welcome_says_what_was_agreed() -> None:
    agreement = agreed(HELLO)

    welcome = read_welcome(agreement.welcome(8192, 5).pack(), HELLO, WELCOME_DESCRIPTORS)

    assert (welcome.segment_size, welcome.client_id, welcome.device_count) == (8192, 5, 2)
    assert welcome.features == ALL_FEATURES
    assert welcome.abi_minor == HELLO.abi_minor


@pytest.mark.parametrize(
    ("status", "detail", "text"),
    [
        (HandshakeStatus.BAD_HELLO, 7, r"did not understand the hello \(7 bytes\)"),
        (HandshakeStatus.VERSION, 1, rf"speaks ABI 1\.{NEWER}, this driver 1\.{ABI_MINOR}"),
        (HandshakeStatus.NO_DEVICE, 1, "there is no device 1; the emulator has 2"),
        (
            HandshakeStatus.NOT_RUNNING,
            DeviceStatus.build(phase=Phase.BOOT, boot_error=BootError.NO_NOTE),
            "not running: .*phase=BOOT boot_error=NO_NOTE",
        ),
        (HandshakeStatus.FULL, 64, "no more clients"),
        (HandshakeStatus.PERMISSION, 0, "another user"),
    ],
)
def test_a_refusal_is_an_error_that_says_why(
    status: HandshakeStatus, detail: int, text: str
) -> None:
    packet = OFFER.refuse(status, detail).pack()

    with pytest.raises(Refused, match=text) as caught:
        read_welcome(packet, HELLO, 0)

    assert caught.value.status is status
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"abi_major": 2}, rf"agreed to ABI 2\.{ABI_MINOR}"),
        (
            {"abi_minor": ABI_MINOR + 1},
            rf"agreed to ABI 1\.{ABI_MINOR + 1}, this driver offered 1\.{ABI_MINOR}",
        ),
    ],
)
def test_a_welcome_that_agrees_to_more_than_was_offered_is_refused(
    changes: dict[str, int], text: str
) -> None:
    welcome = msgspec.structs.replace(agreed(HELLO).welcome(8192, 5), **changes)

    with pytest.raises(ContractError, match=text):
        read_welcome(welcome.pack(), HELLO, WELCOME_DESCRIPTORS)


def test_a_welcome_with_features_that_were_not_wanted_is_refused() -> None:
    hello = say_hello("program", device_index=1, features=Feature.EVENT_INDEX)
    welcome = agreed(HELLO).welcome(8192, 5)

    with pytest.raises(ContractError, match="agreed to features"):
        read_welcome(welcome.pack(), hello, WELCOME_DESCRIPTORS)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_welcome_without_its_descriptors_is_refused(count: int) -> None:
    welcome = agreed(HELLO).welcome(8192, 5)

    with pytest.raises(AttachError, match=f"{count} of 3 descriptors"):
        read_welcome(welcome.pack(), HELLO, count)


@pytest.mark.parametrize("packet", [b"", b"\0" * 64, b"\xff" * 64, b"short"])
def test_an_answer_that_is_no_welcome_is_refused(packet: bytes) -> None:
    with pytest.raises(ContractError, match=f"answer of {len(packet)} bytes to the handshake"):
        read_welcome(packet, HELLO, 0)
