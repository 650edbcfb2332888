"""The device's half of a shared link: everything but waiting, which is the shell's.

The order for one connection: `is_same_user`, `receive_hello`, `handshake.examine`, `Attachment`,
let the device write the segment, `Attachment.welcome`.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING, NamedTuple, final

from firmware.abi.handshake import Hello
from firmware.link.bells import EventfdBell, SocketBell
from firmware.link.carrier import SocketCarrier
from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.ends import DeviceEnd
from firmware.link.errors import ContractError, LinkLost
from firmware.link.linux import peer_credentials
from firmware.link.peer import ProcessPeer
from firmware.link.segment import Segment

if TYPE_CHECKING:
    from firmware.abi.handshake import Welcome


def is_same_user(connection: socket.socket) -> bool:
    """Return whether the process at the other end runs as this process's user.

    Raises:
        OSError: not a connected Unix socket.
    """
    return peer_credentials(connection).uid == os.geteuid()


def receive_hello(connection: socket.socket) -> bytes:
    """Return the first packet of a client, which may be anything; nothing of it is left open.

    Raises:
        LinkLost: the client hung up.
        BlockingIOError: the socket does not block and there is none yet.
        TimeoutError: none came within the socket's time.
    """
    try:
        packet = receive_packet(connection, Hello.SIZE)
    except ContractError:
        # Longer than any hello: judged like every other packet that is none.
        return b""
    packet.descriptors.close()
    return packet.data


class Greeting(NamedTuple):
    """The first packet of a client."""

    data: bytes
    pid: int | None
    """The process whose pages the client's are, when not its own: the one at the other end of a
    socket that came along. Whoever has a program's socket speaks for it."""


def receive_greeting(connection: socket.socket) -> Greeting:
    """Return the first packet of a client, and for whom it speaks (see `receive_hello`)."""
    try:
        packet = receive_packet(connection, Hello.SIZE)
    except ContractError:
        return Greeting(b"", None)
    with packet.descriptors as descriptors:
        if not len(descriptors):
            return Greeting(packet.data, None)
        pid = _program_at(descriptors.peek())
    return Greeting(b"" if pid is None else packet.data, pid)


def _program_at(descriptor: int) -> int | None:
    """Return the process of this user at the other end of a socket, which stays the caller's.

    None: there is none, or the descriptor is no socket, of which nobody would be the owner.
    """
    try:
        program = socket.socket(fileno=descriptor)
    except OSError:
        return None
    try:
        credentials = peer_credentials(program)
    except OSError:
        return None
    finally:
        program.detach()
    return credentials.pid if credentials.uid == os.geteuid() else None


def refuse(connection: socket.socket, welcome: Welcome) -> None:
    """Send a refusal and close the connection; a client that is gone already is none to tell."""
    with connection, contextlib.suppress(LinkLost, BlockingIOError):
        send_packet(connection, welcome.pack(), (), socket.MSG_DONTWAIT)


@final
class Attachment:
    """A client's link, ready save that the client has not been told.

    Owner: the shell during the handshake. Invariant: it ends by `welcome` or by `refuse`; both
    leave nothing of it open but, after `welcome`, the end.
    """

    __slots__ = ("_connection", "_doorbell", "_segment_file", "_theirs", "end")

    def __init__(self, connection: socket.socket, size: int) -> None:
        """Make segment and bells for the client at the other end of a socket.

        Args:
            connection: the client's socket, which belongs to the attachment from now on.
            size: size of the segment in bytes.

        Raises:
            OSError: no descriptors, memory or mappings left.
            AttachError: this machine cannot share rings.

        Whatever is raised, nothing is left open, and the socket is still the caller's.
        """
        with contextlib.ExitStack() as undo:
            segment, descriptor = Segment.create(size)
            undo.callback(segment.close)
            undo.callback(os.close, descriptor)
            doorbell = EventfdBell()
            undo.callback(doorbell.close)
            interrupt, theirs = SocketBell.pair()
            undo.callback(interrupt.close)
            undo.callback(theirs.close)
            peer = ProcessPeer(connection)
            undo.pop_all()
        self._connection = connection
        self._segment_file = descriptor
        self._doorbell = doorbell
        self._theirs = theirs
        self.end = DeviceEnd(
            segment=segment,
            doorbell=doorbell,
            interrupt=interrupt,
            # No request of a client takes more than one.
            carrier=SocketCarrier(connection, most_descriptors=1),
            peer=peer,
        )
        """The device's end; the device writes its segment before `welcome`."""

    def welcome(self, welcome: Welcome) -> DeviceEnd:
        """Send the answer with segment and bells; return the end, which is the caller's now.

        Raises:
            LinkLost: the client hung up or does not read. `end` is still open, for whoever watches
                its descriptors has to let go of them first; the caller closes it.
        """
        descriptors = (self._segment_file, self._doorbell.fileno(), self._theirs.fileno())
        try:
            send_packet(self._connection, welcome.pack(), descriptors, socket.MSG_DONTWAIT)
        except BlockingIOError as error:
            raise LinkLost("the client does not read the answer to its hello") from error
        finally:
            self._close_theirs()
        return self.end

    def refuse(self, welcome: Welcome) -> None:
        """Send a refusal and close everything, the connection too."""
        self._close_theirs()
        with contextlib.suppress(LinkLost, BlockingIOError):
            send_packet(self._connection, welcome.pack(), (), socket.MSG_DONTWAIT)
        self.end.close()

    def _close_theirs(self) -> None:
        """Close what only the client needs from here on: of the segment, the mapping is enough."""
        os.close(self._segment_file)
        self._theirs.close()
