"""Structures of the specification for command queues and command lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hostdriver.core.work_enums import (
    CommandListFlags,
    CommandQueueFlags,
    CommandQueueMode,
    CommandQueuePriority,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc

NO_QUEUE_FLAGS: Final = CommandQueueFlags(0)
NO_LIST_FLAGS: Final = CommandListFlags(0)


@dataclass(frozen=True, slots=True)
class CommandQueueDesc:
    """How a command queue or an immediate command list is made."""

    ordinal: int = 0
    """Group of queues."""
    index: int = 0
    """Which of the group's physical queues."""
    flags: CommandQueueFlags = NO_QUEUE_FLAGS
    mode: CommandQueueMode = CommandQueueMode.DEFAULT
    priority: CommandQueuePriority = CommandQueuePriority.NORMAL
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class CommandListDesc:
    """How a regular command list is made."""

    command_queue_group_ordinal: int = 0
    flags: CommandListFlags = NO_LIST_FLAGS
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class CopyRegion:
    """A box in memory: bytes, rows and slices."""

    origin_x: int = 0
    origin_y: int = 0
    origin_z: int = 0
    width: int = 0
    height: int = 1
    depth: int = 0
    """Slices; 0 and 1 are a flat region."""
