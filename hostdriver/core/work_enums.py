"""Enumerations of Level Zero about queues, lists, events and fences.

Written by `scripts/gen_level_zero.py`; do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class CommandListFlags(IntFlag):
    """Flags of `CommandListDesc`."""

    RELAXED_ORDERING = 1
    MAXIMIZE_THROUGHPUT = 2
    EXPLICIT_ONLY = 4
    IN_ORDER = 8
    EXP_CLONEABLE = 0x10
    COPY_OFFLOAD_HINT = 0x20


class CommandQueueFlags(IntFlag):
    """Flags of `CommandQueueDesc`."""

    EXPLICIT_ONLY = 1
    IN_ORDER = 2
    COPY_OFFLOAD_HINT = 4


class CommandQueueMode(IntEnum):
    """Whether a queue waits for its work."""

    DEFAULT = 0
    SYNCHRONOUS = 1
    ASYNCHRONOUS = 2


class CommandQueuePriority(IntEnum):
    """Which queue goes first."""

    NORMAL = 0
    PRIORITY_LOW = 1
    PRIORITY_HIGH = 2


class EventCounterBasedFlags(IntFlag):
    """Uses of a counting event."""

    IMMEDIATE = 1
    NON_IMMEDIATE = 2
    HOST_VISIBLE = 4
    IPC = 8
    DEVICE_TIMESTAMP = 0x10
    HOST_TIMESTAMP = 0x20
    GRAPH_EXTERNAL = 0x40


class EventPoolCounterBasedExpFlags(IntFlag):
    """Lists for which the events of a pool count."""

    IMMEDIATE = 1
    NON_IMMEDIATE = 2


class EventPoolFlags(IntFlag):
    """Flags of `EventPoolDesc`."""

    HOST_VISIBLE = 1
    IPC = 2
    KERNEL_TIMESTAMP = 4
    KERNEL_MAPPED_TIMESTAMP = 8


class EventQueryKernelTimestampsExtFlags(IntFlag):
    """Which times of a command can be asked for."""

    KERNEL = 1
    SYNCHRONIZED = 2


class EventScopeFlags(IntFlag):
    """Whose caches an event flushes."""

    SUBDEVICE = 1
    DEVICE = 2
    HOST = 4


class EventSyncModeFlags(IntFlag):
    """How an event is waited for."""

    LOW_POWER_WAIT = 1
    SIGNAL_INTERRUPT = 2
    EXTERNAL_INTERRUPT_WAIT = 4


class FenceFlags(IntFlag):
    """Flags of `FenceDesc`."""

    SIGNALED = 1


__all__ = [
    "CommandListFlags",
    "CommandQueueFlags",
    "CommandQueueMode",
    "CommandQueuePriority",
    "EventCounterBasedFlags",
    "EventPoolCounterBasedExpFlags",
    "EventPoolFlags",
    "EventQueryKernelTimestampsExtFlags",
    "EventScopeFlags",
    "EventSyncModeFlags",
    "FenceFlags",
]
