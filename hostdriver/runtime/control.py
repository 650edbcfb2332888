"""The control channel: many threads ask, one of them at a time reads the replies for all.

A thread that waits leads when nobody else does: it alone waits on the reply ring, outside the lock,
and hands out what it reads. The others sleep on a condition. A leader whose own reply is there
steps down and wakes them, and one of them leads on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast, final

from firmware.link.errors import LinkError
from hostdriver.core.failures import device_lost
from hostdriver.runtime.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from firmware.abi.control import ControlCommand
    from firmware.link.ends import HostEnd
    from hostdriver.core.questions import Answer
    from hostdriver.runtime.requests import Pending


@final
class ControlChannel:
    """The requests of one session, made by many threads.

    Owner: a session; any thread may call. Invariant: at most one thread waits on the reply ring.
    """

    __slots__ = ("_changed", "_leading", "_lock", "_lost", "_requests", "_waiter")

    def __init__(self, end: HostEnd) -> None:
        self._requests = Requests(end)
        self._waiter = end.waiter
        self._leading = False
        self._lost = ""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @property
    def most_in_flight(self) -> int:
        """Most requests that may be in flight."""
        return self._requests.most_in_flight

    @property
    def payload_size(self) -> int:
        """Most bytes that a payload may have."""
        return self._requests.payload_size

    def post(
        self,
        command: ControlCommand,
        payload: bytes = b"",
        room: int = 0,
        descriptors: Sequence[int] = (),
    ) -> Pending:
        """Send a command when there is room for it; its reply is fetched by `collect`.

        For the arguments see `Requests.post`.

        Raises:
            ZeError: the session has ended; a descriptor cannot be sent. Nothing was sent then.
            ValueError: the payload area is too small for it.
        """
        sent: Pending | None = None

        def is_sent() -> bool:
            nonlocal sent
            sent = self._requests.post(command, payload, room, descriptors)
            return sent is not None

        with self._lock:
            self._until(is_sent)
        return cast("Pending", sent)

    def collect(self, pending: Pending) -> Answer:
        """Wait for the reply of a request that was posted, and forget the request.

        When an interrupt ends the wait, it may be called again.

        Raises:
            ZeError: the session has ended.
        """
        with self._lock:
            self._until(lambda: pending.reply is not None)
        return self._requests.answer_to(pending)

    def end(self, reason: str) -> None:
        """End every wait, now and later, with DEVICE_LOST for this reason."""
        with self._lock:
            self._lost = self._lost or reason
            self._changed.notify_all()

    def _until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready`, leading when nobody else does; the lock is held at both ends.

        Raises:
            ZeError: the session has ended.
        """
        while not ready():
            if self._lost:
                raise device_lost(self._lost)
            if self._leading:
                self._changed.wait()
            else:
                self._lead()

    def _lead(self) -> None:
        """Wait for replies outside the lock, and hand out what came."""
        wait = self._requests.next_reply
        self._leading = True
        try:
            self._lock.release()
            try:
                self._waiter.wait(wait)
            finally:
                self._lock.acquire()
            self._requests.take()
        except LinkError as error:
            # Whoever waits sees it; nobody is left who could tell them otherwise.
            self._lost = self._lost or str(error)
        finally:
            self._leading = False
            self._changed.notify_all()
