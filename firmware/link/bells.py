"""Bells: how one side makes the other look at the shared memory.

A bell is a hint without content: any number of rings may arrive as one, and all state is in the
rings. It stays rung until it is cleared, so that a ring before the listener sleeps is not lost.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

_AT_ONCE: Final = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_MOST_RINGS: Final = 1 << 16
"""Rings taken at a time, more than a socket holds."""


class Bell(Protocol):
    """One direction of notices between device and driver."""

    def ring(self) -> None:
        """Ring; costs a system call or a call, never blocks."""
        ...

    def clear(self) -> bool:
        """Take all rings since the last `clear`; return whether there were any."""
        ...

    def fileno(self) -> int | None:
        """Return the descriptor that is readable while the bell is rung; None without one."""
        ...

    def close(self) -> None:
        """Give up the bell; a second call does nothing."""
        ...


@final
class EventfdBell:
    """A bell that another process may ring, but must not be rung for one that is not trusted.

    Owner: one process's end of a link; the descriptor is closed by `close`. Whether an eventfd
    blocks is a flag of the open file, which whoever shares it can change at any time. A read can
    be told not to wait all the same, a write cannot: a peer that fills the eventfd up could hold
    the writer for ever. So the device listens on eventfds, and rings a `SocketBell`.
    """

    __slots__ = ("_descriptor", "_number")

    def __init__(self, descriptor: int | None = None) -> None:
        """Take over an eventfd, or make one.

        Raises:
            OSError: no descriptors left.
        """
        if descriptor is None:
            descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        else:
            os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._number = bytearray(8)

    def ring(self) -> None:
        """Add one to the eventfd; at its limit it is rung anyway."""
        try:
            os.eventfd_write(self._descriptor, 1)
        except BlockingIOError:
            return

    def clear(self) -> bool:
        """Set the eventfd to zero."""
        try:
            os.preadv(self._descriptor, (self._number,), -1, os.RWF_NOWAIT)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """Return the eventfd."""
        return self._descriptor

    def close(self) -> None:
        """Close the eventfd; a wait on it must be ended by its owner before."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@final
class SocketBell:
    """One end of a bell between processes, rung for a peer that is not trusted.

    Owner: one process's end of a link; the socket is closed by `close`. Each end is an open file
    of its own and every call says that it does not wait, so that nothing the peer does to its end
    holds the other.
    """

    __slots__ = ("_socket",)

    def __init__(self, descriptor: int) -> None:
        """Take over one end.

        Raises:
            OSError: the descriptor is no socket; it is still the caller's.
        """
        self._socket = socket.socket(fileno=descriptor)

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Return both ends: a ring at one is heard at the other.

        Raises:
            OSError: no descriptors left.
        """
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(one.detach()), cls(other.detach())

    def ring(self) -> None:
        """Send a byte: a socket that is full is rung already, a closed one has no listener."""
        try:
            self._socket.send(b"\0", _AT_ONCE)
        except (BlockingIOError, ConnectionError):
            return

    def clear(self) -> bool:
        """Receive all bytes."""
        try:
            return bool(self._socket.recv(_MOST_RINGS, socket.MSG_DONTWAIT))
        except (BlockingIOError, ConnectionError):
            return False

    def fileno(self) -> int:
        """Return the socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end; a wait on it must be ended by its owner before."""
        self._socket.close()


@final
class CallBell:
    """A bell inside one thread: ringing calls whoever listens, at once.

    Owner: the in-process link. Invariant: the listener is never entered twice; rings that come
    while it runs make it run once more.
    """

    __slots__ = ("_again", "_listener", "_rung", "_running")

    def __init__(self, listener: Callable[[], None] | None = None) -> None:
        self._listener = listener
        self._running = False
        self._again = False
        self._rung = False

    def listen(self, listener: Callable[[], None] | None) -> None:
        """Set who is called; a bell that is rung already calls at once."""
        self._listener = listener
        if self._rung:
            self._call()

    def ring(self) -> None:
        """Ring, and call the listener unless this comes from inside it."""
        self._rung = True
        self._call()

    def _call(self) -> None:
        self._again = True
        if self._running or self._listener is None:
            return
        self._running = True
        try:
            while self._again and self._listener is not None:
                self._again = False
                self._listener()
        finally:
            self._running = False

    def clear(self) -> bool:
        """Take all rings."""
        rung, self._rung = self._rung, False
        return rung

    def fileno(self) -> None:
        """Return None: nobody can sleep on it."""

    def close(self) -> None:
        """Forget the listener."""
        self._listener = None
