"""Records that cross the socket: the handshake, and the notes that descriptors travel with.

The client sends `Hello`; the device answers `Welcome`, with three descriptors when the status is
OK: segment, doorbell eventfd, interrupt socket. After that the socket carries `DescriptorNote`
messages with the descriptors of one request, nothing else. One message is one packet.
"""

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from firmware.abi._record import Buffer, Record, constant, open_flags, wire
from firmware.abi._wire import U16, U32, U64, raw
from firmware.abi.ids import Feature

HELLO_MAGIC: Final = 0x4F4C_4C45_5A4D_4531
"""The bytes `1EMZELLO`."""
WELCOME_DESCRIPTORS: Final = 3
"""Segment, doorbell eventfd, interrupt socket."""
MAX_DESCRIPTORS: Final = 16
"""Most descriptors that one message may carry."""


class HandshakeStatus(IntEnum):
    """Answer to a client that wants to attach."""

    OK = 0
    """Attached."""
    BAD_HELLO = 1
    """The first packet is not a `Hello`."""
    VERSION = 2
    """The ABI major versions differ."""
    NO_DEVICE = 3
    """There is no device with this index."""
    NOT_RUNNING = 4
    """The device has not booted, drains or halted; `detail` is its STATUS register."""
    FULL = 5
    """No more clients, descriptors or memory."""
    PERMISSION = 6
    """The client is another user's."""


class Purpose(IntEnum):
    """Why a client attaches."""

    WORK = 0
    """Makes spaces, objects and queues."""
    OBSERVE = 1
    """Only asks for properties and statistics; is not counted as a client."""
    PROGRAM = 2
    """A C program: the driver runs in the emulator and is called over a channel, whose descriptors
    (channel, doorbell eventfd, one segment for each device) come with the welcome."""
    FAULTS = 3
    """Adds rules of fault injection and asks what became of them: after the welcome, which brings
    no descriptors, the socket carries lines of JSON. The device does not have to run for it."""


class Hello(Record, size=128):
    """First packet of a client."""

    magic: int = constant(U64, HELLO_MAGIC, "The bytes `1EMZELLO`.")
    abi_major: int = wire(U16, "ABI major version of the driver.")
    abi_minor: int = wire(U16, "Highest ABI minor version that it speaks.")
    device_index: int = wire(U32, "Device to attach to.")
    features: Feature = open_flags(U64, "Features that it wants.", flags=Feature)
    purpose: Purpose = wire(U32, "Why it attaches.", kinds=Purpose)
    name: bytes = wire(raw(32), "Name of the program, UTF-8, zero padded.", at=0x20)


class Welcome(Record, size=64):
    """The device's answer."""

    magic: int = constant(U64, HELLO_MAGIC, "The bytes `1EMZELLO`.")
    status: HandshakeStatus = wire(U32, "Whether the client is attached.", kinds=HandshakeStatus)
    abi_major: int = wire(U16, "ABI major version of the device.")
    abi_minor: int = wire(U16, "Agreed minor version, or the device's when refused.")
    features: Feature = wire(U64, "Agreed features.", flags=Feature)
    segment_size: int = wire(U64, "Size of the segment in bytes.")
    client_id: int = wire(U64, "Number of this client.")
    device_count: int = wire(U32, "Devices of the emulator.")
    detail: int = wire(U32, "A number that explains a refusal.")


class DescriptorNote(Record, size=32):
    """Names the request whose descriptors ride on this packet."""

    request: int = wire(U32, "Request number of the control command.")
    count: int = wire(U32, "Descriptors on the packet.")
    object_id: int = wire(U64, "Object that they belong to, where the device sends them.")
    size_bytes: int = wire(U64, "Size of that memory.")


class Version(NamedTuple):
    """ABI version of one side."""

    major: int
    minor: int


_HELLO_PREFIX: Final = struct.Struct("<QHH").unpack_from


def hello_version(packet: Buffer) -> Version | None:
    """Return the version that a `Hello` of any major version tells, or None for other packets.

    Magic and versions stay where they are for ever; the rest of `Hello` is that of one major
    version. So a device can answer VERSION to a driver whose `Hello` it cannot decode.
    """
    try:
        magic, major, minor = _HELLO_PREFIX(packet)
    except struct.error:
        return None
    return Version(major, minor) if magic == HELLO_MAGIC else None


def agree(driver_minor: int, device_minor: int) -> int:
    """Return the minor version that both speak (major versions are equal)."""
    return min(driver_minor, device_minor)


def agree_features(wanted: Feature, offered: Feature) -> Feature:
    """Return the features that both sides use: those that both have."""
    return wanted & offered
