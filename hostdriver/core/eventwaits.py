"""Events and fences as the application sees them: set, reset, looked at and waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.work import MemoryWait, WorkFlags
from hostdriver.core import copies
from hostdriver.core.eventpools import check_event
from hostdriver.core.failures import device_lost, not_ready
from hostdriver.core.lanes import Borrowed, run
from hostdriver.core.questions import WaitSlot, WaitWord
from hostdriver.core.timeouts import seconds_of

if TYPE_CHECKING:
    from hostdriver.core.events import Event, Storage
    from hostdriver.core.slots import Slot
    from hostdriver.core.state import DriverState


def signal(state: DriverState, event: Event) -> None:
    """Signal an event: every wait for it ends, wherever it waits.

    Raises:
        ZeError: it was destroyed, or counts.
    """
    check_event(state, event)
    event.check_plain("signalled by the host")
    event.slot.pool.memory.signal(event.slot.index, 1)


def reset(state: DriverState, event: Event) -> None:
    """Make an event not signalled.

    Raises:
        ZeError: it was destroyed, or counts.
    """
    check_event(state, event)
    event.check_plain("reset")
    event.slot.pool.memory.clear(event.slot.index)


def is_reached(state: DriverState, event: Event) -> bool:
    """Return whether an event that stands in a slot is signalled.

    Raises:
        ZeError: it was destroyed; it never will be signalled (DEVICE_LOST).
    """
    check_event(state, event)
    return _has_reached(event.slot, event.target_value(), event.name)


def is_reached_soon(state: DriverState, event: Event) -> bool:
    """Return whether an event that stands in a slot is signalled, now or within a moment.

    A moment is what a wait spins before it sleeps. Whoever looks does not count as one who waits.

    Raises:
        ZeError: see `is_reached`.
    """
    if is_reached(state, event):
        return True
    slot = event.slot
    return slot.pool.memory.spin(slot.index, event.target_value())


async def is_done(state: DriverState, event: Event, device: int) -> bool:
    """Return whether an event is signalled; `device` looks at memory that it may count in.

    Raises:
        ZeError: see `is_reached`; the memory that it counts in cannot be read.
    """
    if event.storage is None:
        return is_reached(state, event)
    check_event(state, event)
    found = bytearray(8)
    address = event.storage.device_address
    await copies.read(state, state.devices[device], address, memoryview(found))
    return int.from_bytes(found, "little") >= event.storage.completion_value


async def check_done(state: DriverState, event: Event, device: int) -> None:
    """Do nothing for an event that is signalled.

    Raises:
        ZeError: it is not (NOT_READY); see `is_done`.
    """
    if not await is_done(state, event, device):
        raise _not_signalled(event)


async def synchronize(state: DriverState, event: Event, device: int, nanoseconds: int) -> None:
    """Wait, at most so many nanoseconds, until an event is signalled.

    Raises:
        ZeError: see `is_done`; time is up (NOT_READY); what would have signalled it failed, or the
            device is gone (DEVICE_LOST).
    """
    seconds = seconds_of(nanoseconds)
    if await is_done(state, event, device):
        return
    if event.storage is None:
        await _await_slot(event, seconds)
    else:
        await _await_memory(state, event, event.storage, device, seconds)


def read_times(state: DriverState, event: Event) -> tuple[int, int]:
    """Return begin and end of what signalled an event, in ticks of the device's clock.

    Raises:
        ZeError: it was destroyed, keeps no times, is not signalled (NOT_READY), or never will be
            (DEVICE_LOST).
    """
    check_event(state, event)
    event.check_times()
    if not is_reached(state, event):
        raise _not_signalled(event)
    found = event.slot.pool.memory.load(event.slot.index)
    return found.start_ticks, found.end_ticks


def _has_reached(slot: Slot, value: int, name: str) -> bool:
    """Return whether a slot has reached a value.

    Raises:
        ZeError: it has not and will not: what would have signalled it failed, or its device is gone
            (DEVICE_LOST).
    """
    found = slot.pool.memory.load(slot.index)
    if found.value >= value:
        return True
    if found.status:
        raise _lost(name, found.status)
    if not slot.pool.memory.is_served():
        raise device_lost(f"{name} will not be signalled: its device is lost")
    return False


async def _await_slot(event: Event, seconds: float | None) -> None:
    slot, value = event.slot, event.target_value()
    pool = slot.pool
    event.calls += 1
    try:
        waited = await WaitSlot(pool.home, pool.memory, slot.index, value, seconds)
    finally:
        event.calls -= 1
    if waited.value >= value:
        return
    if waited.status:
        raise _lost(event.name, waited.status)
    raise not_ready(f"{event.name} holds {waited.value}, {value} is waited for")


async def _await_memory(
    state: DriverState, event: Event, storage: Storage, device: int, seconds: float | None
) -> None:
    """Let the device look at memory that nobody tells of; a lane waits for it, then this call."""
    target = state.devices[device]
    command = MemoryWait(
        flags=WorkFlags.NONE,
        tag=0,
        source=storage.device_address,
        value=storage.completion_value,
    )
    event.calls += 1
    try:
        async with Borrowed(state, target) as lane:
            seqno = await run(target, lane, command)
            waited = await WaitWord(device, lane.word, seqno, seconds)
            if waited.status:
                raise device_lost(f"the memory that {event.name} counts in cannot be read")
            if waited.value < seqno:
                # The lane still waits: leaving like this ends it.
                raise not_ready(f"{event.name} has not reached {storage.completion_value}")
    finally:
        event.calls -= 1


def _not_signalled(event: Event) -> Exception:
    return not_ready(f"{event.name} is not signalled")


def _lost(name: str, status: int) -> Exception:
    return device_lost(
        f"{name} will not be signalled: the queue that was to signal it stopped (status {status})"
    )
