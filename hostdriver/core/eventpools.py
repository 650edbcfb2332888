"""Event pools: how many events there may be, of which kind, and who shares them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from firmware.abi.status import Status
from hostdriver.core.commandqueues_uses import check_unused
from hostdriver.core.eventhandles import revoke
from hostdriver.core.events import Event
from hostdriver.core.failures import in_use, invalid_argument
from hostdriver.core.results import Refusal, failed
from hostdriver.core.slotmemory import NO_SLOT
from hostdriver.core.slots import Slot, drop_pool, give_slot, make_pool, take_slot
from hostdriver.core.slotwindows import close_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.exports import OwnExport
    from hostdriver.core.slots import SlotPool
    from hostdriver.core.state import DriverState


@final
@dataclass(frozen=True, slots=True)
class PoolTraits:
    """What an event pool was asked to be."""

    flags: int
    count: int
    """Events that it has room for."""
    counting: int = 0
    """`EventPoolCounterBasedExpFlags`, where its events count."""
    is_counting: bool = False
    keeps_times: bool = False


@final
@dataclass(slots=True, eq=False)
class EventPool:
    """One event pool, made or opened.

    Owner: the driver state of the process that made or opened it. Invariant: `events` are those of
    its events that were not destroyed. A pool that is not shared has slots of the process's own.
    """

    id: int
    """Number that the process never uses again."""
    traits: PoolTraits
    shared: SlotPool | None
    """Its slots, where other processes may open it."""
    is_opened: bool = False
    events: dict[int, Event] = field(default_factory=dict[int, Event])
    """Its events by their index."""
    export: OwnExport | None = None
    """The one handle of the pool, while there is one."""
    is_busy: bool = False
    """An operation is about to export or to end it."""
    gone: bool = False

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"event pool {self.id}"

    def check(self, state: DriverState) -> None:
        """Do nothing for a pool that lives.

        Raises:
            ZeError: it was destroyed, or belongs to another process.
        """
        if state.event_pools.get(self.id) is not self:
            raise invalid_argument(f"{self.name} was destroyed, or is not of this process")


async def make_event_pool(
    state: DriverState, traits: PoolTraits, devices: Sequence[int], *, is_shared: bool
) -> EventPool:
    """Make an event pool for some devices.

    Raises:
        ZeError: no memory for it; a device is lost.
    """
    shared = None
    if is_shared:
        shared = await make_pool(devices, traits.count, "the event pool")
    return enter_pool(state, EventPool(state.next_id(), traits, shared))


def enter_pool(state: DriverState, pool: EventPool) -> EventPool:
    """Enter a pool into the state."""
    state.event_pools[pool.id] = pool
    return pool


async def destroy_event_pool(state: DriverState, pool: EventPool) -> None:
    """End a pool that this process made, with its handle; who opened it keeps it.

    Raises:
        ZeError: it was opened; see `end_event_pool`. Nothing changed.
    """
    if pool.is_opened:
        raise invalid_argument(f"{pool.name} was opened: close it")
    await end_event_pool(state, pool)


async def close_event_pool(state: DriverState, pool: EventPool) -> None:
    """End a pool that this process opened, with its events.

    Raises:
        ZeError: it was not opened; a queue or a call waits for an event of it
            (HANDLE_OBJECT_IN_USE). Nothing changed.
    """
    pool.check(state)
    if not pool.is_opened:
        raise invalid_argument(f"{pool.name} was not opened from a handle")
    for event in list(pool.events.values()):
        await check_idle(state, event)
    await _end_pool(state, pool)


async def end_event_pool(state: DriverState, pool: EventPool) -> None:
    """End a pool, made or opened, none of whose events exists any more, with its handle.

    Raises:
        ZeError: it has events, or a queue waits for one (HANDLE_OBJECT_IN_USE); nothing changed
            then.
    """
    pool.check(state)
    if pool.events:
        raise in_use(f"{pool.name} has {len(pool.events)} events")
    await _end_pool(state, pool)


async def _end_pool(state: DriverState, pool: EventPool) -> None:
    pool.check(state)
    shared = pool.shared
    if pool.is_busy:
        raise in_use(f"{pool.name} is used by another thread")
    if shared is None:
        await _leave(state, pool)
        return
    pool.is_busy = True
    try:
        await drop_pool(shared)
    except Refusal as refusal:
        if refusal.status is Status.IN_USE:
            raise in_use(f"a queue waits for an event of {pool.name}") from refusal
        raise failed(refusal, f"{pool.name} cannot be ended") from refusal
    finally:
        pool.is_busy = False
        if not shared.numbers:
            await _leave(state, pool)


async def _leave(state: DriverState, pool: EventPool) -> None:
    del state.event_pools[pool.id]
    pool.gone = True
    for event in pool.events.values():
        _forget(state, event)
    pool.events.clear()
    if pool.shared is not None:
        await close_window(state, pool.shared)
    exported, pool.export = pool.export, None
    if exported is not None:
        await revoke(state, exported)


async def make_event(state: DriverState, pool: EventPool, index: int) -> Event:
    """Make an event of a pool.

    Raises:
        ZeError: the index lies outside the pool, or an event has it; no memory for it.
    """
    pool.check(state)
    _check_index(pool, index)
    if pool.shared is None:
        slot = await take_slot(state)
        if index in pool.events or pool.gone:
            give_slot(state, slot)
            _check_index(pool, index)
    else:
        slot = Slot(pool.shared, index)
        if not pool.is_opened:
            # What was there belonged to an event that was destroyed.
            slot.pool.memory.clear(index)
    counting = pool.traits.is_counting
    event = Event(
        state.next_id(),
        slot,
        is_counting=counting,
        expected=0 if counting else 1,
        keeps_times=pool.traits.keeps_times,
        direct=NO_SLOT if counting else slot.pool.memory.direct(slot.index),
    )
    pool.events[index] = event
    state.events[event.id] = event
    return event


async def end_event(state: DriverState, event: Event, pool: EventPool, index: int) -> None:
    """Destroy an event of a pool.

    Raises:
        ZeError: it was destroyed; see `check_idle`.
    """
    await check_idle(state, event)
    _forget(state, event)
    del pool.events[index]
    if pool.shared is None:
        give_slot(state, event.slot)


async def end_fence(state: DriverState, fence: Event) -> None:
    """Destroy a fence of a queue.

    Raises:
        ZeError: it was destroyed; what is to signal it is not done, or a call waits for it
            (HANDLE_OBJECT_IN_USE).
    """
    await check_idle(state, fence)
    _forget(state, fence)
    give_slot(state, fence.slot)


def check_event(state: DriverState, event: Event) -> None:
    """Do nothing for an event that lives.

    Raises:
        ZeError: it was destroyed, or belongs to another process.
    """
    event.check()
    if state.events.get(event.id) is not event:
        raise invalid_argument(f"{event.name} is not of this process")


async def check_idle(state: DriverState, event: Event) -> None:
    """Do nothing for an event that nobody uses.

    Raises:
        ZeError: it was destroyed; work of this process that is not done names it, a queue of any
            process waits for it, or a call of this one does (HANDLE_OBJECT_IN_USE).
    """
    check_event(state, event)
    await check_unused(state, event.id, event.name)
    # Another call may have ended it meanwhile.
    check_event(state, event)
    if event.waiters:
        raise in_use(f"{event.waiters} calls wait for {event.name}")
    waits = event.slot.pool.memory.load(event.slot.index).device_waits
    if waits:
        raise in_use(f"{waits} queues wait for {event.name}")


def _forget(state: DriverState, event: Event) -> None:
    event.gone = True
    event.direct.close()
    del state.events[event.id]


def _check_index(pool: EventPool, index: int) -> None:
    count = pool.traits.count
    if not 0 <= index < count:
        raise invalid_argument(f"desc.index is {index}, {pool.name} has room for {count} events")
    if index in pool.events:
        raise invalid_argument(f"{pool.events[index].name} has index {index} of {pool.name}")
