"""Functions of the interface as methods of the Python classes: `mem_alloc_device` and its like.

While a rule wants calls, methods are exchanged for wrappers; without rules nothing is slower.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from types import FunctionType
from typing import TYPE_CHECKING, Final, final

from firmware.inject import Site
from firmware.inject.actions import Delay
from firmware.inject.catalogue.api import functions
from hostdriver.api.command_list_handle import CommandList
from hostdriver.api.command_queue_handle import CommandQueue
from hostdriver.api.context import Context
from hostdriver.api.device import Device
from hostdriver.api.driver import Driver
from hostdriver.api.event_pools import EventPool
from hostdriver.api.events import CounterEvent, Event
from hostdriver.api.fences import Fence
from hostdriver.api.physical_handle import PhysicalMem
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.inject.verdicts import late_failure, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from firmware.inject import Injector

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


@final
class FaceTap:
    """Wraps the methods of this process's classes.

    Owner: a board of the process. A call inside of a call is part of that one. Invariant: of
    several taps that are in, those of drivers of several emulators, the last one has the calls.
    """

    points = frozenset(f"api.{name}" for name in functions())

    def __init__(
        self, injector: Injector, process: str, lock: AbstractContextManager[object]
    ) -> None:
        """Tell an injector of calls; `lock` is held while it is asked."""
        self._injector = injector
        self._process = process
        self._lock = lock
        self._inside = threading.local()

    def install(self) -> None:
        """Put the wrappers in the place of the methods."""
        _in.append(self)
        self.put_in()

    def remove(self) -> None:
        """Put the methods back, or the wrappers of another tap that is in."""
        _in.remove(self)
        if _in:
            _in[-1].put_in()
            return
        for kind, name, code, _ in methods():
            setattr(kind, name, code)

    def put_in(self) -> None:
        """Have the calls, whoever had them."""
        for kind, name, code, function in methods():
            setattr(kind, name, self._wrapped(code, function))

    def _wrapped(self, code: FunctionType, function: str) -> object:
        @functools.wraps(code)
        def call(*arguments: object, **named: object) -> object:
            if getattr(self._inside, "call", ""):
                return code(*arguments, **named)
            self._inside.call = function
            try:
                return self._call(code, function, arguments, named)
            finally:
                self._inside.call = ""

        return call

    def _call(
        self,
        code: FunctionType,
        function: str,
        arguments: tuple[object, ...],
        named: dict[str, object],
    ) -> object:
        thread = threading.get_native_id()
        site = Site(pid=os.getpid(), process=self._process, call=function, thread=thread)
        with self._lock:
            hit = self._injector.ask(f"api.{function}", site)
        if hit is None:
            return code(*arguments, **named)
        if (refused := refusal(hit)) is not None:
            raise refused
        if isinstance(hit.action, Delay):
            time.sleep(hit.action.seconds)
        ended, result = ZeResult.ZE_RESULT_SUCCESS, None
        try:
            result = code(*arguments, **named)
        except ZeError as error:
            if (late := late_failure(hit, error.result)) is None:
                raise
            raise late from error
        if (late := late_failure(hit, ended)) is not None:
            raise late
        return result


_in: Final[list[FaceTap]] = []
"""The taps of this process that are in, in their order."""
