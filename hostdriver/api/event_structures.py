"""Structures of events and fences: descriptors that the calls take, times that they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from hostdriver.api.structures import ChainedDesc
from hostdriver.core.enums import StructureType
from hostdriver.core.work_enums import (
    EventCounterBasedFlags,
    EventPoolCounterBasedExpFlags,
    EventPoolFlags,
    EventScopeFlags,
    EventSyncModeFlags,
    FenceFlags,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import UnknownDesc

NO_POOL_FLAGS: Final = EventPoolFlags(0)
NO_SCOPE: Final = EventScopeFlags(0)
NO_COUNTER_FLAGS: Final = EventCounterBasedFlags(0)
NO_FENCE_FLAGS: Final = FenceFlags(0)
NO_SYNC_MODE: Final = EventSyncModeFlags(0)


@dataclass(frozen=True, slots=True)
class EventPoolDesc:
    """How an event pool is made."""

    stype: ClassVar[StructureType] = StructureType.EVENT_POOL_DESC
    count: int
    """Events that it has room for."""
    flags: EventPoolFlags = NO_POOL_FLAGS
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class EventPoolCounterBasedExpDesc(ChainedDesc):
    """The events of the pool count: nobody resets them."""

    stype: ClassVar[StructureType] = StructureType.COUNTER_BASED_EVENT_POOL_EXP_DESC
    flags: EventPoolCounterBasedExpFlags = EventPoolCounterBasedExpFlags.IMMEDIATE


@dataclass(frozen=True, slots=True)
class EventDesc:
    """How an event of a pool is made."""

    stype: ClassVar[StructureType] = StructureType.EVENT_DESC
    index: int = 0
    """Which of the pool's events."""
    signal: EventScopeFlags = NO_SCOPE
    wait: EventScopeFlags = NO_SCOPE
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class EventCounterBasedDesc:
    """How a counting event without a pool is made."""

    stype: ClassVar[StructureType] = StructureType.EVENT_COUNTER_BASED_DESC
    flags: EventCounterBasedFlags = NO_COUNTER_FLAGS
    signal: EventScopeFlags = NO_SCOPE
    wait: EventScopeFlags = NO_SCOPE
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class EventCounterBasedExternalSyncAllocationDesc(ChainedDesc):
    """The event is signalled once the application's memory holds the completion value."""

    stype: ClassVar[StructureType] = StructureType.EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC
    device_address: int | None
    host_address: int | None
    completion_value: int


@dataclass(frozen=True, slots=True)
class EventCounterBasedExternalAggregateStorageDesc(ChainedDesc):
    """Each signal adds to the application's memory, until it holds the completion value."""

    stype: ClassVar[StructureType] = (
        StructureType.EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC
    )
    device_address: int | None
    increment_value: int
    completion_value: int


@dataclass(frozen=True, slots=True)
class EventSyncModeDesc(ChainedDesc):
    """How the host waits for an event: all waits here sleep, so that it changes nothing."""

    stype: ClassVar[StructureType] = StructureType.EVENT_SYNC_MODE_DESC
    sync_mode_flags: EventSyncModeFlags = NO_SYNC_MODE
    external_interrupt_id: int = 0


@dataclass(frozen=True, slots=True)
class FenceDesc:
    """How a fence is made."""

    stype: ClassVar[StructureType] = StructureType.FENCE_DESC
    flags: FenceFlags = NO_FENCE_FLAGS
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


class KernelTimestampData(NamedTuple):
    """Begin and end of work, in ticks of the device clock."""

    kernel_start: int
    kernel_end: int


class KernelTimestampResult(NamedTuple):
    """Begin and end as the device's clock and as the context's clock tell them: the same one."""

    global_: KernelTimestampData
    context: KernelTimestampData
