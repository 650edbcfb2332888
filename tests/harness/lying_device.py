"""An emulator that is none: it attaches whoever comes and answers what a test wants."""

from __future__ import annotations

import contextlib
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from device.core.spec import DeviceSpec
from firmware.abi.control import ControlCommand, decode_control
from firmware.abi.registers import STATUS, Phase
from firmware.abi.rings import TAIL
from firmware.image import REFERENCE_LIMITS
from firmware.link.handshake import Agreement, Offer, examine
from firmware.link.layout import SegmentPlan
from firmware.link.linux import futex_wake
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import format_ring
from firmware.link.runtime_dir import listen_socket
from firmware.link.server import Attachment, receive_hello

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from socket import socket

    from firmware.link.ends import DeviceEnd

    Answer = Callable[[ControlCommand, memoryview], bytes | None]
    """Stores into the payload area and returns a reply, or None for silence."""

LIMITS: Final = msgspec.structs.replace(
    REFERENCE_LIMITS, max_ring_entries=64, payload_size=1 << 20, ring_pool_size=1 << 16
)
PLAN: Final = SegmentPlan.of(LIMITS)
TICK_SECONDS: Final = 0.001


@contextmanager
def lying_device(path: Path, answer: Answer) -> Generator[None]:
    """Listen at `path` in a thread until the end of the block; one client at a time."""
    done = threading.Event()
    listener = listen_socket(path)
    listener.settimeout(0.05)

    def listen() -> None:
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                _serve(_attach(connection), answer, done)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        listener.close()


def _attach(connection: socket) -> DeviceEnd:
    connection.settimeout(10)
    agreement = examine(receive_hello(connection), Offer())
    assert isinstance(agreement, Agreement)
    attachment = Attachment(connection, PLAN.size)
    words = attachment.end.segment.words
    block = PLAN.superblock(
        abi_minor=agreement.abi_minor,
        features=agreement.features,
        device_index=0,
        emulator_id=1,
        client_id=1,
    )
    words.u8[: block.SIZE] = block.pack()
    spec = DeviceSpec().to_block()
    words.u8[PLAN.spec_offset : PLAN.spec_offset + spec.SIZE] = spec.pack()
    format_ring(words.u8, PLAN.control_ring_offset, PLAN.control_ring)
    format_ring(words.u8, PLAN.reply_ring_offset, PLAN.reply_ring)
    format_ring(words.u8, PLAN.fault_ring_offset, PLAN.fault_ring)
    words.store32(PLAN.registers_offset + STATUS.offset, Phase.RUNNING)
    return attachment.welcome(agreement.welcome(PLAN.size, 1))


def _serve(end: DeviceEnd, answer: Answer, done: threading.Event) -> None:
    words = end.segment.words
    payload = words.u8[PLAN.payload_offset : PLAN.payload_offset + PLAN.payload_size]
    commands = Consumer(words, PLAN.control_ring_offset, PLAN.control_ring)
    replies = Producer(words, PLAN.reply_ring_offset, PLAN.reply_ring)
    while not done.wait(TICK_SECONDS) and not end.peer.lost():
        for _ in range(commands.available()):
            command = decode_control(commands.fetch())
            commands.publish_head()
            assert isinstance(command, ControlCommand)
            reply = answer(command, payload)
            if reply is not None:
                replies.put(reply)
                replies.publish()
                futex_wake(end.segment.address + PLAN.reply_ring_offset + TAIL)
    payload.release()
    end.close()
