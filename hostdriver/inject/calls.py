"""Calls of a Python program's drivers: who makes which one now, and what rules do to it.

While a rule wants calls, the methods of this process's classes are exchanged for wrappers; without
rules nothing is slower.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from enum import Flag, auto
from typing import TYPE_CHECKING, Final, final

from firmware.inject import Site
from firmware.inject.actions import Delay
from firmware.inject.catalogue.api import functions
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.inject.faces import driver_of, methods
from hostdriver.inject.handles import OPENING, PUTTING, HandlesUnderWay
from hostdriver.inject.handles import POINT as HANDLE
from hostdriver.inject.holding import LOOK_SECONDS
from hostdriver.inject.peers import act_here
from hostdriver.inject.verdicts import late_failure, refusal
from hostdriver.inject.with_handle import Given, given_handle, with_handle

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import FunctionType

    from firmware.inject import Hit, Injector
    from hostdriver.api.driver import Driver
    from hostdriver.runtime.runner import Runner

BEFORE: Final = "peer.before"
AFTER: Final = "peer.after"
INSIDE: Final = "peer.inside"
CALLS: Final = frozenset(f"api.{name}" for name in functions())


class Part(Flag):
    """What calls are watched for."""

    NAME = auto()
    """Questions are to know of which call they are."""
    CALL = auto()
    """The call is refused, held up, or fails in the end."""
    BEFORE = auto()
    AFTER = auto()
    """The process dies or stops there."""
    HANDLE = auto()
    """A handle changes on its way."""


@final
class Calls:
    """The calls of the drivers of one emulator.

    Owner: whoever follows its rules. A call inside of a call is part of that one.
    """

    def __init__(
        self,
        injector: Injector,
        process: str,
        lock: AbstractContextManager[object],
        serves: Callable[[Runner], bool],
        halt: Callable[[Hit, float], None],
    ) -> None:
        """Tell an injector of calls.

        Args:
            injector: has the rules.
            process: what this process is called.
            lock: held while the injector is asked.
            serves: whether a driver is one of these.
            halt: has this process stopped, and returns when it goes on (see `peers.act_here`).
        """
        self.injector = injector
        self.process = process
        self._lock = lock
        self.serves: Final = serves
        self._halt = halt
        self._handles = HandlesUnderWay(injector)
        self.parts = Part(0)
        """What they are watched for."""

    def site(self, address: int = -1, size: int = 0) -> Site:
        """Return the site of a point that this thread reaches."""
        return Site(
            pid=os.getpid(),
            process=self.process,
            call=name_of_call(),
            thread=threading.get_native_id(),
            address=address,
            size=size,
        )

    def ask(self, point: str, site: Site) -> Hit | None:
        """Tell the injector that a point is reached; return what to do there."""
        with self._lock:
            return self.injector.ask(point, site)

    def act_at(self, point: str, site: Site) -> None:
        """Have the process die or stop where a rule says so."""
        if (hit := self.ask(point, site)) is not None:
            act_here(hit, self._halt)

    def forget_handles(self) -> None:
        """Forget the handle that was put last."""
        self._handles = HandlesUnderWay(self.injector)

    def carry_out(self, driver: Driver, code: FunctionType, given: Given) -> object:
        """Carry a call out, or do what a rule says."""
        site = self.site()
        hit = self._begin(driver, site)
        if Part.HANDLE in self.parts and site.call in OPENING:
            given = self._changed(code, given, site)
        ended, result, failure = ZeResult.ZE_RESULT_SUCCESS, None, None
        try:
            result = code(*given.arguments, **given.named)
        except ZeError as error:
            ended, failure = error.result, error
        if Part.AFTER in self.parts:
            self.act_at(AFTER, site)
        if hit is not None and (late := late_failure(hit, ended)) is not None:
            raise driver.noted(late) from failure
        if failure is not None:
            raise failure
        if Part.HANDLE in self.parts and site.call in PUTTING:
            self._handles.note_put(given_handle(code, given) or b"")
        return result

    def _begin(self, driver: Driver, site: Site) -> Hit | None:
        """Let a call begin, or not; return what was decided on it.

        Raises:
            ZeError: it is refused.
        """
        if Part.BEFORE in self.parts:
            self.act_at(BEFORE, site)
        hit = self.ask(f"api.{site.call}", site) if Part.CALL in self.parts else None
        if hit is not None and (refused := refusal(hit)) is not None:
            raise driver.noted(refused)
        if hit is not None and isinstance(hit.action, Delay):
            self.hold(hit, hit.action.seconds)
        return hit

    def _changed(self, code: FunctionType, given: Given, site: Site) -> Given:
        """Return what a call is given, with the handle as it arrives."""
        handle = given_handle(code, given)
        if handle is None:
            return given
        with self._lock:
            return with_handle(code, given, self._handles.arrived(handle, site))

    def hold(self, hit: Hit, seconds: float) -> None:
        """Wait so long, or until the rule is gone."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with self._lock:
                if not self.injector.has(hit.rule):
                    return
            time.sleep(min(left, LOOK_SECONDS))


