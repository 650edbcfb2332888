"""The application's handles of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from hostdriver.api.event_structures import KernelTimestampData, KernelTimestampResult
from hostdriver.api.validation import check_device
from hostdriver.core import counters, eventpools, eventwaits
from hostdriver.core.failures import invalid_argument, invalid_synchronization_object
from hostdriver.core.slotmemory import REACHED
from hostdriver.core.timeouts import INFINITE, timeout_left

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.driver import Driver
    from hostdriver.api.event_pools import EventPool
    from hostdriver.api.event_structures import EventCounterBasedDesc, EventDesc
    from hostdriver.core.counters import Counter
    from hostdriver.core.events import Event as EventRecord
    from hostdriver.core.state import DriverState
    from hostdriver.core.work_enums import EventCounterBasedFlags

_MOMENT: Final = 1_000_000
"""Nanoseconds: some times as long as a wait spins. A shorter time limit is left to the wait."""


class EventBase:
    """What events of all kinds can do. Any thread may use one.

    Every function fails with a `ZeError`: the event was destroyed (INVALID_ARGUMENT), is of another
    kind (INVALID_SYNCHRONIZATION_OBJECT); see the specification for the rest.
    """

    __slots__ = ("_context", "_desc", "_device", "record")

    def __init__(
        self,
        context: Context,
        record: EventRecord,
        desc: EventDesc | EventCounterBasedDesc,
        device: int,
    ) -> None:
        self._context = context
        self._desc = desc
        self._device = device
        self.record = record
        """What the driver knows of it; for this package."""

    @property
    def driver(self) -> Driver:
        """The driver behind it; for this package."""
        return self._context.driver

    def __repr__(self) -> str:
        return f"<Event: {self.record.name}>"

    def host_signal(self) -> None:
        """Signal the event (zeEventHostSignal): every wait for it ends, wherever it waits."""
        if not self.record.direct.signal():
            self._context.driver.glance(lambda state: eventwaits.signal(state, self.record))

    def host_reset(self) -> None:
        """Make the event not signalled (zeEventHostReset)."""
        if not self.record.direct.clear():
            self._context.driver.glance(lambda state: eventwaits.reset(state, self.record))

    def query_status(self) -> None:
        """Do nothing when the event is signalled (zeEventQueryStatus).

        Raises:
            ZeError: it is not (NOT_READY), or never will be (DEVICE_LOST).
        """
        if self.record.direct.is_set():
            return
        if self.record.storage is None and self._context.driver.glance(self._is_reached):
            return
        self._context.driver.run(
            lambda state: eventwaits.check_done(state, self.record, self._device)
        )

    def is_signalled(self) -> bool:
        """Return whether the event is signalled.

        Raises:
            ZeError: it never will be (DEVICE_LOST).
        """
        if self.record.storage is None:
            return self._context.driver.glance(self._is_reached)
        return self._context.driver.run(
            lambda state: eventwaits.is_done(state, self.record, self._device)
        )

    def host_synchronize(self, timeout: int = INFINITE) -> None:
        """Wait, at most so many nanoseconds, until it is signalled (zeEventHostSynchronize).

        Raises:
            ZeError: time is up (NOT_READY); what would have signalled it failed, or the device is
                gone (DEVICE_LOST).
        """
        spent = self.record.direct.wait(timeout)
        if spent == REACHED:
            return
        # Spinning before an operation begins, not inside it, spares its way in and out.
        look = self._is_reached if spent or timeout < _MOMENT else self._is_reached_soon
        if self.record.storage is None and self._context.driver.glance(look):
            return
        left = timeout_left(timeout, spent)
        self._context.driver.run(
            lambda state: eventwaits.synchronize(state, self.record, self._device, left)
        )

    def query_kernel_timestamp(self) -> KernelTimestampResult:
        """Return begin and end of what signalled the event (zeEventQueryKernelTimestamp).

        Raises:
            ZeError: the event keeps no times; it is not signalled (NOT_READY).
        """
        found = self._context.driver.glance(lambda state: eventwaits.read_times(state, self.record))
        data = KernelTimestampData(*found)
        return KernelTimestampResult(data, data)

    def query_timestamps_exp(self, device: Device | None) -> tuple[KernelTimestampResult, ...]:
        """Return begin and end of each part of what signalled it (zeEventQueryTimestampsExp).

        There is one part: devices here run a command whole.
        """
        self._check_device(device)
        return (self.query_kernel_timestamp(),)

    def query_kernel_timestamps_ext(
        self, device: Device | None
    ) -> tuple[KernelTimestampResult, ...]:
        """Return the times of each part (zeEventQueryKernelTimestampsExt).

        They count in the device's clock, which is the host's: the synchronised times are the same.
        """
        self._check_device(device)
        return (self.query_kernel_timestamp(),)

    def get_signal_scope(self) -> int:
        """Return the scope of signals (zeEventGetSignalScope)."""
        self._context.driver.glance(lambda state: eventpools.check_event(state, self.record))
        return self._desc.signal

    def get_wait_scope(self) -> int:
        """Return the scope of waits (zeEventGetWaitScope)."""
        self._context.driver.glance(lambda state: eventpools.check_event(state, self.record))
        return self._desc.wait

    def counter_based_get_ipc_handle(self) -> bytes:
        """Refuse: only events of zeEventCounterBasedCreate have handles of their own."""
        raise invalid_synchronization_object(f"{self.record.name} has no handle of its own")

    def counter_based_get_device_address(self) -> tuple[int, int]:
        """Return the value that a counting event is to reach, and the address where it counts.

        Devices read there what the event holds now; see zeEventCounterBasedGetDeviceAddress.

        Raises:
            ZeError: the event does not count (INVALID_ARGUMENT).
        """
        return self._context.driver.run(lambda state: counters.device_address(state, self.record))

    def counter_based_close_ipc_handle(self) -> None:
        """Refuse: the event was not opened."""
        raise counters.not_opened(self.record)

    def _is_reached(self, state: DriverState) -> bool:
        return eventwaits.is_reached(state, self.record)

    def _is_reached_soon(self, state: DriverState) -> bool:
        return eventwaits.is_reached_soon(state, self.record)

    def _check_device(self, device: Device | None) -> None:
        index = None if device is None else device.index
        self._context.driver.glance(lambda state: check_device(state, index))


@final
class Event(EventBase):
    """An event of a pool."""

    __slots__ = ("_index", "_pool")

    def __init__(
        self, pool: EventPool, context: Context, record: EventRecord, desc: EventDesc
    ) -> None:
        super().__init__(context, record, desc, 0)
        self._pool = pool
        self._index = desc.index

    def destroy(self) -> None:
        """Destroy the event (zeEventDestroy).

        Raises:
            ZeError: destroyed already; work that names it is not done, or a queue or a call waits
                for it (HANDLE_OBJECT_IN_USE).
        """
        self._context.driver.run(
            lambda state: eventpools.end_event(state, self.record, self._pool.record, self._index)
        )

    def get_event_pool(self) -> EventPool:
        """Return the pool that it belongs to (zeEventGetEventPool)."""
        self._context.driver.glance(lambda state: eventpools.check_event(state, self.record))
        return self._pool

    def get_counter_based_flags(self) -> int:
        """Return for which lists it counts, 0 if it does not (zeEventGetCounterBasedFlags)."""
        self._context.driver.glance(lambda state: eventpools.check_event(state, self.record))
        return self._pool.record.traits.counting


@final
class CounterEvent(EventBase):
    """A counting event without a pool: no signal of it is ever reset."""

    __slots__ = ("_counter", "_flags")

    def __init__(
        self,
        context: Context,
        counter: Counter,
        desc: EventCounterBasedDesc,
        flags: EventCounterBasedFlags,
        device: int,
    ) -> None:
        super().__init__(context, counter.event, desc, device)
        self._counter = counter
        self._flags = flags

    def destroy(self) -> None:
        """Destroy the event (zeEventDestroy).

        Raises:
            ZeError: see `Event.destroy`.
        """
        self._context.driver.run(lambda state: counters.end_counter(state, self._counter))

    def get_event_pool(self) -> None:
        """Refuse: it has no pool (zeEventGetEventPool)."""
        raise invalid_argument(f"{self.record.name} has no pool")

    def get_counter_based_flags(self) -> int:
        """Return the flags it was made with (zeEventGetCounterBasedFlags)."""
        self._context.driver.glance(lambda state: eventpools.check_event(state, self.record))
        return self._flags

    def counter_based_get_ipc_handle(self) -> bytes:
        """Return 64 bytes that name the event as it is now (zeEventCounterBasedGetIpcHandle).

        Raises:
            ZeError: it was not made to be shared (INVALID_SYNCHRONIZATION_OBJECT); it keeps times
                (INVALID_ARGUMENT).
        """
        return self._context.driver.run(
            lambda state: counters.get_counter_handle(state, self._counter)
        )

    def counter_based_close_ipc_handle(self) -> None:
        """Close an event that was opened (zeEventCounterBasedCloseIpcHandle).

        Raises:
            ZeError: it was not opened (INVALID_SYNCHRONIZATION_OBJECT).
        """
        self._context.driver.run(lambda state: counters.close_counter(state, self._counter))
