"""Releases that wait until commands submitted before them are done."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple, final

from device.core.acknowledge import AT_ONCE, Acknowledgement
from device.core.engine.naming import last_naming
from device.core.engine.steps import Activity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from device.core.acknowledge import Acknowledgements
    from device.core.engine import WorkQueue

MOST_AT_ONCE: Final = 32
"""Releases of one round, shared among the clients that have any: 2 or 3 ms."""
_ENDED = (Activity.STOPPED, Activity.GONE)


class Blocker(NamedTuple):
    """The last command of a queue that names some memory."""

    queue: WorkQueue
    seqno: int


def blockers_of(queues: Iterable[WorkQueue], va: int, size: int) -> list[Blocker]:
    """Return what has to be done before nothing submitted names a range any more."""
    found = (Blocker(queue, last_naming(queue, va, size)) for queue in queues)
    return [blocker for blocker in found if blocker.seqno]


@final
@dataclass(slots=True, eq=False)
class _Waiting:
    """One release and the queues that it waits for."""

    client_id: int
    release: Callable[[], Acknowledgement]
    blockers: int
    done: Acknowledgement = field(default_factory=lambda: Acknowledgement(passed=False))


class _Place(NamedTuple):
    """A release in the line of one queue, by the command that it waits for."""

    seqno: int
    order: int
    waiting: _Waiting


@final
class Releases:
    """Carries releases out when the commands that name their memory are done.

    Owner: the device. Invariants: a release stands in the line of every queue that it waits for and
    that has not reached its command; a line that is not empty waits among the acknowledgements. A
    queue that stopped, was reset or has gone holds nothing up: none of its commands will run.
    One command may hold up very many: those that are free go round by round, and their client's
    control commands wait, so that it finds given up what it knows to be.
    """

    __slots__ = ("_acknowledgements", "_lines", "_order", "free")

    def __init__(self, acknowledgements: Acknowledgements) -> None:
        self._acknowledgements = acknowledgements
        self._lines: dict[WorkQueue, list[_Place]] = {}
        self._order = 0
        self.free: dict[int, deque[_Waiting]] = {}
        """Releases that wait for nothing but `carry_out`, by client; none is empty."""

    def wait(
        self,
        client_id: int,
        blockers: Iterable[Blocker],
        release: Callable[[], Acknowledgement],
    ) -> Acknowledgement:
        """Have `release` called when the commands of all blockers, one at least, are done.

        Returns:
            What has passed when the release is done, and what it returned has passed.
        """
        blockers = tuple(blockers)
        waiting = _Waiting(client_id, release, len(blockers))
        for blocker in blockers:
            self._stand_in_line(blocker, waiting)
        return waiting.done

    def carry_out(self) -> None:
        """Carry out some of the releases that are free."""
        share = max(1, MOST_AT_ONCE // max(1, len(self.free)))
        for client_id, line in list(self.free.items()):
            for _ in range(min(share, len(line))):
                self._release(line.popleft())
            if not line:
                del self.free[client_id]

    def _stand_in_line(self, blocker: Blocker, waiting: _Waiting) -> None:
        queue, seqno = blocker
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = []
        self._order += 1
        heappush(line, _Place(seqno, self._order, waiting))
        if len(line) == 1:
            self._watch(queue, line)

    def _watch(self, queue: WorkQueue, line: list[_Place]) -> None:
        """Look at the first in line whenever queues have worked."""
        self._acknowledgements.wait(
            lambda: queue.completed >= line[0].seqno or queue.activity in _ENDED,
            lambda: self._advance(queue, line),
        )

    def _advance(self, queue: WorkQueue, line: list[_Place]) -> None:
        """Let go of whoever waited for commands that are done."""
        ended = queue.activity in _ENDED
        while line and (ended or queue.completed >= line[0].seqno):
            waiting = heappop(line).waiting
            waiting.blockers -= 1
            if not waiting.blockers:
                self.free.setdefault(waiting.client_id, deque()).append(waiting)
        if line:
            self._watch(queue, line)
        else:
            del self._lines[queue]

    def _release(self, waiting: _Waiting) -> None:
        acknowledgement = waiting.release()
        if acknowledgement is AT_ONCE:
            waiting.done.settle()
        else:
            self._acknowledgements.wait(lambda: acknowledgement.passed, waiting.done.settle)
