"""Which work that is not done names an allocation or event, or belongs to a context."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hostdriver.core.commandqueues_waits import is_done, wait_until
from hostdriver.core.devicestatistics import device_statistics
from hostdriver.core.failures import in_use
from hostdriver.core.results import Refusal, ZeError

if TYPE_CHECKING:
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.state import DriverState


async def users_of(state: DriverState, named: int) -> list[tuple[Stream, int]]:
    """Return the streams whose work names something and is not done, with the last command.

    `named` is the number of an allocation or event.
    """
    found: list[tuple[Stream, int]] = []
    for stream in list(state.streams.values()):
        number = stream.uses.get(named, 0)
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


async def check_unused(state: DriverState, named: int, name: str) -> None:
    """Do nothing for an event that no work names which is not done.

    Raises:
        ZeError: some does (HANDLE_OBJECT_IN_USE).
    """
    users = await users_of(state, named)
    if not users:
        return
    for device in {stream.device for stream, _ in users}:
        # A device tells of an event before it tells how many commands of the queue are done. Who
        # was told and asks right away is right: after an answer the device has told both.
        with suppress(Refusal, ZeError):
            await device_statistics(device)
    for stream, number in await users_of(state, named):
        raise in_use(f"command {number} of {stream.name} names {name} and is not done")


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
