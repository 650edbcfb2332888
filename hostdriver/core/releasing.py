"""Taking an allocation away: at once, or behind the work that uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.control import Release, ReleaseMode
from firmware.abi.replies import Released
from hostdriver.core.addresses import Place, cover, give_or_keep, give_uncovered
from hostdriver.core.allocations import Allocation, AllocationKind, PeerObject
from hostdriver.core.calls import call
from hostdriver.core.memoryfiles import close_files
from hostdriver.core.results import Refusal, ZeError
from hostdriver.core.system_memory import take_out

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState


class DeferredPlace(NamedTuple):
    """Addresses that may be used again when devices have done what they were told to."""

    place: Place
    releases: tuple[tuple[int, int], ...]
    """Devices, and the number of the release on each."""
    is_covered: bool = True
    """Whether the CPU sees nothing there any more."""


async def unmake(state: DriverState, allocation: Allocation, mode: ReleaseMode) -> None:
    """Take an allocation away: no pointer into it is one of the driver's any more.

    Work that was submitted runs as if nothing had happened. The memory goes when the last command
    that names it is done; with WAIT the call ends then, else at once.

    Raises:
        Refusal: its device refused; it is still there.
        ZeError: its device is lost; it is still there.
    """
    if allocation.kind is AllocationKind.IMPORTED:
        await take_out(state, allocation, mode)
        return
    await give_deferred_addresses(state)
    allocation.leaving = True
    try:
        waiting = await _release_everywhere(state, allocation, mode)
    except Exception:
        allocation.leaving = False
        raise
    place = Place(allocation.start, allocation.reserved, allocation.in_arena)
    # The devices have given the memory up: from here on it is gone, whatever the system says.
    is_covered = not allocation.is_host_visible or await cover(place.va, place.size)
    await close_files(allocation)
    state.allocations.remove(allocation.start)
    if waiting:
        state.deferred.append(DeferredPlace(place, waiting, is_covered))
    else:
        await give_or_keep(state, place, is_covered=is_covered)


async def give_deferred_addresses(state: DriverState) -> None:
    """Give addresses back whose release was still to come when they were last looked at."""
    await give_uncovered(state)
    if not state.deferred:
        return
    waiting, state.deferred = state.deferred, []
    done: list[DeferredPlace] = []
    for deferred in waiting:
        if all(number <= state.devices[index].released for index, number in deferred.releases):
            done.append(deferred)
        else:
            state.deferred.append(deferred)
    for deferred in done:
        await give_or_keep(state, deferred.place, is_covered=deferred.is_covered)


async def _release_everywhere(
    state: DriverState, allocation: Allocation, mode: ReleaseMode
) -> tuple[tuple[int, int], ...]:
    """Release memory on every device that maps it; return the releases that are still to come."""
    own = PeerObject(allocation.device, allocation.object_id)
    waiting: list[tuple[int, int]] = []
    for index, object_id in (own, *allocation.peers):
        device = state.devices[index]
        command = Release(
            request=0,
            vmid=device.vmid,
            mode=mode,
            va=allocation.start,
            size_bytes=allocation.reserved,
            object_id=object_id,
        )
        try:
            released = await call(index, command, Released)
        except (Refusal, ZeError):
            if index == allocation.device:
                raise
            # Only a lost device does not do it, and that shows nothing to anybody any more.
            continue
        device.released = released.released
        if released.number:
            waiting.append((index, released.number))
    return tuple(waiting)
