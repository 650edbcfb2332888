"""Fences of queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.event_structures import FenceDesc
from hostdriver.api.fences import create_fence
from hostdriver.channel.convert import descriptor
from hostdriver.channel.work import FenceRecord, QueueRecord
from hostdriver.core import eventpools, eventwaits
from hostdriver.core.failures import not_ready
from hostdriver.core.slots import give_slot

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.events import Event
    from hostdriver.core.state import DriverState


async def _create(state: DriverState, names: Names, call: Arguments) -> None:
    names.need(QueueRecord, call.handle("hCommandQueue"))
    made = await create_fence(state, descriptor(FenceDesc, call.structure("desc")))
    call.put("phFence", names.add(FenceRecord(made)))


async def _destroy(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hFence")
    event = names.need(FenceRecord, number).event
    eventpools.check_idle(state, event)
    event.gone = True
    del state.events[event.id]
    give_slot(state, event.slot)
    names.drop(FenceRecord, number)


async def _synchronize(state: DriverState, names: Names, call: Arguments) -> None:
    event = _event(state, names, call)
    await eventwaits.await_slot(event.slot, event.expected, call.number("timeout"), event.name)


async def _query(state: DriverState, names: Names, call: Arguments) -> None:
    event = _event(state, names, call)
    if not eventwaits.is_signalled(event.slot, event.expected, event.name):
        raise not_ready(f"{event.name} is not signalled")


async def _reset(state: DriverState, names: Names, call: Arguments) -> None:
    event = _event(state, names, call)
    event.slot.pool.memory.clear(event.slot.index)


def _event(state: DriverState, names: Names, call: Arguments) -> Event:
    event = names.need(FenceRecord, call.handle("hFence")).event
    eventpools.check_event(state, event)
    return event


HANDLERS: Final = {
    "zeFenceCreate": _create,
    "zeFenceDestroy": _destroy,
    "zeFenceHostSynchronize": _synchronize,
    "zeFenceQueryStatus": _query,
    "zeFenceReset": _reset,
}
