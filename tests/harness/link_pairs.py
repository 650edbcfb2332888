"""Two ends of a link in one process: shared memory over a socket pair, or the in-process twin."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from firmware.abi.boot import FirmwareLimits
from firmware.abi.registers import DEVICE_ASLEEP, SPIN_HINT, STATUS, DeviceStatus, Phase
from firmware.abi.segment import SUPERBLOCK_OFFSET
from firmware.link.client import attach
from firmware.link.handshake import Agreement, Offer, examine, say_hello
from firmware.link.inprocess import LocalLink
from firmware.link.layout import SegmentPlan
from firmware.link.ringshape import format_ring
from firmware.link.server import Attachment, receive_hello

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from firmware.abi.handshake import Hello
    from firmware.link.ends import DeviceEnd, HostEnd
    from firmware.link.segment import Segment
    from firmware.link.words import Words

LIMITS: Final = FirmwareLimits(
    control_ring_entries=16,
    fault_ring_entries=8,
    min_ring_entries=4,
    max_ring_entries=64,
    max_queues=3,
    max_clients=2,
    max_spaces=2,
    max_objects=16,
    fence_count=8,
    payload_size=8192,
    ring_pool_size=16384,
)
PLAN: Final = SegmentPlan.of(LIMITS)
CLIENT_ID: Final = 7
EMULATOR_ID: Final = 0x1234_5678_9ABC_DEF0


@dataclass
class LinkPair:
    """Both ends, and the step by which a single thread lets the device work."""

    device: DeviceEnd
    host: HostEnd
    steps: list[Callable[[], None]] = field(default_factory=list)
    """What the device still does, one item for each step of a waiting driver."""

    def step(self) -> bool:
        """Let the device do its next item."""
        if not self.steps:
            return False
        self.steps.pop(0)()
        return True


def write_segment(segment: Segment, agreement: Agreement, plan: SegmentPlan = PLAN) -> None:
    """Write superblock, registers and ring headers as a device does."""
    block = plan.superblock(
        abi_minor=agreement.abi_minor,
        features=agreement.features,
        device_index=agreement.hello.device_index,
        emulator_id=EMULATOR_ID,
        client_id=CLIENT_ID,
    )
    view = segment.view
    view[SUPERBLOCK_OFFSET : SUPERBLOCK_OFFSET + block.SIZE] = block.pack()
    segment.words.store32(
        plan.registers_offset + STATUS.offset, DeviceStatus.build(phase=Phase.RUNNING)
    )
    segment.words.store32(plan.registers_offset + SPIN_HINT.offset, 1)
    format_ring(view, plan.control_ring_offset, plan.control_ring)
    format_ring(view, plan.reply_ring_offset, plan.reply_ring)
    format_ring(view, plan.fault_ring_offset, plan.fault_ring)


def store_asleep(words: Words, *, asleep: bool) -> None:
    """Say to the client whether the device needs the bell."""
    words.u32[(PLAN.registers_offset + DEVICE_ASLEEP.offset) >> 2] = asleep


def agree_on(packet: bytes, offer: Offer | None = None) -> Agreement:
    """Return what a good hello agrees on."""
    agreement = examine(packet, offer or Offer())
    assert isinstance(agreement, Agreement), agreement
    return agreement


def socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def welcome_early(connection: socket.socket, hello: Hello) -> DeviceEnd:
    """Answer a hello before it is sent, so that one thread can play both sides."""
    agreement = agree_on(hello.pack())
    attachment = Attachment(connection, PLAN.size)
    write_segment(attachment.end.segment, agreement)
    return attachment.welcome(agreement.welcome(PLAN.size, CLIENT_ID))


def accept_client(listener: socket.socket, *, spin_hint: int = 1) -> DeviceEnd:
    """Attach the next client as a device does."""
    connection, _ = listener.accept()
    agreement = agree_on(receive_hello(connection))
    attachment = Attachment(connection, PLAN.size)
    write_segment(attachment.end.segment, agreement)
    attachment.end.segment.words.store32(PLAN.registers_offset + SPIN_HINT.offset, spin_hint)
    return attachment.welcome(agreement.welcome(PLAN.size, CLIENT_ID))


@contextmanager
def shared_pair() -> Generator[LinkPair]:
    """Give both ends of a shared link; the segment is mapped twice."""
    ours, theirs = socket_pair()
    hello = say_hello("pair")
    device = welcome_early(ours, hello)
    host = attach(theirs, hello)
    assert receive_hello(ours) == hello.pack()
    try:
        yield LinkPair(device, host)
    finally:
        host.close()
        device.close()


@contextmanager
def in_process_pair() -> Generator[LinkPair]:
    """Give both ends of an in-process link."""
    hello = say_hello("pair")
    agreement = agree_on(hello.pack())
    link = LocalLink(PLAN.size)
    write_segment(link.end.segment, agreement)
    steps: list[Callable[[], None]] = []

    def step() -> bool:
        return pair.step()

    host = link.welcome(agreement.welcome(PLAN.size, CLIENT_ID), hello, step)
    pair = LinkPair(link.end, host, steps)
    try:
        yield pair
    finally:
        host.close()
        link.close()
