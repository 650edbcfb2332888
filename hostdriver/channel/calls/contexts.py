"""Contexts: names under which memory is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.device_abilities import check_status
from hostdriver.api.structures import ContextDesc
from hostdriver.api.validation import check_flags
from hostdriver.channel.convert import descriptor
from hostdriver.channel.names import ContextRecord
from hostdriver.core.commandqueues_uses import count_unfinished
from hostdriver.core.enums import ContextFlags
from hostdriver.core.failures import device_lost, in_use, invalid_size

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _create(_: DriverState, names: Names, call: Arguments) -> None:
    desc = descriptor(ContextDesc, call.structure("desc"))
    check_flags(ContextFlags, desc.flags, "desc.flags")
    given: list[int] = []
    if call.spec.name == "zeContextCreateEx":
        given = call.numbers("phDevices")
        if call.number("numDevices") and not given:
            raise invalid_size("numDevices is above zero and phDevices is null")
    devices = tuple(sorted({names.record(number).device for number in given}))
    call.put("phContext", names.add(ContextRecord(devices or names.all_devices())))


async def _destroy(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hContext")
    if count := await count_unfinished(state, names.need(ContextRecord, number)):
        raise in_use(f"{count} queues or lists of the context are not done")
    names.drop_context(number)


async def _get_status(_: DriverState, names: Names, call: Arguments) -> None:
    context = names.need(ContextRecord, call.handle("hContext"))
    if context.faulted:
        raise device_lost(context.faulted)
    for index in context.devices:
        await check_status(index)


async def _system_barrier(_: DriverState, names: Names, call: Arguments) -> None:
    """Do nothing: devices store to the very memory that others look at, so it is there already."""
    names.need(ContextRecord, call.handle("hContext"))
    names.record(call.handle("hDevice"))


HANDLERS: Final = {
    "zeContextCreate": _create,
    "zeContextCreateEx": _create,
    "zeContextDestroy": _destroy,
    "zeContextGetStatus": _get_status,
    "zeContextSystemBarrier": _system_barrier,
}
