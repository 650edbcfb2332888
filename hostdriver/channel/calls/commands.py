"""Command queues and command lists: made, executed, waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import command_list, command_queue
from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
from hostdriver.api.queue_groups import check_queue
from hostdriver.channel.convert import descriptor
from hostdriver.channel.names import ContextRecord
from hostdriver.channel.work import FenceRecord, ListRecord, QueueRecord
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.failures import (
    null_handle,
    null_pointer,
)

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.state import DriverState


async def _create_queue(state: DriverState, names: Names, call: Arguments) -> None:
    context = names.need(ContextRecord, call.handle("hContext"))
    desc = descriptor(CommandQueueDesc, call.structure("desc"))
    device = names.device(call.handle("hDevice"))
    stream = await command_queue.create(state, context, device, desc)
    number = names.add(QueueRecord(stream, desc))
    call.put_noted("phCommandQueue", number, names.rows.take(stream))


async def _destroy_queue(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hCommandQueue")
    stream = names.need(QueueRecord, number).stream
    await command_queue.destroy(state, stream)
    names.rows.give(stream)
    names.drop(QueueRecord, number)


async def _execute(state: DriverState, names: Names, call: Arguments) -> None:
    stream = names.need(QueueRecord, call.handle("hCommandQueue")).stream
    given = call.numbers("phCommandLists")
    if call.number("numCommandLists") and not given:
        raise null_pointer("phCommandLists")
    fence = names.find(FenceRecord, call.handle("hFence"))
    lists = [names.need(ListRecord, number or None).target for number in given]
    await command_queue.execute_lists(state, stream, lists, None if fence is None else fence.event)


async def _synchronize_queue(state: DriverState, names: Names, call: Arguments) -> None:
    stream = names.need(QueueRecord, call.handle("hCommandQueue")).stream
    await command_queue.synchronize(state, stream, call.number("timeout"))


async def _tell_queue(_: DriverState, names: Names, call: Arguments) -> None:
    desc = names.need(QueueRecord, call.subject()).desc
    name, value = {
        "zeCommandQueueGetFlags": ("pFlags", desc.flags),
        "zeCommandQueueGetIndex": ("pIndex", desc.index),
        "zeCommandQueueGetMode": ("pMode", desc.mode),
        "zeCommandQueueGetOrdinal": ("pOrdinal", desc.ordinal),
        "zeCommandQueueGetPriority": ("pPriority", desc.priority),
    }[call.spec.name]
    call.put(name, int(value))


async def _create_list(state: DriverState, names: Names, call: Arguments) -> None:
    number, device = call.handle("hContext"), call.handle("hDevice")
    context = names.need(ContextRecord, number)
    desc = descriptor(CommandListDesc, call.structure("desc"))
    index = names.device(device)
    target = command_list.create(state, context, index, desc)
    made = ListRecord(target, desc, device or 0, number or 0)
    call.put_noted("phCommandList", names.add(made), _most_pattern(state, target))


def _most_pattern(state: DriverState, target: CommandList) -> int:
    """Return how long a pattern may be that a list fills memory with."""
    group = check_queue(state.devices[target.device].spec, target.ordinal, 0)
    return group.properties.max_memory_fill_pattern_size


async def _create_immediate(state: DriverState, names: Names, call: Arguments) -> None:
    number, device = call.handle("hContext"), call.handle("hDevice")
    context = names.need(ContextRecord, number)
    desc = descriptor(CommandQueueDesc, call.structure("altdesc"))
    what = "immediate command list"
    stream = await command_queue.create(state, context, names.device(device), desc, what)
    made = ListRecord(stream, desc, device or 0, number or 0)
    call.put_noted("phCommandList", names.add(made), names.rows.take(stream))


async def _destroy_list(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hCommandList")
    target = names.need(ListRecord, number).target
    await command_list.destroy(state, target)
    if isinstance(target, Stream):
        names.rows.give(target)
    names.drop(ListRecord, number)


async def _close(state: DriverState, names: Names, call: Arguments) -> None:
    await command_list.close(state, _list(names, call).target)


async def _reset(state: DriverState, names: Names, call: Arguments) -> None:
    await command_list.reset(state, _list(names, call).target)


async def _synchronize_list(state: DriverState, names: Names, call: Arguments) -> None:
    await command_list.host_synchronize(state, _list(names, call).target, call.number("timeout"))


async def _tell_list(_: DriverState, names: Names, call: Arguments) -> None:
    record = _list(names, call)
    name, value = {
        "zeCommandListGetContextHandle": ("phContext", record.context),
        "zeCommandListGetDeviceHandle": ("phDevice", record.device),
        "zeCommandListGetOrdinal": ("pOrdinal", command_list.ordinal_of(record.desc)),
        "zeCommandListIsImmediate": ("pIsImmediate", isinstance(record.target, Stream)),
    }[call.spec.name]
    call.put(name, int(value))


async def _tell_flags(_: DriverState, names: Names, call: Arguments) -> None:
    record = _list(names, call)
    flags = command_list.regular(record.target, record.desc).flags
    call.put("pFlags", int(flags))


async def _tell_immediate(_: DriverState, names: Names, call: Arguments) -> None:
    record = _list(names, call)
    desc = command_list.immediate(record.target, record.desc)
    name, value = {
        "zeCommandListImmediateGetFlags": ("pFlags", desc.flags),
        "zeCommandListImmediateGetIndex": ("pIndex", desc.index),
        "zeCommandListImmediateGetMode": ("pMode", desc.mode),
        "zeCommandListImmediateGetPriority": ("pPriority", desc.priority),
    }[call.spec.name]
    call.put(name, int(value))


def _list(names: Names, call: Arguments) -> ListRecord:
    number = call.subject()
    if number is None:
        raise null_handle(call.spec.params[0].name)
    return names.need(ListRecord, number)


HANDLERS: Final = {
    "zeCommandListClose": _close,
    "zeCommandListCreate": _create_list,
    "zeCommandListCreateImmediate": _create_immediate,
    "zeCommandListDestroy": _destroy_list,
    "zeCommandListGetContextHandle": _tell_list,
    "zeCommandListGetDeviceHandle": _tell_list,
    "zeCommandListGetFlags": _tell_flags,
    "zeCommandListGetOrdinal": _tell_list,
    "zeCommandListHostSynchronize": _synchronize_list,
    "zeCommandListImmediateGetFlags": _tell_immediate,
    "zeCommandListImmediateGetIndex": _tell_immediate,
    "zeCommandListImmediateGetMode": _tell_immediate,
    "zeCommandListImmediateGetPriority": _tell_immediate,
    "zeCommandListIsImmediate": _tell_list,
    "zeCommandListReset": _reset,
    "zeCommandQueueCreate": _create_queue,
    "zeCommandQueueDestroy": _destroy_queue,
    "zeCommandQueueExecuteCommandLists": _execute,
    "zeCommandQueueGetFlags": _tell_queue,
    "zeCommandQueueGetIndex": _tell_queue,
    "zeCommandQueueGetMode": _tell_queue,
    "zeCommandQueueGetOrdinal": _tell_queue,
    "zeCommandQueueGetPriority": _tell_queue,
    "zeCommandQueueSynchronize": _synchronize_queue,
}
