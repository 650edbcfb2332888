"""Events and event pools: made, signalled, waited for, shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import event_pools
from hostdriver.api.event_checks import read_event_desc
from hostdriver.api.event_structures import EventDesc, EventPoolDesc
from hostdriver.channel.convert import descriptor
from hostdriver.channel.names import ContextRecord
from hostdriver.channel.work import EventRecord, PoolRecord, put_event
from hostdriver.core import counters, eventhandles, eventpools, eventwaits
from hostdriver.core.failures import (
    invalid_argument,
    invalid_size,
)
from hostdriver.core.questions import StoreBytes

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _create_pool(state: DriverState, names: Names, call: Arguments) -> None:
    context = call.handle("hContext") or 0
    names.need(ContextRecord, context)
    desc = descriptor(EventPoolDesc, call.structure("desc"))
    devices = call.numbers("phDevices")
    if call.number("numDevices") and not devices:
        raise invalid_size("numDevices is above zero and phDevices is null")
    for number in devices:
        names.record(number or None)
    pool = await event_pools.create_pool(state, desc, None)
    call.put("phEventPool", names.add(PoolRecord(pool, context)))


async def _destroy_pool(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hEventPool")
    await eventpools.destroy_event_pool(state, names.need(PoolRecord, number).pool)
    names.drop(PoolRecord, number)


async def _close_pool(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hEventPool")
    await eventpools.close_event_pool(state, names.need(PoolRecord, number).pool)
    names.drop(PoolRecord, number)
    names.drop_those(EventRecord, lambda record: record.event.gone)


async def _get_pool_handle(state: DriverState, names: Names, call: Arguments) -> None:
    pool = names.need(PoolRecord, call.handle("hEventPool")).pool
    call.put("phIpc", await eventhandles.get_pool_handle(state, pool))


async def _put_pool_handle(state: DriverState, _: Names, call: Arguments) -> None:
    await eventhandles.put_pool_handle(state, call.blob("hIpc"))


async def _open_pool(state: DriverState, names: Names, call: Arguments) -> None:
    context = call.handle("hContext") or 0
    names.need(ContextRecord, context)
    pool = await event_pools.open_pool(state, call.blob("hIpc"))
    call.put("phEventPool", names.add(PoolRecord(pool, context)))


async def _tell_pool(state: DriverState, names: Names, call: Arguments) -> None:
    record = names.need(PoolRecord, call.handle("hEventPool"))
    record.pool.check(state)
    call.put("phContext", record.context)
    call.put("pFlags", record.pool.traits.flags)


async def _create(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hEventPool") or 0
    pool = names.need(PoolRecord, number).pool
    pool.check(state)
    desc = read_event_desc(state, descriptor(EventDesc, call.structure("desc")))
    event = await eventpools.make_event(state, pool, desc.index)
    made = EventRecord(
        event, number, desc.index, int(desc.signal), int(desc.wait), flags=pool.traits.counting
    )
    put_event(call, "phEvent", names.add(made), event)


async def _destroy(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hEvent")
    record = names.need(EventRecord, number)
    if record.counter is not None:
        await counters.end_counter(state, record.counter)
    else:
        pool = names.need(PoolRecord, record.pool).pool
        await eventpools.end_event(state, record.event, pool, record.place)
    names.drop(EventRecord, number)


async def _host_signal(state: DriverState, names: Names, call: Arguments) -> None:
    eventwaits.signal(state, _record(names, call).event)


async def _host_reset(state: DriverState, names: Names, call: Arguments) -> None:
    eventwaits.reset(state, _record(names, call).event)


async def _query(state: DriverState, names: Names, call: Arguments) -> None:
    record = _record(names, call)
    await eventwaits.check_done(state, record.event, record.device)


async def _synchronize(state: DriverState, names: Names, call: Arguments) -> None:
    record = _record(names, call)
    await eventwaits.synchronize(state, record.event, record.device, call.number("timeout"))


async def _query_timestamp(state: DriverState, names: Names, call: Arguments) -> None:
    call.put("dstptr", _times(state, names, call))


async def _query_timestamps(state: DriverState, names: Names, call: Arguments) -> None:
    times = _times(state, names, call)
    if call.number("pCount"):
        for structure in call.structures("pTimestamps")[:1]:
            half = len(times) // 2
            structure.fill(**{"global": times[:half], "context": times[half:]})
            call.outputs["pTimestamps"] = [structure]
    call.put("pCount", 1)


async def _query_timestamps_ext(state: DriverState, names: Names, call: Arguments) -> None:
    """Store the times of an event's one part where the program wants them.

    They count in the device's clock, which is the host's: the synchronised times are the same.
    """
    times = _times(state, names, call)
    if call.number("pCount") and "pResults" in call.wanted:
        results = call.structure("pResults")
        for name in ("pKernelTimestampsBuffer", "pSynchronizedTimestampsBuffer"):
            if address := results.number(name):
                await StoreBytes(address, memoryview(times))
    call.put("pCount", 1)


def _times(state: DriverState, names: Names, call: Arguments) -> bytes:
    """Return begin and end of an event as both clocks tell them."""
    start, end = eventwaits.read_times(state, _record(names, call).event)
    return 2 * (start.to_bytes(8, "little") + end.to_bytes(8, "little"))


async def _tell(state: DriverState, names: Names, call: Arguments) -> None:
    record = _record(names, call)
    eventpools.check_event(state, record.event)
    if call.spec.name == "zeEventGetEventPool" and not record.pool:
        raise invalid_argument(f"{record.event.name} has no pool")
    call.put("phEventPool", record.pool)
    call.put("pSignalScope", record.signal)
    call.put("pWaitScope", record.wait)


def _record(names: Names, call: Arguments) -> EventRecord:
    return names.need(EventRecord, call.handle("hEvent"))


HANDLERS: Final = {
    "zeEventCreate": _create,
    "zeEventDestroy": _destroy,
    "zeEventGetEventPool": _tell,
    "zeEventGetSignalScope": _tell,
    "zeEventGetWaitScope": _tell,
    "zeEventHostReset": _host_reset,
    "zeEventHostSignal": _host_signal,
    "zeEventHostSynchronize": _synchronize,
    "zeEventPoolCloseIpcHandle": _close_pool,
    "zeEventPoolCreate": _create_pool,
    "zeEventPoolDestroy": _destroy_pool,
    "zeEventPoolGetContextHandle": _tell_pool,
    "zeEventPoolGetFlags": _tell_pool,
    "zeEventPoolGetIpcHandle": _get_pool_handle,
    "zeEventPoolOpenIpcHandle": _open_pool,
    "zeEventPoolPutIpcHandle": _put_pool_handle,
    "zeEventQueryKernelTimestamp": _query_timestamp,
    "zeEventQueryKernelTimestampsExt": _query_timestamps_ext,
    "zeEventQueryStatus": _query,
    "zeEventQueryTimestampsExp": _query_timestamps,
}
