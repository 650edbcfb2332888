"""What a command list was made with, for the application's handle of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import command_list
from hostdriver.api.command_unsupported import NotOffered
from hostdriver.core.commandqueues_stream import Stream

if TYPE_CHECKING:
    from hostdriver.api.command_list import Target
    from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.driver import Driver


class ListQueries(NotOffered):
    """The queries of `CommandList`, and what it holds."""

    __slots__ = ("_context", "_desc", "_device", "_driver", "target")

    def __init__(
        self,
        context: Context,
        device: Device,
        target: Target,
        desc: CommandListDesc | CommandQueueDesc,
    ) -> None:
        self._context = context
        self._driver = context.driver
        self._device = device
        self._desc = desc
        self.target = target
        """What the driver knows of it; for this package."""

    @property
    def driver(self) -> Driver:
        """The driver behind it; for this package."""
        return self._driver

    def get_device_handle(self) -> Device:
        """Return the device of the list."""
        return self._device

    def get_context_handle(self) -> Context:
        """Return the context of the list."""
        return self._context

    def get_ordinal(self) -> int:
        """Return the group of queues that executes the list."""
        return command_list.ordinal_of(self._desc)

    def get_flags(self) -> int:
        """Return the flags a regular list was made with."""
        return command_list.regular(self.target, self._desc).flags

    def is_immediate(self) -> bool:
        """Return whether what is appended is executed at once."""
        return isinstance(self.target, Stream)

    def immediate_get_index(self) -> int:
        """Return the physical queue of an immediate list."""
        return self._queue_desc().index

    def immediate_get_flags(self) -> int:
        """Return the flags an immediate list was made with."""
        return self._queue_desc().flags

    def immediate_get_mode(self) -> int:
        """Return the mode an immediate list was made with."""
        return self._queue_desc().mode

    def immediate_get_priority(self) -> int:
        """Return the priority an immediate list was made with."""
        return self._queue_desc().priority

    def _queue_desc(self) -> CommandQueueDesc:
        return command_list.immediate(self.target, self._desc)
