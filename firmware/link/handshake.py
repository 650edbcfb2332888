"""The handshake: what both sides say, without a socket.

The driver's `Hello` names its ABI version and the features that it wants; the device's answer names
what both speak: the same major version, the lower minor version, the features that both have.
Features that one side does not know are not an error, they are not agreed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firmware.abi.handshake import (
    WELCOME_DESCRIPTORS,
    HandshakeStatus,
    Hello,
    Purpose,
    Welcome,
    agree,
)
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, Feature
from firmware.abi.registers import DeviceStatus
from firmware.link.errors import AttachError, ContractError, Refused

ALL_FEATURES: Final = Feature(sum(Feature))
_MAGIC: Final = slice(0, 8)
_MAJOR: Final = slice(8, 10)
_FEATURES: Final = slice(16, 24)
_MAGIC_BYTES: Final = Welcome(
    status=HandshakeStatus.OK,
    abi_major=0,
    abi_minor=0,
    features=Feature(0),
    segment_size=0,
    client_id=0,
    device_count=0,
    detail=0,
).pack()[_MAGIC]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an emulator offers to whoever says hello."""

    device_count: int = 1
    abi_major: int = ABI_MAJOR
    abi_minor: int = ABI_MINOR
    features: Feature = ALL_FEATURES

    def refuse(self, status: HandshakeStatus, detail: int = 0) -> Welcome:
        """Return the answer that refuses a client."""
        return Welcome(
            status=status,
            abi_major=self.abi_major,
            abi_minor=self.abi_minor,
            features=self.features,
            segment_size=0,
            client_id=0,
            device_count=self.device_count,
            detail=detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a client and an emulator agreed on."""

    offer: Offer
    hello: Hello
    abi_minor: int
    features: Feature

    def welcome(self, segment_size: int, client_id: int) -> Welcome:
        """Return the answer that attaches the client."""
        return Welcome(
            status=HandshakeStatus.OK,
            abi_major=self.offer.abi_major,
            abi_minor=self.abi_minor,
            features=self.features,
            segment_size=segment_size,
            client_id=client_id,
            device_count=self.offer.device_count,
            detail=0,
        )


def examine(packet: bytes, offer: Offer) -> Agreement | Welcome:
    """Return what is agreed with the sender of a first packet, or the answer that refuses it."""
    # The major version is judged before the rest: only with the same one is the rest understood.
    major = int.from_bytes(packet[_MAJOR], "little")
    if len(packet) == Hello.SIZE and packet[_MAGIC] == _MAGIC_BYTES and major != offer.abi_major:
        return offer.refuse(HandshakeStatus.VERSION, major)
    hello = Hello.unpack(_with_known_features(packet))
    if len(packet) != Hello.SIZE or not isinstance(hello, Hello):
        return offer.refuse(HandshakeStatus.BAD_HELLO, len(packet))
    if hello.device_index >= offer.device_count:
        return offer.refuse(HandshakeStatus.NO_DEVICE, hello.device_index)
    return Agreement(
        offer=offer,
        hello=hello,
        abi_minor=agree(hello.abi_minor, offer.abi_minor),
        features=hello.features & offer.features,
    )


def _with_known_features(packet: bytes) -> bytes:
    """Return the packet without the features of a later minor version than ours."""
    known = int.from_bytes(packet[_FEATURES], "little") & ALL_FEATURES
    return packet[: _FEATURES.start] + known.to_bytes(8, "little") + packet[_FEATURES.stop :]


def say_hello(
    name: str,
    *,
    device_index: int = 0,
    purpose: Purpose = Purpose.WORK,
    features: Feature = ALL_FEATURES,
) -> Hello:
    """Return a client's first packet; a name longer than 32 bytes is cut between characters."""
    cut = name.encode()[:32].decode(errors="ignore").encode()
    return Hello(
        abi_major=ABI_MAJOR,
        abi_minor=ABI_MINOR,
        device_index=device_index,
        features=features,
        purpose=purpose,
        name=cut.ljust(32, b"\0"),
    )


def name_in(hello: Hello) -> str:
    """Return the name that a client gave itself, whatever bytes it sent."""
    text = hello.name.rstrip(b"\0").decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def read_welcome(
    packet: bytes, hello: Hello, descriptor_count: int, expected: int = WELCOME_DESCRIPTORS
) -> Welcome:
    """Return the device's answer when it attaches the client.

    Args:
        packet: the answer.
        hello: what was said.
        descriptor_count: descriptors that came with it.
        expected: as many have to come.

    Raises:
        Refused: the device says no.
        ContractError: the answer is malformed or contradicts itself.
        AttachError: the descriptors are not those of a welcome.
    """
    welcome = Welcome.unpack(packet)
    if len(packet) != Welcome.SIZE or not isinstance(welcome, Welcome):
        raise ContractError(f"answer of {len(packet)} bytes to the handshake: {welcome}")
    if welcome.status is not HandshakeStatus.OK:
        raise Refused(welcome.status, welcome.detail, explain(welcome, hello))
    if welcome.abi_major != hello.abi_major or welcome.abi_minor > hello.abi_minor:
        raise ContractError(
            f"the device agreed to ABI {welcome.abi_major}.{welcome.abi_minor}, this driver"
            f" offered {hello.abi_major}.{hello.abi_minor}"
        )
    if welcome.features & ~hello.features:
        raise ContractError(
            f"the device agreed to features {welcome.features:#x}, this driver offered"
            f" {hello.features:#x}"
        )
    if descriptor_count != expected:
        raise AttachError(f"{descriptor_count} of {expected} descriptors came with the welcome")
    return welcome


def explain(welcome: Welcome, hello: Hello) -> str:
    """Return a refusal in words."""
    match welcome.status:
        case HandshakeStatus.VERSION:
            return (
                f"the device speaks ABI {welcome.abi_major}.{welcome.abi_minor}, this driver"
                f" {hello.abi_major}.{hello.abi_minor}: the major versions must be equal"
            )
        case HandshakeStatus.NO_DEVICE:
            return (
                f"there is no device {hello.device_index}; the emulator has"
                f" {welcome.device_count}, counted from 0"
            )
        case HandshakeStatus.NOT_RUNNING:
            return f"the device is not running: {DeviceStatus(welcome.detail).describe()}"
        case HandshakeStatus.FULL if not welcome.detail:
            return "the emulator has no descriptor, memory or mapping left for one more client"
        case HandshakeStatus.FULL:
            return f"the device takes no more clients (limit or status {welcome.detail})"
        case HandshakeStatus.PERMISSION:
            return "the emulator belongs to another user"
        case _:
            return f"the device did not understand the hello ({welcome.detail} bytes)"