@final
class CallTap:
    """Has calls watched for something while a rule wants it."""

    def __init__(self, calls: Calls, part: Part, points: frozenset[str]) -> None:
        self.points = points
        self._calls = calls
        self._part = part

    def install(self) -> None:
        """Watch for it."""
        if not self._calls.parts:
            _wrappers.enter(self._calls)
        self._calls.parts |= self._part

    def remove(self) -> None:
        """Watch for it no more."""
        self._calls.parts &= ~self._part
        if self._part is Part.HANDLE:
            self._calls.forget_handles()
        if not self._calls.parts:
            _wrappers.leave(self._calls)


def call_taps(calls: Calls, questions: frozenset[str]) -> tuple[CallTap, ...]:
    """Return the taps on calls; of those whose questions pass such points the name is known."""
    return (
        CallTap(calls, Part.NAME, questions),
        CallTap(calls, Part.CALL, CALLS),
        CallTap(calls, Part.BEFORE, frozenset({BEFORE})),
        CallTap(calls, Part.AFTER, frozenset({AFTER})),
        CallTap(calls, Part.HANDLE, frozenset({HANDLE})),
    )


def name_of_call() -> str:
    """Return the function that this thread carries out; empty: none."""
    found: str = getattr(_thread, "call", "")
    return found


@final
class _Wrappers:
    """Exchanges the methods of this process's classes for wrappers.

    Owner: this module. Invariant: they are in exactly while somebody has entered.
    """

    def __init__(self) -> None:
        self._calls: tuple[Calls, ...] = ()

    def enter(self, calls: Calls) -> None:
        """Have calls wrapped."""
        if not self._calls:
            for kind, name, code, function in methods():
                setattr(kind, name, self._wrapped(code, function))
        self._calls += (calls,)

    def leave(self, calls: Calls) -> None:
        """Forget who entered; the last one takes the wrappers along."""
        self._calls = tuple(other for other in self._calls if other is not calls)
        if not self._calls:
            for kind, name, code, _ in methods():
                setattr(kind, name, code)

    def _wrapped(self, code: FunctionType, function: str) -> object:
        @functools.wraps(code)
        def call(*arguments: object, **named: object) -> object:
            driver = driver_of(arguments[0]) if arguments else None
            runner = None if driver is None else driver.runner
            if name_of_call() or driver is None or runner is None:
                return code(*arguments, **named)
            found = next((calls for calls in self._calls if calls.serves(runner)), None)
            if found is None:
                return code(*arguments, **named)
            _thread.call = function
            try:
                return found.carry_out(driver, code, Given(arguments, named))
            finally:
                _thread.call = ""

        return call


_thread: Final = threading.local()
_wrappers: Final = _Wrappers()
