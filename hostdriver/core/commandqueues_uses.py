"""Which work that is not done names an allocation, or belongs to a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.commandqueues_waits import is_done, wait_until
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.state import DriverState


async def users_of(state: DriverState, allocation: int) -> list[tuple[Stream, int]]:
    """Return the streams whose work names an allocation and is not done, with the last command."""
    found: list[tuple[Stream, int]] = []
    for stream in list(state.streams.values()):
        number = stream.uses.get(allocation, 0)
        if number <= stream.done or stream.failure is not None:
            continue
        try:
            if not await is_done(state, stream, number):
                found.append((stream, number))
        except ZeError:
            # It stopped just now: nothing of it runs any more.
            continue
    return found


async def wait_for_users(state: DriverState, allocation: int) -> None:
    """Wait until no work that was handed over before names an allocation.

    Work that failed counts as ended.
    """
    for stream, number in await users_of(state, allocation):
        try:
            await wait_until(state, stream, number, None)
        except ZeError:
            continue


async def count_unfinished(state: DriverState, context: object) -> int:
    """Return how many streams of a context have work that is not done."""
    count = 0
    for stream in list(state.streams.values()):
        if stream.plan.context is context and stream.failure is None:
            try:
                count += not await is_done(state, stream, stream.issued)
            except ZeError:
                continue
    return count
