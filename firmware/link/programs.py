"""What device and drivers of C programs are to each other inside one emulator.

Neither knows the other's package: the device's shell offers `LocalDevices` and calls a
`ProgramHost` and a `FaultHost`, which the emulator's composer makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from firmware.abi.handshake import Hello
    from firmware.link.ends import HostEnd
    from firmware.link.handshake import Agreement


class LocalAttachment(NamedTuple):
    """A link to a device inside the emulator, for the driver of a program elsewhere."""

    end: HostEnd
    """The driver's end."""
    segment_descriptor: int
    """The segment's memory file, to be mapped by the program; the driver closes it."""
    detach: Callable[[], None]
    """Ends the client: the device takes everything back. To be called once, before `end.close`."""
    look_after: Callable[[], None]
    """Asks the device to look at every ring of the client: what it was told may have been lost."""


class LocalDevices(Protocol):
    """The devices of an emulator, for drivers in the same process."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def attach(self, index: int, hello: Hello, pid: int) -> LocalAttachment:
        """Attach a client whose pages are those of process `pid`.

        Raises:
            Refused: the device takes no more clients.
            OSError: no memory, descriptors or mappings left.
        """
        ...

    def watch(self, descriptor: int, handler: Callable[[], None], *, hang_up: bool = False) -> None:
        """Call `handler` while a descriptor is readable, or has hung up.

        Raises:
            OSError: no memory for the watch.
        """
        ...

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor, before it is closed."""
        ...


class ProgramHost(Protocol):
    """The drivers of all C programs of one emulator. All calls come from the pump's thread."""

    def accept(self, connection: socket.socket, agreement: Agreement) -> None:
        """Begin a session for the program at the other end; the socket belongs to it then.

        Raises:
            LinkError, OSError: it cannot be served; the socket is still the caller's.
        """
        ...

    def poll(self) -> bool:
        """Carry calls on; return whether any went on."""
        ...

    def has_work(self) -> bool:
        """Return whether `poll` would do something."""
        ...

    def posted(self) -> list[tuple[memoryview, bytes]] | None:
        """Return the words that programs post by, and what stood there when they were taken.

        Before they change `poll` would do nothing. None: now it has to be asked.
        """
        ...

    def set_asleep(self, *, asleep: bool) -> None:
        """Say whether programs have to ring."""
        ...

    def close(self) -> None:
        """End all sessions."""
        ...


class FaultHost(Protocol):
    """Where rules of fault injection come in. All calls come from the pump's thread."""

    def accept(self, connection: socket.socket, agreement: Agreement) -> None:
        """Serve who is at the other end of a socket, which belongs to the host then.

        Raises:
            LinkError, OSError: it cannot be served; the socket is still the caller's.
        """
        ...

    def close(self) -> None:
        """End all connections, and remove all rules."""
        ...
