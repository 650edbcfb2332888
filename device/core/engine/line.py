"""The line of queues that are ready: clients in turn, and each client's own queues in turn."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.engine.queue import WorkQueue


@final
class Line:
    """Queues in the order of their turns; a client with many queues has no more turns than others.

    Owner: the scheduler. Invariants: a queue stands here once at most, in the `ready` of its
    client; `_clients` holds the `ready` of every client that has one in it, once.
    """

    __slots__ = ("_clients", "_count")

    def __init__(self) -> None:
        self._clients: deque[deque[WorkQueue]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[WorkQueue]:
        for ready in self._clients:
            yield from ready

    def __contains__(self, queue: WorkQueue) -> bool:
        return queue in queue.client.ready

    def append(self, queue: WorkQueue) -> None:
        """Let a queue stand behind its client's others; a client that had none comes last."""
        ready = queue.client.ready
        if not ready:
            self._clients.append(ready)
        ready.append(queue)
        self._count += 1

    def popleft(self) -> WorkQueue:
        """Take the queue whose turn it is (IndexError: there is none)."""
        ready = self._clients.popleft()
        queue = ready.popleft()
        if ready:
            self._clients.append(ready)
        self._count -= 1
        return queue

    def remove(self, queue: WorkQueue) -> None:
        """Take a queue out of the line (ValueError: it does not stand here)."""
        ready = queue.client.ready
        ready.remove(queue)
        if not ready:
            self._clients.remove(ready)
        self._count -= 1
