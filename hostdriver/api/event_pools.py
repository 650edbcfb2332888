"""The application's handles of event pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from firmware.abi.ipc import ExportKind
from hostdriver.api.event_checks import read_event_desc, read_pool_desc
from hostdriver.api.event_structures import EventDesc
from hostdriver.api.events import Event
from hostdriver.api.validation import check_device
from hostdriver.core import eventhandles, eventpools
from hostdriver.core.eventpools import PoolTraits
from hostdriver.core.failures import invalid_size
from hostdriver.core.work_enums import EventPoolFlags

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.driver import Driver
    from hostdriver.api.event_structures import EventPoolDesc
    from hostdriver.core.events import Event as EventRecord
    from hostdriver.core.state import DriverState

FIRST_EVENT = EventDesc()
_TIMES = EventPoolFlags.KERNEL_TIMESTAMP | EventPoolFlags.KERNEL_MAPPED_TIMESTAMP


@final
class EventPool:
    """A pool of events, made or opened; a context manager that ends it. Any thread may use it."""

    __slots__ = ("_context", "record")

    def __init__(self, context: Context, record: eventpools.EventPool) -> None:
        self._context = context
        self.record = record
        """What the driver knows of it; for this package."""

    @property
    def driver(self) -> Driver:
        """The driver behind it; for this package."""
        return self._context.driver

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.record.gone:
            return
        if self.record.is_opened:
            self.close_ipc_handle()
        else:
            self.destroy()

    def __repr__(self) -> str:
        return f"<EventPool: {self.record.name}>"

    def destroy(self) -> None:
        """Destroy the pool (zeEventPoolDestroy); who opened it keeps it.

        Raises:
            ZeError: it was opened: it is closed instead; it has events (HANDLE_OBJECT_IN_USE).
        """
        self._context.driver.run(lambda state: eventpools.destroy_event_pool(state, self.record))

    def close_ipc_handle(self) -> None:
        """Close an opened pool and destroy its events (zeEventPoolCloseIpcHandle).

        Raises:
            ZeError: it was not opened; an event of it is used (HANDLE_OBJECT_IN_USE).
        """
        self._context.driver.run(lambda state: eventpools.close_event_pool(state, self.record))

    def event_create(self, desc: EventDesc | None = FIRST_EVENT) -> Event:
        """Make an event of the pool (zeEventCreate).

        Raises:
            ZeError: null descriptor; unknown scopes; an index outside the pool, or taken.
        """

        async def make(state: DriverState) -> tuple[EventRecord, EventDesc]:
            self.record.check(state)
            checked = read_event_desc(state, desc)
            return await eventpools.make_event(state, self.record, checked.index), checked

        record, checked = self._context.driver.run(make)
        return Event(self, self._context, record, checked)

    def get_ipc_handle(self) -> bytes:
        """Return the 64 bytes that name the pool (zeEventPoolGetIpcHandle).

        Raises:
            ZeError: it was made without the IPC flag (INVALID_SYNCHRONIZATION_OBJECT).
        """
        return self._context.driver.run(
            lambda state: eventhandles.get_pool_handle(state, self.record)
        )

    def get_context_handle(self) -> Context:
        """Return the context it was made or opened in (zeEventPoolGetContextHandle)."""
        self._context.driver.glance(self.record.check)
        return self._context

    def get_flags(self) -> int:
        """Return the flags it was made with (zeEventPoolGetFlags)."""
        self._context.driver.glance(self.record.check)
        return self.record.traits.flags


async def create_pool(
    state: DriverState, desc: EventPoolDesc | None, devices: Sequence[Device | None] | None
) -> eventpools.EventPool:
    """Make an event pool (zeEventPoolCreate); without devices it is for all of them.

    Raises:
        ZeError: null descriptor or device; unknown flags or such as exclude each other; a count of
            0, an empty list of devices; no memory for it.
    """
    traits = read_pool_desc(state, desc)
    indices = list(range(len(state.devices)))
    if devices is not None:
        indices = [
            check_device(state, None if device is None else device.index).index
            for device in devices
        ]
        if not indices:
            raise invalid_size("numDevices is 0, but there is an array of devices")
    is_shared = bool(traits.flags & EventPoolFlags.IPC)
    unique = list(dict.fromkeys(indices))
    return await eventpools.make_event_pool(state, traits, unique, is_shared=is_shared)


async def open_pool(state: DriverState, handle: bytes) -> eventpools.EventPool:
    """Open an event pool of another process (zeEventPoolOpenIpcHandle); each call makes a new pool.

    Raises:
        ZeError: bytes that name no live event pool of this emulator.
    """
    shared, named = await eventhandles.open_handle(state, handle, ExportKind.EVENT_POOL)
    flags = named.offset
    traits = PoolTraits(
        flags=flags, count=min(named.size, shared.count), keeps_times=bool(flags & _TIMES)
    )
    return eventpools.enter_pool(
        state, eventpools.EventPool(state.next_id(), traits, shared, is_opened=True)
    )
