"""Fences of queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.event_structures import FenceDesc
from hostdriver.api.fences import create_fence
from hostdriver.channel.convert import descriptor
from hostdriver.channel.work import FenceRecord, QueueRecord, put_event
from hostdriver.core import eventpools, eventwaits

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.events import Event
    from hostdriver.core.state import DriverState


async def _create(state: DriverState, names: Names, call: Arguments) -> None:
    names.need(QueueRecord, call.handle("hCommandQueue"))
    made = await create_fence(state, descriptor(FenceDesc, call.structure("desc")))
    put_event(call, "phFence", names.add(FenceRecord(made)), made)


async def _destroy(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hFence")
    await eventpools.end_fence(state, names.need(FenceRecord, number).event)
    names.drop(FenceRecord, number)


async def _synchronize(state: DriverState, names: Names, call: Arguments) -> None:
    await eventwaits.synchronize(state, _event(names, call), 0, call.number("timeout"))


async def _query(state: DriverState, names: Names, call: Arguments) -> None:
    await eventwaits.check_done(state, _event(names, call), 0)


async def _reset(state: DriverState, names: Names, call: Arguments) -> None:
    eventwaits.reset(state, _event(names, call))


def _event(names: Names, call: Arguments) -> Event:
    return names.need(FenceRecord, call.handle("hFence")).event


HANDLERS: Final = {
    "zeFenceCreate": _create,
    "zeFenceDestroy": _destroy,
    "zeFenceHostSynchronize": _synchronize,
    "zeFenceQueryStatus": _query,
    "zeFenceReset": _reset,
}
