"""Counting events without a pool: made and opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.event_checks import read_counter_desc
from hostdriver.core import counters
from hostdriver.core.state import Profile
from hostdriver.core.work_enums import EventCounterBasedFlags

if TYPE_CHECKING:
    from hostdriver.api.event_structures import EventCounterBasedDesc
    from hostdriver.core.counters import Counter
    from hostdriver.core.state import DriverState

_TIMES: Final = EventCounterBasedFlags.DEVICE_TIMESTAMP | EventCounterBasedFlags.HOST_TIMESTAMP


async def create_counter(
    state: DriverState, desc: EventCounterBasedDesc | None
) -> tuple[Counter, EventCounterBasedFlags]:
    """Make a counting event (zeEventCounterBasedCreate); return it with its flags.

    Raises:
        ZeError: see `read_counter_desc`; no memory for it; a device is lost.
    """
    flags, storage = read_counter_desc(state, desc)
    made = await counters.make_counter(
        state,
        storage=storage,
        is_shared=EventCounterBasedFlags.IPC in flags,
        keeps_times=bool(flags & _TIMES),
    )
    return made, flags


async def open_counter(state: DriverState, handle: bytes) -> Counter:
    """Open a counting event of this or another process (zeEventCounterBasedOpenIpcHandle).

    With profile `intel` it can only be waited for.

    Raises:
        ZeError: the bytes name no live event; no memory for it; a device is lost.
    """
    may_signal = state.profile is Profile.SPEC
    return await counters.open_counter(state, handle, may_signal=may_signal)
