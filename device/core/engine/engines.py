"""Copy engines: which chunks of large copies are in flight, and whose is next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from device.core.engine.steps import SHARES
from device.core.errors import InternalError, InvariantError

if TYPE_CHECKING:
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Move
    from device.core.memory import Chunk


class _Flight(NamedTuple):
    queue: WorkQueue
    move: Move


@final
class CopyEngines:
    """A fixed number of engines, each busy with one chunk at a time.

    Owner: the scheduler. The client that got fewest bytes for its share is served next, and of its
    queues the one that did, so that nobody can be starved, however many queues another has.
    Invariants: no more chunks in flight than engines; a queue is resumed when none of its chunks is
    in line or in flight. A removed queue's chunks leave the line at once, those in flight when they
    are done: their memory must not be used again before.
    """

    __slots__ = ("_flights", "_pace", "count", "line")

    def __init__(self, count: int) -> None:
        self.count = count
        self.line: dict[WorkQueue, list[Move]] = {}
        """Moves that wait for an engine."""
        self._flights: dict[int, _Flight] = {}
        self._pace = 0

    @property
    def in_flight(self) -> int:
        """Chunks that run in the shell now."""
        return len(self._flights)

    @property
    def can_grant(self) -> bool:
        """Whether `grant` would return a chunk."""
        return bool(self.line) and len(self._flights) < self.count

    def submit(self, queue: WorkQueue, moves: tuple[Move, ...]) -> None:
        """Put the moves of one step of a queue's command in line.

        Raises:
            InternalError: the queue has moves already.
        """
        if queue in self.line or self.busy(queue):
            raise InternalError(f"queue {queue.queue_id} submits moves before the last were done")
        # One that was away begins where the others are: it has not saved up turns.
        client = queue.client
        client.pace = max(client.pace, self._pace)
        queue.pace = max(queue.pace, client.queue_pace)
        self.line[queue] = list(moves)

    def grant(self) -> list[Chunk]:
        """Give free engines to the moves whose turn it is; the shell then runs their chunks."""
        granted: list[Chunk] = []
        while self.line and len(self._flights) < self.count:
            queue = min(self.line, key=lambda waiting: (waiting.client.pace, waiting.pace))
            client = queue.client
            moves = self.line[queue]
            move = moves.pop(0)
            if not moves:
                del self.line[queue]
            self._pace, client.queue_pace = client.pace, queue.pace
            cost = move.chunk.size // SHARES[queue.priority]
            client.pace += cost
            queue.pace += cost
            self._flights[id(move.chunk)] = _Flight(queue, move)
            granted.append(move.chunk)
        return granted

    def done(self, chunk: Chunk) -> WorkQueue | None:
        """Take a chunk back from the shell; return its queue when that has no other left.

        Raises:
            InternalError: a chunk that is not in flight.
        """
        flight = self._flights.pop(id(chunk), None)
        if flight is None:
            raise InternalError("a chunk was given back that is not in flight")
        queue = flight.queue
        return None if queue in self.line or self.busy(queue) else queue

    def busy(self, queue: WorkQueue) -> bool:
        """Whether a chunk of the queue is in flight."""
        return any(flight.queue is queue for flight in self._flights.values())

    def quiesced(self, vmid: int, va: int, size: int) -> bool:
        """Whether no move in line or in flight touches a range of an address space."""
        if not (self.line or self._flights):
            return True
        moves = [
            move for queue, line in self.line.items() if queue.space.vmid == vmid for move in line
        ]
        moves += [
            flight.move for flight in self._flights.values() if flight.queue.space.vmid == vmid
        ]
        stop = va + size
        return not any(
            span.start < stop and va < span.stop for move in moves for span in move.spans
        )

    def forget(self, queue: WorkQueue) -> None:
        """Take the moves of a queue out of the line; those in flight end by themselves."""
        self.line.pop(queue, None)

    def check(self) -> None:
        """Raise InvariantError when the engines contradict themselves."""
        if len(self._flights) > self.count:
            raise InvariantError(f"{len(self._flights)} chunks in flight on {self.count} engines")
        if any(not moves for moves in self.line.values()):
            raise InvariantError("a queue stands in line for an engine without a move")
