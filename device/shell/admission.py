"""Connections: how the server takes them, where something may come in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

from firmware.link.server import Attachment

if TYPE_CHECKING:
    import socket

    from firmware.abi.handshake import Hello, Purpose


class Admission(Protocol):
    """What the system does for a server with each connection."""

    async def admit(self, connection: socket.socket, purpose: Purpose) -> bool:
        """Wait until a connection may be answered; return whether it is there still.

        Args:
            connection: who has said hello.
            purpose: what for.
        """
        ...

    def attachment(self, connection: socket.socket, size: int, hello: Hello) -> Attachment:
        """Make the link of a client with a segment of `size` bytes.

        Raises:
            OSError, LinkError: as `Attachment`; the connection is still the caller's.
        """
        ...


@final
class PlainAdmission:
    """Nothing in between.

    Owner: the server. Keeps nothing.
    """

    async def admit(self, connection: socket.socket, purpose: Purpose) -> bool:
        """Admit it at once."""
        del connection, purpose
        return True

    def attachment(self, connection: socket.socket, size: int, hello: Hello) -> Attachment:
        """Make the link of a client."""
        del hello
        return Attachment(connection, size)
