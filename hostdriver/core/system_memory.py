"""The application's own memory as an allocation: registered and mapped where it stands.

Nothing is copied and nothing kept: the device reads and writes the pages themselves. With profile
`intel` imports may overlap. Their pages stand in the device's tables once; whoever is freed first
takes them along.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from firmware.abi.control import (
    Allocate,
    ObjectFlags,
    ObjectKind,
    Release,
    ReleaseMode,
    SegmentUnregister,
    Unmap,
)
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, Rights
from firmware.abi.replies import Allocated, Done, Mapped, Released
from firmware.abi.status import Status
from hostdriver.core.allocations import Allocation, AllocationKind, PeerObject
from hostdriver.core.calls import call
from hostdriver.core.questions import FindMissing
from hostdriver.core.results import Refusal, ZeError
from hostdriver.core.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.core.state import DeviceState, DriverState


async def bring_in(state: DriverState, start: int, size: int, *, read_only: bool) -> None:
    """Make an allocation of the application's pages at their own address, for every device.

    Args:
        state: the process.
        start: first address, on a page.
        size: bytes, whole pages.
        read_only: whether devices may only read them.

    Raises:
        Refusal: memory that a device cannot reach or that is mapped already, no room for page
            tables; nothing is left then.
        ZeError: a device is lost.
    """
    made: list[PeerObject] = []
    undo = Undo()
    try:
        for device in state.devices:
            number = await _bring_in_to(state, device, start, size, read_only=read_only)
            made.append(PeerObject(device.index, number))
            undo.add(partial(_take_from, device, start, size, number))
    except Exception:
        await undo.run()
        raise
    own, *peers = made
    allocation = Allocation(
        id=state.next_id(),
        kind=AllocationKind.IMPORTED,
        start=start,
        size=size,
        reserved=size,
        device=own.device,
        object_id=own.object_id,
        page_size=PAGE_SIZE,
        in_arena=False,
        peers=tuple(peers),
    )
    _enter(state, allocation)


async def take_out(state: DriverState, allocation: Allocation, mode: ReleaseMode) -> None:
    """End an allocation of the application's pages; the memory and its bytes stay as they are.

    Work that was submitted can still use it; with WAIT the call ends when that is done. Memory that
    is gone already is noted.

    Raises:
        Refusal: no room to split a page of the device's tables; it is still there.
        ZeError: the device is lost; it is still there.
    """
    allocation.leaving = True
    start, size = allocation.start, allocation.size
    for index, number in (PeerObject(allocation.device, allocation.object_id), *allocation.peers):
        try:
            await _take_from(state.devices[index], start, size, number, mode)
        except (Refusal, ZeError):
            if index == allocation.device:
                allocation.leaving = False
                raise
            # Only a lost device does not do it, and that shows nothing to anybody any more.
    _remove(state, allocation)
    missing = await FindMissing(start, size)
    if missing is not None:
        state.note = (
            f"the application took its memory at {missing:#x} away before it freed the allocation"
            f" at {start:#x}, which uses it"
        )


async def _bring_in_to(
    state: DriverState, device: DeviceState, start: int, size: int, *, read_only: bool
) -> int:
    """Register and map pages on one device, both or none; return the object's number."""
    command = Allocate(
        request=0,
        vmid=device.vmid,
        kind=ObjectKind.CLIENT_PAGES,
        flags=ObjectFlags.READ_ONLY if read_only else ObjectFlags.NONE,
        rights=Rights.READ if read_only else ALL_RIGHTS,
        va=start,
        size_bytes=size,
        page_size=0,
    )
    try:
        made = await call(device.index, command, Allocated)
    except Refusal as refusal:
        others = any(system_memory_in(state, start, start + size))
        if refusal.status is not Status.OVERLAP or not others:
            raise
        # Their pages are these pages: mapped anew, at the same address.
        await _unmap(device, start, size)
        made = await call(device.index, command, Allocated)
    device.released = made.released
    return made.object_id


async def _take_from(
    device: DeviceState,
    start: int,
    size: int,
    object_id: int,
    mode: ReleaseMode = ReleaseMode.BEHIND_WORK,
) -> None:
    """Take pages away from one device."""
    if not await _release(device, start, size, object_id, mode):
        await _unmap(device, start, size)
        await _unregister(device, object_id)


def system_memory_in(state: DriverState, start: int, end: int) -> Iterator[Allocation]:
    """Iterate over the imports that share an address with [start, end)."""
    for entry in state.allocations.overlapping(start, end):
        if entry.value.kind is AllocationKind.IMPORTED:
            yield entry.value
    for other in state.overlaid:
        if other.start < end and start < other.end:
            yield other


def _enter(state: DriverState, allocation: Allocation) -> None:
    if any(state.allocations.overlapping(allocation.start, allocation.end)):
        state.overlaid.append(allocation)
    else:
        state.allocations.insert(allocation.start, allocation.end, allocation)


def _remove(state: DriverState, allocation: Allocation) -> None:
    """Forget an import; those that only it kept out of the table of allocations come in."""
    if allocation in state.overlaid:
        state.overlaid.remove(allocation)
        return
    state.allocations.remove(allocation.start)
    waiting, state.overlaid = state.overlaid, []
    for other in waiting:
        _enter(state, other)


async def _release(
    device: DeviceState, start: int, size: int, object_id: int, mode: ReleaseMode
) -> bool:
    """Release an import behind the work that uses it; False when another one has its pages."""
    command = Release(
        request=0,
        vmid=device.vmid,
        mode=mode,
        va=start,
        size_bytes=size,
        object_id=object_id,
    )
    try:
        device.released = (await call(device.index, command, Released)).released
    except Refusal as refusal:
        if refusal.status is Status.NOT_MAPPED:
            return False
        raise
    return True


async def _unmap(device: DeviceState, start: int, size: int) -> None:
    await call(device.index, Unmap(request=0, vmid=device.vmid, va=start, size_bytes=size), Mapped)


async def _unregister(device: DeviceState, object_id: int) -> None:
    await call(device.index, SegmentUnregister(request=0, object_id=object_id), Done)
