"""Counting events without a pool: made, opened, shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.counting import create_counter, open_counter
from hostdriver.api.event_structures import EventCounterBasedDesc
from hostdriver.channel.convert import descriptor
from hostdriver.channel.names import ContextRecord
from hostdriver.channel.work import EventRecord, put_event
from hostdriver.core import counters
from hostdriver.core.eventpools import check_event
from hostdriver.core.failures import invalid_synchronization_object
from hostdriver.core.work_enums import EventCounterBasedFlags

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _create(state: DriverState, names: Names, call: Arguments) -> None:
    names.need(ContextRecord, call.handle("hContext"))
    device = names.record(call.handle("hDevice")).device
    desc = descriptor(EventCounterBasedDesc, call.structure("desc"))
    counter, flags = await create_counter(state, desc)
    scopes = int(desc.signal), int(desc.wait)
    made = EventRecord(counter.event, 0, 0, *scopes, counter, int(flags), device)
    put_event(call, "phEvent", names.add(made), counter.event)


async def _open(state: DriverState, names: Names, call: Arguments) -> None:
    names.need(ContextRecord, call.handle("hContext"))
    counter = await open_counter(state, call.blob("hIpc"))
    flags = int(EventCounterBasedFlags.IPC)
    made = EventRecord(counter.event, 0, 0, 0, 0, counter, flags)
    put_event(call, "phEvent", names.add(made), counter.event)


async def _get_handle(state: DriverState, names: Names, call: Arguments) -> None:
    record = names.need(EventRecord, call.handle("hEvent"))
    if record.counter is None:
        raise invalid_synchronization_object(f"{record.event.name} has no handle of its own")
    call.put("phIpc", await counters.get_counter_handle(state, record.counter))


async def _close(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hEvent")
    record = names.need(EventRecord, number)
    if record.counter is None:
        raise counters.not_opened(record.event)
    await counters.close_counter(state, record.counter)
    names.drop(EventRecord, number)


async def _get_address(state: DriverState, names: Names, call: Arguments) -> None:
    event = names.need(EventRecord, call.handle("hEvent")).event
    value, address = await counters.device_address(state, event)
    call.put("completionValue", value)
    call.put("deviceAddress", address)


async def _get_flags(state: DriverState, names: Names, call: Arguments) -> None:
    record = names.need(EventRecord, call.handle("hEvent"))
    check_event(state, record.event)
    call.put("pFlags", record.flags)


HANDLERS: Final = {
    "zeEventCounterBasedCloseIpcHandle": _close,
    "zeEventCounterBasedCreate": _create,
    "zeEventCounterBasedGetDeviceAddress": _get_address,
    "zeEventCounterBasedGetIpcHandle": _get_handle,
    "zeEventCounterBasedOpenIpcHandle": _open,
    "zeEventGetCounterBasedFlags": _get_flags,
}
