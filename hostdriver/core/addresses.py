"""Address space of the application: from the arena where there is one, else from the system.

The arena was reserved at once, without access, so that taking addresses from it costs no system
call and no other mapping can ever come between. What is given back to it stays reserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hostdriver.core.questions import ProtectNone, Release, Reserve
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState


class Place(NamedTuple):
    """Addresses that were taken."""

    va: int
    size: int
    in_arena: bool


async def take_addresses(
    state: DriverState, size: int, alignment: int, hint: int = 0
) -> Place | None:
    """Take `size` bytes of address space, at `hint` when that is free, else where it is aligned.

    Args:
        state: the process.
        size: bytes, whole pages.
        alignment: of the address, a power of two.
        hint: wished address, a multiple of the page size; 0 for none.

    Returns:
        What was taken, or None when there is no room.
    """
    arena = state.arena
    if hint and (arena is None or hint not in arena):
        va = await Reserve(size, hint, alignment)
        if va is not None:
            return Place(va, size, in_arena=False)
        hint = 0
    if arena is not None:
        va = arena.reserve(size, alignment, hint)
        if va is not None:
            return Place(va, size, in_arena=True)
    va = await Reserve(size, 0, alignment)
    return None if va is None else Place(va, size, in_arena=False)


async def give_addresses(state: DriverState, place: Place) -> None:
    """Give back what `take_addresses` took; nothing may be mapped there any more."""
    if place.in_arena and state.arena is not None:
        state.arena.free(place.va)
    else:
        await Release(place.va, place.size)


async def cover(va: int, size: int) -> bool:
    """Make addresses inaccessible at which the CPU saw memory; return whether that was done.

    A process at its limit of mappings cannot: then the memory's bytes are still seen there, and
    the addresses may not be used for anything else.
    """
    try:
        await ProtectNone(va, size)
    except ZeError:
        return False
    return True


async def give_or_keep(state: DriverState, place: Place, *, is_covered: bool) -> None:
    """Give addresses back; those that are not covered are kept until they can be."""
    if is_covered:
        await give_addresses(state, place)
    else:
        state.uncovered.append(place)


async def give_uncovered(state: DriverState) -> None:
    """Give back what could not be covered before and can be now."""
    if not state.uncovered:
        return
    places, state.uncovered = state.uncovered, []
    for place in places:
        await give_or_keep(state, place, is_covered=await cover(place.va, place.size))
