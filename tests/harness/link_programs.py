"""What the child processes of the link's tests do."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from firmware.abi.ids import PAGE_SIZE
from firmware.abi.rings import CONSUMER_SLEEPERS, CONTROL_QUEUE, TAIL, U32_MASK
from firmware.link.client import attach, connect
from firmware.link.errors import AttachError
from firmware.link.handshake import say_hello
from firmware.link.linux import (
    create_memory,
    map_at,
    map_file,
    peer_credentials,
    reserve,
    view_at,
)
from firmware.link.processwaiter import statistics_of
from firmware.link.rings import Consumer, Producer
from firmware.link.runtime_dir import connect_socket, listen_socket
from firmware.link.waiting import FutexWaiter, WordWait
from firmware.link.words import Words
from tests.harness.children import hear, run_function, say
from tests.harness.echo_device import EchoDevice
from tests.harness.link_pairs import welcome_early

if TYPE_CHECKING:
    from firmware.link.ends import HostEnd

NOBODY = 65534
LOW, HIGH = 0x1111_1111_2222_2222, 0xEEEE_EEEE_DDDD_DDDD


class EchoClient:
    """Sends control commands and waits for their echo."""

    def __init__(self, end: HostEnd) -> None:
        block = end.superblock
        self.end = end
        self.commands = Producer(end.segment.view, block.control_ring_offset)
        self.replies = Consumer(end.segment.view, block.reply_ring_offset)

    def send(self, entry: bytes) -> None:
        self.commands.put(entry)
        old, new = self.commands.publish()
        self.end.doorbells.ring(CONTROL_QUEUE, self.commands.header, old, new)

    def receive(self) -> bytes:
        ring = self.replies.header
        target = (self.replies.head + 1) & U32_MASK
        self.end.waiter.wait(WordWait(ring + TAIL, target, ring + CONSUMER_SLEEPERS, wide=False))
        assert self.replies.available() == 1
        entry = self.replies.fetch()
        self.replies.publish_head()
        return entry


def hammer(descriptor: str) -> None:
    """Store two values in turn into a u64 and a u32 until killed."""
    words = Words(map_file(int(descriptor), 4096).view)
    u32, u64 = words.u32, words.u64
    u64[0], u32[16] = LOW, LOW & U32_MASK
    say("hammering")
    while True:
        u64[0] = HIGH
        u32[16] = HIGH & U32_MASK
        u64[0] = LOW
        u32[16] = LOW & U32_MASK


def echo_client(path: str, count: str) -> None:
    """Make round trips and report how the waits went."""
    client = EchoClient(connect(Path(path), "echo client"))
    for number in range(int(count)):
        entry = number.to_bytes(8, "little") * 8
        client.send(entry)
        assert client.receive() == entry
    waiter = client.end.waiter
    if isinstance(waiter, FutexWaiter):
        waiter.check()
    statistics = statistics_of(waiter)
    kind = "plain" if isinstance(waiter, FutexWaiter) else "compiled"
    say(f"{kind} {statistics.spins} {statistics.sleeps} {statistics.sleepers}")
    client.end.close()


def silent_client(path: str) -> None:
    """Wait for a reply to a command that was never sent."""
    client = EchoClient(connect(Path(path), "silent client"))
    say("waiting")
    client.receive()


def client_with_helper(path: str) -> None:
    """Attach, and leave a forked helper behind that keeps the socket."""
    end = connect(Path(path), "client with helper")
    helper = os.fork()
    if helper == 0:
        hear()
        os._exit(0)
    say(helper)
    signal.pause()
    end.close()


def client_that_closes(path: str) -> None:
    """Attach, close the link and live on."""
    end = connect(Path(path), "client that closes")
    hear()
    end.close()
    say("closed")
    hear()


def mortal_device(path: str) -> None:
    """Attach one client, then die by SIGKILL at its first command."""
    listener = listen_socket(Path(path))
    say("listening")
    connection, _ = listener.accept()
    device = EchoDevice(welcome_early(connection, say_hello("mortal")))
    while not device.commands.available():
        device.spin()
    os.kill(os.getpid(), signal.SIGKILL)


def stranger(path: str) -> None:
    """Connect as another user."""
    os.setuid(NOBODY)
    connection = connect_socket(Path(path))
    say(peer_credentials(connection).uid)
    hear()


def suspicious(descriptor: str) -> None:
    """Attach over a socket whose other end is another user's."""
    os.setuid(NOBODY)
    connection = socket.socket(fileno=int(descriptor))
    try:
        attach(connection, say_hello("suspicious"))
    except AttachError as error:
        say(error)


def memory_owner() -> None:
    """Hold a page with known bytes between two holes; tell where, and what stands there later."""
    start = reserve(4 * PAGE_SIZE)
    descriptor = create_memory("page", PAGE_SIZE)
    map_at(start + PAGE_SIZE, PAGE_SIZE, descriptor)
    page = view_at(start + PAGE_SIZE, PAGE_SIZE)
    page[:8] = b"original"
    say(start)
    hear()
    say(bytes(page[:8]).decode())
    hear()


PROGRAMS = {
    program.__name__: program
    for program in (
        hammer,
        echo_client,
        silent_client,
        client_with_helper,
        client_that_closes,
        mortal_device,
        stranger,
        suspicious,
        memory_owner,
    )
}

if __name__ == "__main__":
    run_function(PROGRAMS)
