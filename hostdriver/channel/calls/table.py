"""Which function is carried out by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hostdriver.channel.arguments import write_outputs
from hostdriver.channel.calls import (
    appends,
    commands,
    contexts,
    counting,
    devices,
    drivers,
    events,
    fences,
    memory,
    sharing,
    sysman,
    vendor,
    virtual,
)
from hostdriver.core.failures import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.channel.places import Places
    from hostdriver.core.questions import Operation
    from hostdriver.core.state import DriverState

    Handler: TypeAlias = Callable[[DriverState, Names, Arguments], Operation[None]]

_HANDLERS: dict[str, Handler] = {
    **drivers.HANDLERS,
    **devices.HANDLERS,
    **contexts.HANDLERS,
    **memory.HANDLERS,
    **sharing.HANDLERS,
    **virtual.HANDLERS,
    **commands.HANDLERS,
    **appends.HANDLERS,
    **events.HANDLERS,
    **counting.HANDLERS,
    **fences.HANDLERS,
    **sysman.HANDLERS,
    **vendor.HANDLERS,
}


def handler_of(name: str) -> Handler:
    """Return what carries out a function (KeyError: the driver does not serve it)."""
    return _HANDLERS[name]


async def carry_out(
    state: DriverState | None,
    names: Names,
    places: Places,
    arguments: Arguments,
    handler: Handler,
) -> bytes:
    """Carry a call out; return its outputs. What pointers name is up to date behind it.

    Raises:
        ZeError: the call failed; the program's library did not begin.
    """
    if state is None:
        raise unknown("the program's library did not begin")
    try:
        await handler(state, names, arguments)
    finally:
        places.follow(state, names, arguments)
    return write_outputs(arguments)


def served() -> frozenset[str]:
    """Return the names of all functions that the driver serves."""
    return frozenset(_HANDLERS)
