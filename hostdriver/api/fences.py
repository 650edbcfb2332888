"""The application's handles of fences: signalled when a queue has done what it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.api.validation import check_flags
from hostdriver.core import eventpools, eventwaits
from hostdriver.core.events import Event
from hostdriver.core.failures import null_pointer
from hostdriver.core.slotmemory import REACHED
from hostdriver.core.slots import take_slot
from hostdriver.core.timeouts import INFINITE, timeout_left
from hostdriver.core.work_enums import FenceFlags

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.driver import Driver
    from hostdriver.api.event_structures import FenceDesc
    from hostdriver.core.state import DriverState


@final
class Fence:
    """A fence of a queue. Any thread may use it."""

    __slots__ = ("_context", "record")

    def __init__(self, context: Context, record: Event) -> None:
        self._context = context
        self.record = record
        """What the driver knows of it; for this package."""

    @property
    def driver(self) -> Driver:
        """The driver behind it; for this package."""
        return self._context.driver

    def __repr__(self) -> str:
        return f"<Fence: {self.record.name}>"

    def destroy(self) -> None:
        """Destroy the fence (zeFenceDestroy).

        Raises:
            ZeError: destroyed already; what is to signal it is not done, or a call waits for it
                (HANDLE_OBJECT_IN_USE).
        """
        self._context.driver.run(lambda state: eventpools.end_fence(state, self.record))

    def host_synchronize(self, timeout: int = INFINITE) -> None:
        """Wait, at most so many nanoseconds, until it is signalled (zeFenceHostSynchronize).

        Raises:
            ZeError: time is up (NOT_READY); the queue failed, or the device is gone (DEVICE_LOST).
        """
        spent = self.record.direct.wait(timeout)
        if spent == REACHED:
            return
        left = timeout_left(timeout, spent)
        self._context.driver.run(lambda state: eventwaits.synchronize(state, self.record, 0, left))

    def query_status(self) -> None:
        """Do nothing when the fence is signalled (zeFenceQueryStatus).

        Raises:
            ZeError: it is not (NOT_READY), or never will be (DEVICE_LOST).
        """
        if not self.record.direct.is_set():
            self._context.driver.run(lambda state: eventwaits.check_done(state, self.record, 0))

    def reset(self) -> None:
        """Make the fence not signalled (zeFenceReset)."""
        if not self.record.direct.clear():
            self._context.driver.glance(lambda state: eventwaits.reset(state, self.record))


async def create_fence(state: DriverState, desc: FenceDesc | None) -> Event:
    """Make the record of a fence (zeFenceCreate), signalled or not.

    Raises:
        ZeError: null descriptor; unknown flags; no memory for it.
    """
    if desc is None:
        raise null_pointer("desc")
    flags = check_flags(FenceFlags, desc.flags, "desc.flags")
    slot = await take_slot(state)
    direct = slot.pool.memory.direct(slot.index)
    fence = Event(state.next_id(), slot, what="fence", direct=direct)
    state.events[fence.id] = fence
    if flags & FenceFlags.SIGNALED:
        slot.pool.memory.signal(slot.index, 1)
    return fence
