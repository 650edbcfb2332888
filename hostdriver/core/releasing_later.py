"""Freeing memory that commands in the driver's backlog name: when the devices have all of them.

A device keeps memory until the work in its rings is done; of a backlog it knows nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import ReleaseMode
from hostdriver.core.questions import Beside, Pause
from hostdriver.core.releasing import unmake
from hostdriver.core.results import Refusal, ZeError

if TYPE_CHECKING:
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.state import DriverState


def is_in_backlog(state: DriverState, allocation: Allocation) -> bool:
    """Whether a device is still to be given work that names an allocation."""
    return any(
        stream.failure is None and stream.uses.get(allocation.id, 0) > stream.entered
        for stream in state.streams.values()
    )


async def unmake_later(state: DriverState, allocation: Allocation) -> None:
    """Take an allocation away when no backlog names it any more; does not wait for that.

    From now on no call may use it.
    """
    allocation.leaving = True
    state.leaving.append(allocation)
    if len(state.leaving) > 1:
        # Whoever takes the first away takes them all.
        return
    if await Beside(lambda: _unmake_all(state)) is not None:
        # Nothing can go on beside: late is better than never.
        await _unmake_all(state)


async def _unmake_all(state: DriverState) -> None:
    while state.leaving:
        for allocation in [one for one in state.leaving if not is_in_backlog(state, one)]:
            if allocation not in state.leaving:
                continue
            state.leaving.remove(allocation)
            try:
                await unmake(state, allocation, ReleaseMode.BEHIND_WORK)
            except (Refusal, ZeError):
                # The device is lost, or keeps it: then it is there again, to be freed once more.
                allocation.leaving = False
                state.allocations.touch(allocation.start, allocation.end)
        if state.leaving:
            await Pause()
