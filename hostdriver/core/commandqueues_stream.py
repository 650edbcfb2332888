"""One in-order engine of the application: what it has handed over, and how far it is."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

from firmware.abi.ids import WORK_COMMAND_SIZE
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.abi.control import QueueKind
    from firmware.abi.replies import QueueCreated
    from hostdriver.core.hostcalls import HostCalls


class WorkContext(Protocol):
    """What work counts for: the application's context."""

    faulted: str
    """Why work of it failed once, in words; empty while none did."""


class Mirror(Protocol):
    """Who wants to know what a stream has to do, without asking."""

    def show(self, stream: Stream) -> None:
        """Take over what was handed over, where, and whether the stream failed."""
        ...


class StreamPlan(NamedTuple):
    """What a stream is made for."""

    what: str
    """What it is to the application, for messages."""
    device: int
    ordinal: int
    """Group of queues."""
    kind: QueueKind
    priority: int
    """A priority of the device."""
    is_synchronous: bool
    """Whether calls return when their work is done."""
    context: WorkContext
    """What its work counts for."""


@final
@dataclass(slots=True, eq=False)
class Stream:
    """One in-order engine.

    Owner: the driver state of the process that made it. Commands are numbered from 1 on.
    Invariants: `done` <= `entered` <= `issued`; what `entered` does not count stands in `backlog`
    or is about to be offered; one operation at a time pushes (`is_pushing`). A stream that failed
    takes nothing any more and has no backlog. It ends with `close_stream`.
    """

    id: int
    """Number that the process never uses again."""
    plan: StreamPlan
    queue: QueueCreated | None = None
    shift: int = 0
    """Number of a command in its device queue, less its number here."""
    issued: int = 0
    """Number of the last command handed over."""
    entered: int = 0
    """Number of the last command that a device queue took."""
    done: int = 0
    """Number of the last command that is known to be done."""
    backlog: deque[memoryview] = field(default_factory=deque[memoryview])
    is_pushing: bool = False
    waiters: int = 0
    """Operations that look at the words of its device queue."""
    failure: ZeError | None = None
    leaving: bool = False
    uses: dict[int, int] = field(default_factory=dict[int, int])
    """Last command that names an allocation, by the allocation's number."""
    mirror: Mirror | None = None
    calls: HostCalls | None = None
    """Functions of the program that its commands call, once there is one."""

    @property
    def device(self) -> int:
        """The device on which its commands run."""
        return self.plan.device

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.plan.what} {self.id}"

    def show(self) -> None:
        """Tell the mirror of a change; before a device queue goes, and before anything is done."""
        if self.mirror is not None:
            self.mirror.show(self)

    def refuse_failed(self) -> None:
        """Raise ZeError when the stream has stopped: the error that stopped it, in a new object."""
        if self.failure is not None:
            raise ZeError(self.failure.result, self.failure.description)

    def note_uses(self, number: int, allocations: Iterable[int]) -> None:
        """Note that commands up to a number name these allocations."""
        if self.uses and self.entered == self.done:
            # All that named any before is done.
            self.uses = {key: last for key, last in self.uses.items() if last > self.done}
        for allocation in allocations:
            self.uses[allocation] = number

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        waiting = sum(part.nbytes for part in self.backlog) // WORK_COMMAND_SIZE
        if not self.done <= self.entered <= self.issued:
            raise AssertionError(
                f"{self.name}: {self.done} done, {self.entered} entered, {self.issued} issued"
            )
        if self.failure is None and self.entered + waiting != self.issued:
            raise AssertionError(
                f"{self.name}: {waiting} commands wait, {self.issued - self.entered} should"
            )
