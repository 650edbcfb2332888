"""Command queues and command lists of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hostdriver.api import command_list, command_queue
from hostdriver.api.command_list_handle import CommandList
from hostdriver.api.command_queue_handle import CommandQueue
from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
from hostdriver.api.contexts.base import ContextBase

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device

QUEUE_DESC = CommandQueueDesc()
LIST_DESC = CommandListDesc()


class Commands(ContextBase):
    """Functions that make command queues and lists."""

    __slots__ = ()

    def command_queue_create(
        self, device: Device | None, desc: CommandQueueDesc | None = QUEUE_DESC
    ) -> CommandQueue:
        """Make a command queue (zeCommandQueueCreate): an in-order engine of its own."""
        index = self.index_of(device)
        stream = self.run(lambda state: command_queue.create(state, self, index, desc))
        return CommandQueue(cast("Context", self), stream, desc or QUEUE_DESC)

    def command_list_create(
        self, device: Device | None, desc: CommandListDesc | None = LIST_DESC
    ) -> CommandList:
        """Make a regular command list (zeCommandListCreate), open for recording."""
        index = self.index_of(device)
        made = self.look(lambda state: command_list.create(state, self, index, desc))
        return CommandList(cast("Context", self), cast("Device", device), made, desc or LIST_DESC)

    def command_list_create_immediate(
        self, device: Device | None, altdesc: CommandQueueDesc | None = QUEUE_DESC
    ) -> CommandList:
        """Make an immediate command list (zeCommandListCreateImmediate)."""
        index = self.index_of(device)
        stream = self.run(
            lambda state: command_queue.create(
                state, self, index, altdesc, "immediate command list"
            )
        )
        return CommandList(
            cast("Context", self), cast("Device", device), stream, altdesc or QUEUE_DESC
        )
