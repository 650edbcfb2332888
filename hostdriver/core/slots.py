"""Fence slots of this process: pools that it shares, and single slots for what it shares not.

The slots themselves are words in memory that several processes and devices see (`slotmemory`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from firmware.abi.control import (
    FencePoolClose,
    FencePoolCreate,
    FencePoolExport,
    FencePoolOpen,
    FencePoolRevoke,
)
from firmware.abi.replies import Done, FencePoolExported, FencePoolOpened
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.questions import CloseDescriptor, JoinSlots, LeaveSlots, Pause
from hostdriver.core.results import Refusal, ZeError, failed
from hostdriver.core.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.control import ControlCommand
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.slotmemory import SlotMemory
    from hostdriver.core.state import DriverState

PRIVATE_SLOTS: Final = 4096
"""Slots of a pool for what this process does not share; memory is taken as they are used."""


@final
@dataclass(slots=True, eq=False)
class SlotPool:
    """One fence pool.

    Owner: the event pool or event that shares it, or `PrivateSlots`. Invariant: every device in
    `numbers` knows it by that number until `drop_pool`.
    """

    memory: SlotMemory
    count: int
    numbers: dict[int, int]
    """What each device calls it, by the device's number."""
    home: int
    """Number of the device that was asked for it first."""
    window: Allocation | None = None
    """Where devices read its slots, once that was asked for."""


@final
@dataclass(frozen=True, slots=True)
class Slot:
    """One slot."""

    pool: SlotPool
    index: int


@final
@dataclass(slots=True)
class PrivateSlots:
    """Slots that are not shared with other processes.

    Owner: the driver state. Invariant: a slot is free or taken once. Slots that were given back
    longest ago are taken first, so that a signal that comes late meets nobody. The pools end with
    the process.
    """

    pools: list[SlotPool] = field(default_factory=list[SlotPool])
    free: deque[Slot] = field(default_factory=deque[Slot])
    is_growing: bool = False
    """Whether a pool is being made: who needs a slot meanwhile waits for that one."""


async def take_slot(state: DriverState) -> Slot:
    """Take a cleared slot that every device knows.

    Raises:
        ZeError: no memory for more slots; a device is lost.
    """
    private = state.private_slots
    while not private.free:
        if private.is_growing:
            await Pause()
        else:
            await _grow(state, private)
    slot = private.free.popleft()
    slot.pool.memory.clear(slot.index)
    slot.pool.memory.arm(slot.index, 0)
    return slot


async def _grow(state: DriverState, private: PrivateSlots) -> None:
    private.is_growing = True
    try:
        devices = range(len(state.devices))
        pool = await make_pool(devices, PRIVATE_SLOTS, "memory for events")
    finally:
        private.is_growing = False
    private.pools.append(pool)
    private.free.extend(Slot(pool, index) for index in range(pool.count))


def give_slot(state: DriverState, slot: Slot) -> None:
    """Give a slot back."""
    state.private_slots.free.append(slot)


async def make_pool(devices: Sequence[int], count: int, what: str) -> SlotPool:
    """Make a pool that some devices know, the first of which makes it.

    Raises:
        ZeError: no memory for it; a device is lost. There is no pool then.
    """
    home = devices[0]
    pool = await _join(home, FencePoolCreate(request=0, slot_count=count), what)
    if len(devices) == 1:
        return pool
    undo = Undo()
    undo.add(lambda: drop_pool(pool))
    try:
        token = await export_pool(pool)
        for device in devices[1:]:
            await add_device(pool, device, token, what)
        await revoke_token(home, token)
    except BaseException:
        await undo.run()
        raise
    return pool


async def open_pool(device: int, token: bytes) -> SlotPool:
    """Open a pool of this or another process on one device.

    Raises:
        Refusal: no pool has this token.
        ZeError: it cannot be mapped; the device is lost. Nothing is open then.
    """
    return await _join(device, FencePoolOpen(request=0, token=token), "")


async def add_device(pool: SlotPool, device: int, token: bytes, what: str) -> None:
    """Let one more device know a pool.

    Raises:
        ZeError: it has no room for it, or is lost.
    """
    try:
        answer = await exchange(device, FencePoolOpen(request=0, token=token))
    except Refusal as refusal:
        raise failed(refusal, f"{what} cannot be made") from refusal
    for descriptor in answer.descriptors:
        await CloseDescriptor(descriptor)
    pool.numbers[device] = expect(answer.reply, FencePoolOpened).pool


async def export_pool(pool: SlotPool) -> bytes:
    """Return a new token that opens a pool.

    Raises:
        Refusal: the device has no room for one more.
    """
    command = FencePoolExport(request=0, pool=pool.numbers[pool.home])
    return (await call(pool.home, command, FencePoolExported)).token


async def revoke_token(device: int, token: bytes) -> None:
    """Take a token back.

    Raises:
        Refusal: it is not live.
    """
    await call(device, FencePoolRevoke(request=0, token=token), Done)


async def drop_pool(pool: SlotPool) -> None:
    """Give a pool up on every device and unmap it.

    Raises:
        Refusal: a queue of this process waits for a slot of it (IN_USE); nothing changed.
        ZeError: a device is lost; the pool is gone all the same.
    """
    lost: ZeError | None = None
    for device, number in list(pool.numbers.items()):
        try:
            await call(device, FencePoolClose(request=0, pool=number), Done)
        except ZeError as error:
            lost = error
        del pool.numbers[device]
    await LeaveSlots(pool.home, pool.memory)
    if lost is not None:
        raise lost


async def _join(device: int, command: ControlCommand, what: str) -> SlotPool:
    """Have a device make or open a pool, and map it.

    Raises:
        Refusal: only of an open pool (`what` is empty).
        ZeError: see `make_pool`.
    """
    try:
        answer = await exchange(device, command)
    except Refusal as refusal:
        if not what:
            raise
        raise failed(refusal, f"{what} cannot be made") from refusal
    reply = expect(answer.reply, FencePoolOpened)
    problem = answer.problem or "no descriptor came"
    memory: SlotMemory | str = problem
    for descriptor in answer.descriptors:
        memory = await JoinSlots(device, descriptor, reply.size_bytes)
        await CloseDescriptor(descriptor)
    if isinstance(memory, str):
        await call(device, FencePoolClose(request=0, pool=reply.pool), Done)
        raise out_of_host_memory(f"memory for events cannot be mapped: {memory}")
    return SlotPool(memory, reply.slot_count, {device: reply.pool}, device)
