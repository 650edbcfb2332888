"""Which function is carried out by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
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


def served() -> frozenset[str]:
    """Return the names of all functions that the driver serves."""
    return frozenset(_HANDLERS)
