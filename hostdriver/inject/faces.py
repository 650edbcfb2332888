"""Functions of the interface as methods of the Python classes: `mem_alloc_device` and its like."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Final

from firmware.inject.catalogue.api import functions
from hostdriver.api.command_list_handle import CommandList
from hostdriver.api.command_queue_handle import CommandQueue
from hostdriver.api.context import Context
from hostdriver.api.device import Device
from hostdriver.api.driver import Driver
from hostdriver.api.event_pools import EventPool
from hostdriver.api.events import CounterEvent, Event, EventBase
from hostdriver.api.fences import Fence
from hostdriver.api.physical_handle import PhysicalMem

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLASSES: Final = (
    *(CommandList, CommandQueue, Context, Device, Driver, Event, CounterEvent, EventPool),
    *(Fence, PhysicalMem),
)
_OTHER_NAMES: Final = {
    ("Driver", "create_context"): "zeContextCreate",
    ("Driver", "create_context_ex"): "zeContextCreateEx",
    ("Device", "get_p2p_properties"): "zeDeviceGetP2PProperties",
}
_PREFIXES: Final = {"CounterEvent": "Event"}


def function_of(kind: str, method: str) -> str:
    """Return the function that a method of a class is; empty: none of the interface's."""
    if method.startswith("_"):
        return ""
    words = "".join(word[:1].upper() + word[1:] for word in method.split("_"))
    owner = _PREFIXES.get(kind, kind)
    names = (f"ze{owner}{words}", f"ze{words}", f"ze{owner}{words}Exp", f"ze{words}Exp")
    known = functions()
    found = _OTHER_NAMES.get((kind, method), "")
    return found or next((name for name in names if name in known), "")


@functools.cache
def methods() -> tuple[tuple[type, str, FunctionType, str], ...]:
    """Return class, name and code of each method that is a function, and that function's name."""
    return tuple(_methods())


def _methods() -> Iterator[tuple[type, str, FunctionType, str]]:
    seen: set[tuple[type, str]] = set()
    for leaf in _CLASSES:
        for kind in leaf.__mro__:
            for name, code in tuple(vars(kind).items()):
                function = function_of(leaf.__name__, name)
                if function and isinstance(code, FunctionType) and (kind, name) not in seen:
                    seen.add((kind, name))
                    yield kind, name, code, function


def driver_of(owner: object) -> Driver | None:
    """Return the driver behind an object whose method is a function; None: it has none."""
    match owner:
        case Driver():
            return owner
        case (
            CommandList()
            | CommandQueue()
            | Context()
            | Device()
            | EventBase()
            | EventPool()
            | Fence()
        ):
            return owner.driver
        case _:
            return None
