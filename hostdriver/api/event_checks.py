"""What descriptors of events and pools mean, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.event_structures import (
    EventCounterBasedDesc,
    EventCounterBasedExternalAggregateStorageDesc,
    EventCounterBasedExternalSyncAllocationDesc,
    EventDesc,
    EventPoolCounterBasedExpDesc,
    EventSyncModeDesc,
)
from hostdriver.api.validation import check_flags, read_chain
from hostdriver.core.eventpools import PoolTraits
from hostdriver.core.events import COUNTER_MAX, Storage
from hostdriver.core.failures import (
    invalid_argument,
    invalid_size,
    null_pointer,
    unsupported_enumeration,
)
from hostdriver.core.work_enums import (
    EventCounterBasedFlags,
    EventPoolCounterBasedExpFlags,
    EventPoolFlags,
    EventScopeFlags,
    EventSyncModeFlags,
)

if TYPE_CHECKING:
    from hostdriver.api.event_structures import EventPoolDesc
    from hostdriver.core.state import DriverState

_MOST_EVENTS: Final = (1 << 32) - 1
_POOL_TIMES = EventPoolFlags.KERNEL_TIMESTAMP | EventPoolFlags.KERNEL_MAPPED_TIMESTAMP
_COUNTER_TIMES = EventCounterBasedFlags.DEVICE_TIMESTAMP | EventCounterBasedFlags.HOST_TIMESTAMP


def read_pool_desc(state: DriverState, desc: EventPoolDesc | None) -> PoolTraits:
    """Return what a descriptor asks a pool to be.

    Raises:
        ZeError: null descriptor; unknown flags, or such as exclude each other; a count of 0 or of
            more than 32 bits.
    """
    if desc is None:
        raise null_pointer("desc")
    flags = check_flags(EventPoolFlags, desc.flags, "desc.flags")
    chained = read_chain(state, desc.p_next, (EventPoolCounterBasedExpDesc,))
    counting = 0
    for counted in chained:
        counting |= check_flags(EventPoolCounterBasedExpFlags, counted.flags, "flags")
    if flags & _POOL_TIMES == _POOL_TIMES:
        raise unsupported_enumeration(
            "KERNEL_TIMESTAMP and KERNEL_MAPPED_TIMESTAMP exclude each other"
        )
    if chained and flags & EventPoolFlags.IPC:
        raise unsupported_enumeration(
            "a pool of counting events cannot be shared: events of EventCounterBasedCreate can"
        )
    if not 0 < desc.count <= _MOST_EVENTS:
        raise invalid_size(f"desc.count is {desc.count}, expected 1 to {_MOST_EVENTS}")
    return PoolTraits(
        flags=int(flags),
        count=desc.count,
        counting=int(counting),
        is_counting=bool(chained),
        keeps_times=bool(flags & _POOL_TIMES),
    )


def read_event_desc(state: DriverState, desc: EventDesc | None) -> EventDesc:
    """Return a descriptor of an event whose words are all known.

    Raises:
        ZeError: null descriptor; unknown scopes or modes.
    """
    if desc is None:
        raise null_pointer("desc")
    _check_scopes(desc)
    for mode in read_chain(state, desc.p_next, (EventSyncModeDesc,)):
        check_flags(EventSyncModeFlags, mode.sync_mode_flags, "syncModeFlags")
    return desc


def read_counter_desc(
    state: DriverState, desc: EventCounterBasedDesc | None
) -> tuple[EventCounterBasedFlags, Storage | None]:
    """Return the flags of a counting event, and the memory that it counts in if it has any.

    Raises:
        ZeError: null descriptor; unknown flags or scopes, or flags that exclude each other; memory
            that is null or not aligned, a completion value above the largest.
    """
    if desc is None:
        raise null_pointer("desc")
    flags = check_flags(EventCounterBasedFlags, desc.flags, "desc.flags")
    _check_scopes(desc)
    known: tuple[
        type[
            EventCounterBasedExternalSyncAllocationDesc
            | EventCounterBasedExternalAggregateStorageDesc
            | EventSyncModeDesc
        ],
        ...,
    ] = (
        EventCounterBasedExternalSyncAllocationDesc,
        EventCounterBasedExternalAggregateStorageDesc,
        EventSyncModeDesc,
    )
    chained = read_chain(state, desc.p_next, known)
    if flags & _COUNTER_TIMES == _COUNTER_TIMES:
        raise unsupported_enumeration("DEVICE_TIMESTAMP and HOST_TIMESTAMP exclude each other")
    storage: Storage | None = None
    for entry in chained:
        if isinstance(entry, EventSyncModeDesc):
            check_flags(EventSyncModeFlags, entry.sync_mode_flags, "syncModeFlags")
            continue
        if storage is not None:
            raise invalid_argument("an event counts in one place: two are chained")
        storage = _storage_of(entry)
    if storage is not None and flags & EventCounterBasedFlags.IPC:
        raise unsupported_enumeration("an event that counts in the application's memory has no IPC")
    return flags, storage


def _storage_of(
    desc: EventCounterBasedExternalSyncAllocationDesc
    | EventCounterBasedExternalAggregateStorageDesc,
) -> Storage:
    address = desc.device_address
    if not address:
        raise invalid_argument("deviceAddress is null")
    if address % 8:
        raise invalid_argument(f"deviceAddress is {address:#x}, expected a multiple of 8")
    if not 0 <= desc.completion_value <= COUNTER_MAX:
        raise invalid_argument(
            f"completionValue is {desc.completion_value:#x}, expected at most {COUNTER_MAX:#x}"
        )
    if isinstance(desc, EventCounterBasedExternalSyncAllocationDesc):
        if not desc.host_address:
            raise invalid_argument("hostAddress is null")
        return Storage(address, desc.completion_value)
    if not 0 < desc.increment_value <= COUNTER_MAX:
        raise invalid_argument(f"incrementValue is {desc.increment_value}, expected at least 1")
    return Storage(address, desc.completion_value, desc.increment_value)


def _check_scopes(desc: EventDesc | EventCounterBasedDesc) -> None:
    check_flags(EventScopeFlags, desc.signal, "desc.signal")
    check_flags(EventScopeFlags, desc.wait, "desc.wait")
