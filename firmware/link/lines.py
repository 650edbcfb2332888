"""Lines of bytes over a socket whose messages are packets: for talk that is no command.

A line ends with a newline. A long one takes several packets, and a packet may hold several lines:
the packets are one stream.
"""

from __future__ import annotations

import socket
from typing import Final, final

from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.errors import ContractError

PACKET_BYTES: Final = 32 << 10
"""Bytes sent at a time: a socket's buffer takes several."""
MOST_PACKETS: Final = 64
"""Packets taken at a time from a peer that never ends its line."""
LONGEST_LINE: Final = 1 << 20
"""Bytes of a line that comes in."""


@final
class Lines:
    """One end of a talk in lines.

    Owner: whoever serves the socket, which stays its own. Invariant: lines go out whole and in
    order; what cannot be sent at once waits here.
    """

    __slots__ = ("_connection", "_flags", "_inbox", "_outbox")

    def __init__(self, connection: socket.socket, *, waits: bool) -> None:
        """Talk over a connected socket.

        Args:
            connection: a SOCK_SEQPACKET socket.
            waits: whether to wait for the peer, as long as the socket's timeout says.
        """
        self._connection = connection
        self._flags = 0 if waits else socket.MSG_DONTWAIT
        self._inbox = bytearray()
        self._outbox = bytearray()

    @property
    def has_line(self) -> bool:
        """Whether `pull` returns a line without asking the socket."""
        return b"\n" in self._inbox

    def pull(self) -> bytes | None:
        """Return the next line without its newline; None: it is not there yet.

        Raises:
            LinkLost: the peer has hung up.
            ContractError: descriptors came, a packet or a line is too long.
            TimeoutError: the socket waits, and nothing came in time.
        """
        for _ in range(MOST_PACKETS):
            line, newline, rest = self._inbox.partition(b"\n")
            if newline:
                self._inbox = rest
                return bytes(line)
            if len(self._inbox) > LONGEST_LINE:
                raise ContractError(f"a line of more than {LONGEST_LINE} bytes")
            try:
                packet = receive_packet(self._connection, 2 * PACKET_BYTES, self._flags)
            except BlockingIOError:
                return None
            if len(packet.descriptors):
                packet.descriptors.close()
                raise ContractError(f"descriptors among lines: {packet.data[:40]!r}")
            self._inbox += packet.data
        return None

    def push(self, line: bytes) -> bool:
        """Send a line behind those that wait; return whether nothing waits now (see `flush`)."""
        self._outbox += line
        self._outbox += b"\n"
        return self.flush()

    def flush(self) -> bool:
        """Send what waits; return whether nothing does any more.

        Raises:
            LinkLost: the peer has hung up.
            TimeoutError: the socket waits, and the peer did not read in time.
        """
        sent = 0
        try:
            while sent < len(self._outbox):
                part = bytes(self._outbox[sent : sent + PACKET_BYTES])
                send_packet(self._connection, part, (), self._flags)
                sent += len(part)
        except BlockingIOError:
            return False
        finally:
            del self._outbox[:sent]
        return True

    @property
    def waiting_bytes(self) -> int:
        """Bytes that could not be sent yet."""
        return len(self._outbox)
