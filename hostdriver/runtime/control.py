"""The control channel: many threads ask, one of them at a time reads the replies for all.

A thread that waits leads when nobody else does: it alone waits on the reply ring, outside the lock,
and hands out what it reads. The others sleep on a condition. A leader whose own reply is there
steps down and wakes them, and one of them leads on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, final

from firmware.link.errors import LinkError
from hostdriver.core.failures import device_lost
from hostdriver.runtime.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.control import ControlCommand
    from firmware.link.ends import HostEnd
    from hostdriver.core.questions import Answer
    from hostdriver.runtime.requests import Pending


@final
class ControlChannel:
    """The requests of one session, made by many threads.

    Owner: a session; any thread may call. Invariants: at most one thread waits on the reply ring;
    `_followers` counts the others that wait.
    """

    __slots__ = (
        "_changed",
        "_followers",
        "_leading",
        "_lock",
        "_lost",
        "_requests",
        "_waiter",
    )

    def __init__(self, end: HostEnd) -> None:
        self._requests = Requests(end)
        self._waiter = end.waiter
        self._leading = False
        self._followers = 0
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
        with self._lock:
            while (sent := self._requests.post(command, payload, room, descriptors)) is None:
                self._wait()
        return sent

    def collect(self, pending: Pending) -> Answer:
        """Wait for the reply of a request that was posted, and forget the request.

        When an interrupt ends the wait, it may be called again.

        Raises:
            ZeError: the session has ended.
        """
        with self._lock:
            while pending.reply is None:
                self._wait()
        return self._requests.answer_to(pending)

    def end(self, reason: str) -> None:
        """End every wait, now and later, with DEVICE_LOST for this reason."""
        with self._lock:
            self._lost = self._lost or reason
            self._changed.notify_all()

    def _wait(self) -> None:
        """Wait until replies were taken, leading when nobody else does; the lock is held.

        Raises:
            ZeError: the session has ended.
        """
        if self._lost:
            raise device_lost(self._lost)
        if not self._leading:
            self._lead()
            return
        self._followers += 1
        try:
            self._changed.wait()
        finally:
            self._followers -= 1

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
            if self._followers:
                self._changed.notify_all()
