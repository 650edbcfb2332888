"""Events and fences as the application sees them: set, reset, looked at and waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.work import MemoryWait, WorkFlags
from hostdriver.core import copies
from hostdriver.core.failures import device_lost, not_ready
from hostdriver.core.lanes import Borrowed, run
from hostdriver.core.questions import WaitSlot, WaitWord

if TYPE_CHECKING:
    from hostdriver.core.events import Event, Storage
    from hostdriver.core.slots import Slot
    from hostdriver.core.state import DriverState

INFINITE: Final = (1 << 64) - 1
"""A timeout that never ends."""
NANOSECONDS: Final = 1_000_000_000


def seconds_of(nanoseconds: int) -> float | None:
    """Return a timeout of the specification in seconds; None never ends."""
    return None if nanoseconds >= INFINITE else nanoseconds / NANOSECONDS


def is_signalled(slot: Slot, value: int, name: str) -> bool:
    """Return whether a slot has reached a value.

    Raises:
        ZeError: it has not and will not: what would have signalled it failed (DEVICE_LOST).
    """
    found = slot.pool.memory.load(slot.index)
    if found.value >= value:
        return True
    if found.status:
        raise _lost(name, found.status)
    return False


async def await_slot(slot: Slot, value: int, nanoseconds: int, name: str) -> None:
    """Wait, at most so many nanoseconds, until a slot has reached a value.

    Raises:
        ZeError: time is up (NOT_READY); what would have signalled it failed, or the device is gone
            (DEVICE_LOST).
    """
    if is_signalled(slot, value, name):
        return
    pool = slot.pool
    pool.waiters += 1
    try:
        waited = await WaitSlot(pool.home, pool.memory, slot.index, value, seconds_of(nanoseconds))
    finally:
        pool.waiters -= 1
    if waited.value >= value:
        return
    if waited.status:
        raise _lost(name, waited.status)
    raise not_ready(f"{name} holds {waited.value}, {value} is waited for")


async def is_done(state: DriverState, event: Event, device: int) -> bool:
    """Return whether an event is signalled.

    Raises:
        ZeError: see `is_signalled`; the memory that it counts in cannot be read.
    """
    if event.storage is None:
        return is_signalled(event.slot, event.target_value(), event.name)
    found = bytearray(8)
    address = event.storage.device_address
    await copies.read(state, state.devices[device], address, memoryview(found))
    return int.from_bytes(found, "little") >= event.storage.completion_value


async def synchronize(state: DriverState, event: Event, device: int, nanoseconds: int) -> None:
    """Wait, at most so many nanoseconds, until an event is signalled.

    Raises:
        ZeError: see `await_slot`.
    """
    if event.storage is None:
        await await_slot(event.slot, event.target_value(), nanoseconds, event.name)
    elif not await is_done(state, event, device):
        await _await_memory(state, event, event.storage, device, nanoseconds)


async def _await_memory(
    state: DriverState, event: Event, storage: Storage, device: int, nanoseconds: int
) -> None:
    """Let the device look at memory that nobody tells of; a lane waits for it, then this call."""
    target = state.devices[device]
    command = MemoryWait(
        flags=WorkFlags.NONE,
        tag=0,
        source=storage.device_address,
        value=storage.completion_value,
    )
    async with Borrowed(state, target) as lane:
        seqno = await run(target, lane, command)
        waited = await WaitWord(device, lane.word, seqno, seconds_of(nanoseconds))
        if waited.status:
            raise device_lost(f"the memory that {event.name} counts in cannot be read")
        if waited.value < seqno:
            # The lane still waits: leaving like this ends it.
            raise not_ready(f"{event.name} has not reached {storage.completion_value}")


def _lost(name: str, status: int) -> Exception:
    return device_lost(
        f"{name} will not be signalled: the queue that was to signal it stopped (status {status})"
    )
