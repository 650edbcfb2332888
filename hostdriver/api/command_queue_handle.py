"""The application's handle of a command queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

from hostdriver.api import command_queue
from hostdriver.api.event_structures import FenceDesc
from hostdriver.api.fences import Fence, create_fence
from hostdriver.core.timeouts import INFINITE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_list import Target
    from hostdriver.api.command_list_handle import CommandList
    from hostdriver.api.command_structures import CommandQueueDesc
    from hostdriver.api.context import Context
    from hostdriver.api.driver import Driver
    from hostdriver.core.commandlists_sync import SyncPoint
    from hostdriver.core.commandqueues_stream import Stream

FENCE_DESC = FenceDesc()


class EventHandle(Protocol):
    """A handle of an event, or of a fence."""

    @property
    def record(self) -> SyncPoint:
        """What the driver knows of it."""
        ...


@final
class CommandQueue:
    """A command queue: executes closed lists, one after the other. Any thread may use it."""

    __slots__ = ("_context", "_desc", "_driver", "stream")

    def __init__(self, context: Context, stream: Stream, desc: CommandQueueDesc) -> None:
        self._context = context
        self._driver = context.driver
        self._desc = desc
        self.stream = stream
        """What the driver knows of it; for this package."""

    @property
    def driver(self) -> Driver:
        """The driver behind it; for this package."""
        return self._driver

    def __repr__(self) -> str:
        return f"<CommandQueue: {self.stream.name}>"

    def destroy(self) -> None:
        """Destroy the queue (zeCommandQueueDestroy); its work must be done."""
        self._driver.run(lambda state: command_queue.destroy(state, self.stream))

    def execute_command_lists(
        self, command_lists: Sequence[CommandList | None] | None, fence: EventHandle | None = None
    ) -> None:
        """Execute closed lists in order, then signal a fence."""
        targets = targets_of(command_lists)
        end = None if fence is None else fence.record
        self._driver.run(
            lambda state: command_queue.execute_lists(state, self.stream, targets, end)
        )

    def fence_create(self, desc: FenceDesc | None = FENCE_DESC) -> Fence:
        """Make a fence for this queue (zeFenceCreate)."""
        return Fence(self._context, self._driver.run(lambda state: create_fence(state, desc)))

    def synchronize(self, timeout: int = INFINITE) -> None:
        """Wait, at most so many nanoseconds, until all work of the queue is done."""
        self._driver.run(lambda state: command_queue.synchronize(state, self.stream, timeout))

    def get_ordinal(self) -> int:
        """Return the group of the queue."""
        return self._desc.ordinal

    def get_index(self) -> int:
        """Return which of the group's physical queues it is."""
        return self._desc.index

    def get_flags(self) -> int:
        """Return the flags it was made with."""
        return self._desc.flags

    def get_mode(self) -> int:
        """Return the mode it was made with."""
        return self._desc.mode

    def get_priority(self) -> int:
        """Return the priority it was made with."""
        return self._desc.priority


def targets_of(lists: Sequence[CommandList | None] | None) -> list[Target | None] | None:
    """Return what the driver knows of lists, which may be null."""
    if lists is None:
        return None
    return [None if item is None else item.target for item in lists]
