"""Connections: how the server takes them, where something may come in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

from firmware.link.server import Attachment

if TYPE_CHECKING:
    import socket


class Admission(Protocol):
    """What the system does for a server with each connection."""

    def accept(self, listener: socket.socket) -> socket.socket:
        """Return a new connection.

        Raises:
            OSError: as accept(2).
        """
        ...

    async def admit(self, connection: socket.socket) -> bool:
        """Wait until a connection may be listened to; return whether it is there still."""
        ...

    def attachment(self, connection: socket.socket, size: int, device_index: int) -> Attachment:
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

    def accept(self, listener: socket.socket) -> socket.socket:
        """Return a new connection (see `Admission`)."""
        return listener.accept()[0]

    async def admit(self, connection: socket.socket) -> bool:
        """Admit it at once."""
        del connection
        return True

    def attachment(self, connection: socket.socket, size: int, device_index: int) -> Attachment:
        """Make the link of a client."""
        del device_index
        return Attachment(connection, size)
