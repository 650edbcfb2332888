"""Counting events that stand alone, made or opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from firmware.abi.ipc import ExportKind
from hostdriver.core.eventhandles import export, open_handle, revoke
from hostdriver.core.eventpools import check_event, check_idle
from hostdriver.core.events import COUNTER_MAX, Event
from hostdriver.core.failures import invalid_argument, invalid_synchronization_object
from hostdriver.core.slots import Slot, drop_pool, give_slot, make_pool, take_slot
from hostdriver.core.slotwindows import address_of, close_window

if TYPE_CHECKING:
    from hostdriver.core.events import Storage
    from hostdriver.core.exports import OwnExport
    from hostdriver.core.results import ZeError
    from hostdriver.core.slots import SlotPool
    from hostdriver.core.state import DriverState


@final
@dataclass(slots=True, eq=False)
class Counter:
    """A counting event and whom it is shared with.

    Owner: the application's handle. Invariants: an event that may be shared has a pool of its own,
    so that its handle opens nothing else; each handle in `exports` tells another number that was
    expected.
    """

    event: Event
    shared: SlotPool | None
    is_opened: bool = False
    exports: dict[int, OwnExport] = field(default_factory=dict["int", "OwnExport"])
    """Its handles, by the number that was expected when each was got."""


async def make_counter(
    state: DriverState, *, storage: Storage | None, is_shared: bool, keeps_times: bool
) -> Counter:
    """Make a counting event; as nothing is expected of it, it is signalled.

    Raises:
        ZeError: no memory for it; a device is lost.
    """
    shared = None
    if is_shared:
        shared = await make_pool(range(len(state.devices)), 1, "the event")
        slot = Slot(shared, 0)
    else:
        slot = await take_slot(state)
    event = Event(
        state.next_id(),
        slot,
        is_counting=True,
        expected=0,
        keeps_times=keeps_times,
        storage=storage,
    )
    state.events[event.id] = event
    return Counter(event, shared)


async def get_counter_handle(state: DriverState, counter: Counter) -> bytes:
    """Return a handle that names the event as it is now: by the number that is expected.

    Raises:
        ZeError: it was not made to be shared (INVALID_SYNCHRONIZATION_OBJECT); it keeps times
            (INVALID_ARGUMENT); no descriptor left for it; the device is lost.
    """
    check_event(state, counter.event)
    shared = counter.shared
    if shared is None or counter.is_opened:
        raise invalid_synchronization_object(f"{counter.event.name} was made without the IPC flag")
    if counter.event.keeps_times:
        raise invalid_argument(f"{counter.event.name} keeps times, it cannot be shared")
    expected = counter.event.target_value()
    known = counter.exports.get(expected)
    if known is None:
        made = await export(state, shared, ExportKind.COUNTER_EVENT, 0, expected)
        # Another thread may have made the one handle meanwhile.
        known = counter.exports.setdefault(expected, made)
        if known is not made:
            await revoke(state, made)
    return known.handle


async def device_address(state: DriverState, event: Event) -> tuple[int, int]:
    """Return the number that a counting event is to reach, and where devices read what it holds.

    Raises:
        ZeError: it was destroyed, or does not count (INVALID_ARGUMENT); no memory or addresses are
            left; a device is lost.
    """
    check_event(state, event)
    if not event.is_counting:
        raise invalid_argument(f"{event.name} does not count")
    if event.storage is not None:
        return event.storage.completion_value, event.storage.device_address
    address = await address_of(state, event.slot)
    return event.target_value(), address


async def open_counter(state: DriverState, handle: bytes, *, may_signal: bool) -> Counter:
    """Open a counting event of this or another process.

    What is waited for is the number that was expected when the handle was got, until this process
    asks for a signal itself.

    Raises:
        ZeError: the bytes name no live event; no memory for it; a device is lost.
    """
    shared, named = await open_handle(state, handle, ExportKind.COUNTER_EVENT)
    if named.size > COUNTER_MAX:
        await drop_pool(shared)
        raise invalid_argument(
            f"the handle tells that {named.size:#x} is expected, which is above {COUNTER_MAX:#x}"
        )
    event = Event(
        state.next_id(),
        Slot(shared, 0),
        is_counting=True,
        expected=named.size,
        may_signal=may_signal,
        follows=False,
    )
    state.events[event.id] = event
    return Counter(event, shared, is_opened=True)


async def close_counter(state: DriverState, counter: Counter) -> None:
    """Close a counting event that was opened.

    Raises:
        ZeError: it was not (INVALID_SYNCHRONIZATION_OBJECT); see `end_counter`.
    """
    check_event(state, counter.event)
    if not counter.is_opened:
        raise not_opened(counter.event)
    await end_counter(state, counter)


def not_opened(event: Event) -> ZeError:
    """Return the failure of closing an event that is no opened one."""
    return invalid_synchronization_object(f"{event.name} was not opened from a handle")


async def end_counter(state: DriverState, counter: Counter) -> None:
    """Destroy or close a counting event.

    Raises:
        ZeError: it was destroyed; it is used (see `check_idle`); a device is lost, then it is gone
            all the same.
    """
    event = counter.event
    await check_idle(state, event)
    shared = counter.shared
    event.gone = True
    del state.events[event.id]
    if shared is None:
        give_slot(state, event.slot)
        return
    await close_window(state, shared)
    for exported in counter.exports.values():
        await revoke(state, exported)
    await drop_pool(shared)
