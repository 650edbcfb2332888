"""What is appended to command lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import command_append
from hostdriver.api import command_append_events as append_events
from hostdriver.api.command_host_function import host_function
from hostdriver.api.command_list import Sync
from hostdriver.api.command_regions import Side
from hostdriver.api.command_structures import CopyRegion
from hostdriver.channel.convert import chain, descriptor
from hostdriver.channel.names import ContextRecord
from hostdriver.channel.work import EventRecord, ListRecord
from hostdriver.core.failures import invalid_size, null_handle
from hostdriver.core.streamquestions import ProgramFunction

if TYPE_CHECKING:
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.events import Event
    from hostdriver.core.state import DriverState


async def _copy(state: DriverState, names: Names, call: Arguments) -> None:
    if call.spec.name == "zeCommandListAppendMemoryCopyFromContext":
        names.need(ContextRecord, call.handle("hContextSrc"))
    destination, source = call.number("dstptr"), call.number("srcptr")
    sync, links = _sync(names, call), _links(call)
    target, size = _target(names, call), call.number("size")
    await command_append.memory_copy(state, target, destination, source, size, sync, links)


async def _fill(state: DriverState, names: Names, call: Arguments) -> None:
    pointer, size = call.number("ptr"), call.number("size")
    target, sync, links = _target(names, call), _sync(names, call), _links(call)
    pattern = call.blob("pattern")
    await command_append.memory_fill(state, target, pointer, pattern, size, sync, links)


async def _copy_region(state: DriverState, names: Names, call: Arguments) -> None:
    to, out_of = (
        Side(
            side,
            call.number(f"{side}ptr"),
            descriptor(CopyRegion, call.structure(f"{side}Region")),
            call.number(f"{side}Pitch"),
            call.number(f"{side}SlicePitch"),
        )
        for side in ("dst", "src")
    )
    await command_append.memory_copy_region(
        state, _target(names, call), to, out_of, _sync(names, call)
    )


async def _prefetch(state: DriverState, names: Names, call: Arguments) -> None:
    pointer, size = call.number("ptr"), call.number("size")
    await command_append.memory_prefetch(state, _target(names, call), pointer, size)


async def _advise(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    pointer, size, advice = call.number("ptr"), call.number("size"), call.number("advice")
    await command_append.mem_advise(state, _target(names, call), device, pointer, size, advice)


async def _barrier(state: DriverState, names: Names, call: Arguments) -> None:
    await command_append.barrier(state, _target(names, call), _sync(names, call))


async def _ranges_barrier(state: DriverState, names: Names, call: Arguments) -> None:
    pointers, sizes = call.numbers("pRanges"), call.numbers("pRangeSizes")
    ranges = list(zip(pointers, sizes, strict=False))
    await command_append.memory_ranges_barrier(
        state, _target(names, call), ranges, _sync(names, call)
    )


async def _host_function(state: DriverState, names: Names, call: Arguments) -> None:
    address, user_data = call.number("pfnHostFunction"), call.number("pUserData")
    function = ProgramFunction(address, user_data) if address else None
    target, sync, links = _target(names, call), _sync(names, call), _links(call)
    await host_function(state, target, function, sync, links)


async def _command_lists(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hCommandListImmediate")
    target = names.need(ListRecord, number).target
    lists = [names.need(ListRecord, item or None).target for item in call.numbers("phCommandLists")]
    sync, links = _sync(names, call), _links(call)
    await append_events.command_lists(state, target, lists, sync, links)


def _target(names: Names, call: Arguments) -> CommandList | Stream:
    return names.need(ListRecord, call.handle("hCommandList")).target


async def _signal_event(state: DriverState, names: Names, call: Arguments) -> None:
    target, event = _target(names, call), _event(names, call.handle("hEvent"))
    await append_events.signal_event(state, target, event, _links(call))


async def _reset_event(state: DriverState, names: Names, call: Arguments) -> None:
    event = _event(names, call.handle("hEvent"))
    await append_events.event_reset(state, _target(names, call), event)


async def _wait_on_events(state: DriverState, names: Names, call: Arguments) -> None:
    target, events = _target(names, call), _events(names, call, "numEvents", "phEvents")
    await append_events.wait_on_events(state, target, events, _links(call))


async def _write_timestamp(state: DriverState, names: Names, call: Arguments) -> None:
    pointer, sync = call.number("dstptr"), _sync(names, call)
    await append_events.write_global_timestamp(state, _target(names, call), pointer, sync)


async def _query_timestamps(state: DriverState, names: Names, call: Arguments) -> None:
    target = _target(names, call)
    events = _events(names, call, "numEvents", "phEvents")
    offsets = call.numbers("pOffsets") or None
    destination, sync = call.number("dstptr"), _sync(names, call)
    await append_events.query_kernel_timestamps(state, target, events, destination, offsets, sync)


def _sync(names: Names, call: Arguments) -> Sync:
    """Return the events around an append.

    Raises:
        ZeError: events are told without an array, or one is none that lives.
    """
    waits = _events(names, call, "numWaitEvents", "phWaitEvents")
    signal = call.handle("hSignalEvent")
    return Sync(None if signal is None else _event(names, signal), waits)


def _events(names: Names, call: Arguments, count: str, array: str) -> tuple[Event, ...]:
    if not call.number(count):
        return ()
    given = call.numbers(array)
    if not given:
        raise invalid_size(f"{count} is above zero and {array} is null")
    return tuple(_event(names, number or None) for number in given)


def _event(names: Names, number: int | None) -> Event:
    if number is None:
        raise null_handle("hEvent")
    return names.need(EventRecord, number).event


def _links(call: Arguments) -> list[ChainedDesc | UnknownDesc]:
    """Return what is chained to a call with parameters."""
    return chain(call.structures("pNext")) if "pNext" in call.values else []


HANDLERS: Final = {
    "zeCommandListAppendBarrier": _barrier,
    "zeCommandListAppendHostFunction": _host_function,
    "zeCommandListAppendMemAdvise": _advise,
    "zeCommandListAppendMemoryCopy": _copy,
    "zeCommandListAppendMemoryCopyFromContext": _copy,
    "zeCommandListAppendMemoryCopyRegion": _copy_region,
    "zeCommandListAppendMemoryCopyWithParameters": _copy,
    "zeCommandListAppendMemoryFill": _fill,
    "zeCommandListAppendMemoryFillWithParameters": _fill,
    "zeCommandListAppendMemoryPrefetch": _prefetch,
    "zeCommandListAppendMemoryRangesBarrier": _ranges_barrier,
    "zeCommandListAppendEventReset": _reset_event,
    "zeCommandListAppendQueryKernelTimestamps": _query_timestamps,
    "zeCommandListAppendSignalEvent": _signal_event,
    "zeCommandListAppendSignalEventWithParameters": _signal_event,
    "zeCommandListAppendWaitOnEvents": _wait_on_events,
    "zeCommandListAppendWaitOnEventsWithParameters": _wait_on_events,
    "zeCommandListAppendWriteGlobalTimestamp": _write_timestamp,
    "zeCommandListImmediateAppendCommandListsExp": _command_lists,
    "zeCommandListImmediateAppendCommandListsWithParameters": _command_lists,
}
