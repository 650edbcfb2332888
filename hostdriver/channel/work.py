"""Handles of a program that concern work: queues, lists, and what they were made with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.commandqueues_stream import Stream


class QueueRecord(NamedTuple):
    """A command queue."""

    stream: Stream
    desc: CommandQueueDesc


class ListRecord(NamedTuple):
    """A command list, regular or immediate."""

    target: CommandList | Stream
    desc: CommandListDesc | CommandQueueDesc
    device: int
    """Number of its device's handle."""
    context: int
    """Number of its context's handle."""
