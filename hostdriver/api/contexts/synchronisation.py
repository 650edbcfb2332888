"""Events and event pools that a context makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hostdriver.api import counting, event_pools
from hostdriver.api.contexts.base import ContextBase
from hostdriver.api.event_structures import EventCounterBasedDesc
from hostdriver.api.events import CounterEvent
from hostdriver.api.validation import check_device
from hostdriver.core import eventhandles
from hostdriver.core.work_enums import EventCounterBasedFlags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.event_structures import EventPoolDesc
    from hostdriver.core.counters import Counter
    from hostdriver.core.state import DriverState

COUNTER_DESC = EventCounterBasedDesc()


class Synchronisation(ContextBase):
    """Functions zeEventPool and zeEventCounterBased that make and open."""

    __slots__ = ()

    def event_pool_create(
        self, desc: EventPoolDesc | None, devices: Sequence[Device | None] | None = None
    ) -> event_pools.EventPool:
        """Make an event pool for some devices, or for all (zeEventPoolCreate)."""
        record = self.run(lambda state: event_pools.create_pool(state, desc, devices))
        return event_pools.EventPool(cast("Context", self), record)

    def event_pool_open_ipc_handle(self, handle: Buffer) -> event_pools.EventPool:
        """Open an event pool of another process (zeEventPoolOpenIpcHandle)."""
        record = self.run(lambda state: event_pools.open_pool(state, bytes(handle)))
        return event_pools.EventPool(cast("Context", self), record)

    def event_pool_put_ipc_handle(self, handle: Buffer) -> None:
        """Give the handle of an event pool back: it opens no more (zeEventPoolPutIpcHandle)."""
        self.run(lambda state: eventhandles.put_pool_handle(state, bytes(handle)))

    def event_counter_based_create(
        self, device: Device | None, desc: EventCounterBasedDesc | None = COUNTER_DESC
    ) -> CounterEvent:
        """Make a counting event without a pool (zeEventCounterBasedCreate)."""
        index = self.index_of(device)

        async def make(state: DriverState) -> tuple[Counter, EventCounterBasedFlags]:
            check_device(state, index)
            return await counting.create_counter(state, desc)

        counter, flags = self.run(make)
        return CounterEvent(cast("Context", self), counter, desc or COUNTER_DESC, flags, index or 0)

    def event_counter_based_open_ipc_handle(self, handle: Buffer) -> CounterEvent:
        """Open a counting event of another process (zeEventCounterBasedOpenIpcHandle)."""
        counter = self.run(lambda state: counting.open_counter(state, bytes(handle)))
        flags = EventCounterBasedFlags.IPC
        return CounterEvent(cast("Context", self), counter, COUNTER_DESC, flags, 0)
