"""One descriptor that is readable when anything happened: doorbells, deaths, finished chunks.

A trio task per client would cost two trips through the scheduler for each doorbell. Here one epoll
descriptor stands for all of them, and the pump sleeps on it alone.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Poller:
    """Descriptors and what to call when they are ready.

    Owner: the pump. Handlers run in `dispatch`, in the pump's task; a handler that is removed by
    another one of the same round is not called any more.
    """

    __slots__ = ("_epoll", "_handlers")

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[], None]] = {}

    def fileno(self) -> int:
        """Return the descriptor to sleep on."""
        return self._epoll.fileno()

    def on_readable(self, descriptor: int, handler: Callable[[], None]) -> None:
        """Call `handler` while `descriptor` is readable.

        Raises:
            OSError: no memory for the watch; nothing changed.
        """
        self._add(descriptor, select.EPOLLIN, handler)

    def on_hang_up(self, descriptor: int, handler: Callable[[], None]) -> None:
        """Call `handler` once the other end of a socket is closed, whatever can be read from it."""
        self._add(descriptor, select.EPOLLRDHUP, handler)

    def _add(self, descriptor: int, events: int, handler: Callable[[], None]) -> None:
        self._epoll.register(descriptor, events)
        self._handlers[descriptor] = handler

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor; to be called before it is closed. A second call does nothing."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def dispatch(self, seconds: float = 0.0) -> bool:
        """Call the handlers of all that is ready within so long; return whether there was any."""
        ready = self._epoll.poll(seconds)
        for descriptor, _ in ready:
            handler = self._handlers.get(descriptor)
            if handler is not None:
                handler()
        return bool(ready)

    def close(self) -> None:
        """Give up the descriptor; the watched ones stay their owners'."""
        self._handlers.clear()
        self._epoll.close()
