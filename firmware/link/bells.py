"""Bells: how one side makes the other look at the shared memory.

A bell is a hint without content: any number of rings may arrive as one, and all state is in the
rings. It stays rung until it is cleared, so that a ring before the listener sleeps is not lost.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable


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
    """A bell between processes.

    Owner: one process's end of a link; the descriptor is closed by `close`.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int | None = None) -> None:
        """Take over an eventfd, or make one.

        Raises:
            OSError: no descriptors left.
        """
        if descriptor is None:
            descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        else:
            # Whoever made it decides for both ends, as the flag belongs to the open file.
            os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def ring(self) -> None:
        """Add one to the eventfd; at its limit it is rung anyway."""
        try:
            os.eventfd_write(self._descriptor, 1)
        except BlockingIOError:
            return

    def clear(self) -> bool:
        """Set the eventfd to zero."""
        try:
            os.eventfd_read(self._descriptor)
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
