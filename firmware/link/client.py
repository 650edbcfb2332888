"""The driver's half of a shared link: connect, say hello, map what comes back."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from firmware.abi.handshake import WELCOME_DESCRIPTORS, Purpose, Welcome
from firmware.abi.registers import SPIN_HINT
from firmware.link.bells import EventfdBell, SocketBell
from firmware.link.carrier import SocketCarrier
from firmware.link.compiled import compiled_already
from firmware.link.descriptors import Descriptors, receive_packet, send_packet
from firmware.link.ends import HostEnd, check_segment
from firmware.link.errors import AttachError, LinkLost
from firmware.link.handshake import ALL_FEATURES, read_welcome, say_hello
from firmware.link.linux import peer_credentials
from firmware.link.notify import Doorbells
from firmware.link.peer import Liveness, ProcessPeer
from firmware.link.processwaiter import ALWAYS, process_waiter
from firmware.link.runtime_dir import connect_socket
from firmware.link.segment import Segment
from firmware.link.vigil import Vigil

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from firmware.abi.handshake import Hello
    from firmware.abi.ids import Feature
    from firmware.link.descriptors import Packet

PATIENCE_SECONDS: Final = 10.0
"""How long a device may take to answer a hello, or to read what it is sent."""


def connect(
    path: Path,
    name: str,
    *,
    device_index: int = 0,
    purpose: Purpose = Purpose.WORK,
    features: Feature = ALL_FEATURES,
    patience_seconds: float = PATIENCE_SECONDS,
) -> HostEnd:
    """Attach to a device of the emulator that listens at `path`.

    Args:
        path: the emulator's socket.
        name: name of this program, for people.
        device_index: which device.
        purpose: why.
        features: features that the driver wants to use.
        patience_seconds: how long to wait for the answer.

    Raises:
        Refused: the device says no.
        AttachError: nobody listens there, the emulator is another user's, does not answer, or what
            it sent cannot be mapped.
        ContractError: the answer breaks the contract.
        LinkLost: the emulator hung up.

    Whatever is raised, nothing is left open.
    """
    hello = say_hello(name, device_index=device_index, purpose=purpose, features=features)
    return attach(connect_socket(path), hello, patience_seconds=patience_seconds)


def attach(
    connection: socket.socket, hello: Hello, *, patience_seconds: float = PATIENCE_SECONDS
) -> HostEnd:
    """Say hello on a connected socket, which belongs to the link from now on (see `connect`)."""
    end, segment_file = _attach(connection, hello, patience_seconds, ())
    os.close(segment_file)
    return end


def attach_for(program: socket.socket, path: Path, hello: Hello) -> tuple[HostEnd, int]:
    """Attach to a device for the program at the other end of a socket, whose pages are meant.

    Returns:
        The end, and a descriptor of its segment, for the program.

    Raises:
        As `connect`.
    """
    return _attach(connect_socket(path), hello, PATIENCE_SECONDS, (program.fileno(),))


def open_talk(
    path: Path, name: str, *, patience_seconds: float = PATIENCE_SECONDS
) -> socket.socket:
    """Return a socket over which the emulator at `path` is told rules of fault injection.

    It carries lines (see `firmware.link.lines`) and waits for ever; it is the caller's.

    Raises:
        As `connect`.
    """
    connection = connect_socket(path)
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        _check_owner(connection)
        hello = say_hello(name, purpose=Purpose.FAULTS)
        _, descriptors = _exchange(connection, hello, patience_seconds, (), expected=0)
        descriptors.close()
        undo.pop_all()
    return connection


def _check_owner(connection: socket.socket) -> None:
    """Say whether the emulator belongs to this process's user.

    Raises:
        AttachError: it does not.
    """
    owner = peer_credentials(connection).uid
    if owner != os.geteuid():
        raise AttachError(
            f"the emulator belongs to user {owner}, this process to user {os.geteuid()}"
        )


def _attach(
    connection: socket.socket, hello: Hello, patience_seconds: float, carried: tuple[int, ...]
) -> tuple[HostEnd, int]:
    """Return the end, and the descriptor of its segment, which is the caller's."""
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        _check_owner(connection)
        welcome, descriptors = _exchange(connection, hello, patience_seconds, carried)
        undo.callback(descriptors.close)
        segment = Segment.adopt(descriptors.peek(), welcome.segment_size)
        undo.callback(segment.close)
        superblock = check_segment(segment, welcome)
        try:
            peer = ProcessPeer(connection)
        except OSError as error:
            raise AttachError(f"the emulator cannot be watched: {error}") from error
        segment_file = descriptors.take()
        undo.callback(os.close, segment_file)
        doorbell = EventfdBell(descriptors.take())
        undo.callback(doorbell.close)
        try:
            interrupt = SocketBell(descriptors.peek())
        except OSError as error:
            raise AttachError(f"the interrupt that came with the welcome: {error}") from error
        descriptors.take()
        undo.pop_all()
    words = segment.words
    liveness = Liveness(words, superblock, peer)
    module = compiled_already()
    ringer = None if module is None else module.Ringer
    doorbells = Doorbells(words, superblock, doorbell, ringer=ringer)
    vigil = Vigil(liveness.check, doorbells.poke)
    end = HostEnd(
        welcome=welcome,
        superblock=superblock,
        segment=segment,
        doorbell=doorbell,
        interrupt=interrupt,
        carrier=SocketCarrier(connection, patience_seconds),
        peer=peer,
        liveness=liveness,
        waiter=process_waiter(segment, vigil, superblock.registers_offset + SPIN_HINT.offset),
        vigil=vigil,
        doorbells=doorbells,
        # Who signals may be any process, busy or not: whether spinning pays is only seen by it.
        waiter_of=lambda slots: process_waiter(slots, vigil, ALWAYS, shared=True),
    )
    return end, segment_file


def _exchange(
    connection: socket.socket,
    hello: Hello,
    patience_seconds: float,
    carried: tuple[int, ...],
    *,
    expected: int = WELCOME_DESCRIPTORS,
) -> tuple[Welcome, Descriptors]:
    """Say hello and return the answer of a device that attaches us, with its descriptors."""
    connection.settimeout(patience_seconds)
    try:
        # A device that refuses before it listens has closed its end by now; its answer is there.
        with contextlib.suppress(LinkLost):
            send_packet(connection, hello.pack(), carried)
        packet = _receive_answer(connection)
    except TimeoutError as error:
        raise AttachError(f"no answer to the hello within {patience_seconds} s") from error
    except LinkLost as error:
        raise AttachError(f"no answer to the hello: {error}") from error
    connection.settimeout(None)
    with contextlib.ExitStack() as undo:
        undo.callback(packet.descriptors.close)
        if packet.lost:
            raise AttachError(
                f"only {len(packet.descriptors)} descriptors of the welcome arrived: this process"
                " is at its limit (RLIMIT_NOFILE)"
            )
        welcome = read_welcome(packet.data, hello, len(packet.descriptors), expected)
        undo.pop_all()
    return welcome, packet.descriptors


def _receive_answer(connection: socket.socket) -> Packet:
    """Receive the device's answer, even when it closed its end without reading the hello."""
    try:
        return receive_packet(connection, Welcome.SIZE)
    except LinkLost as error:
        if not isinstance(error.__cause__, ConnectionResetError):
            raise
    # The kernel tells of the reset once, before it hands out what was sent earlier.
    return receive_packet(connection, Welcome.SIZE)
