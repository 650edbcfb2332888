"""What rules hold back for a time, while the thread that serves programs goes on."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from firmware.link.linux import create_timer, set_timer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from firmware.inject import Injector
    from firmware.link.programs import LocalDevices

FOREVER: Final = float("inf")
LOOK_SECONDS: Final = 0.05
"""Longest time for which something is held whose rule is gone."""


class Cause(Protocol):
    """For what something is held: a hit, or what tells of one elsewhere."""

    @property
    def rule(self) -> str:
        """Name of the rule."""
        ...

    @property
    def point(self) -> str:
        """Name of the point."""
        ...


class _Held(NamedTuple):
    due: float
    cause: Cause
    let_go: Callable[[], None]


@final
class Holding:
    """Lets things go when their time has come, when their rule is gone, or when it is told to.

    Owner: the taps of one host; one thread. Invariant: there is a timer, watched and set, exactly
    while something is held; each thing is let go once.
    """

    __slots__ = ("_devices", "_held", "_injector", "_timer")

    def __init__(self, devices: LocalDevices, injector: Injector) -> None:
        """Begin with nothing; `devices` watches the timer."""
        self._devices = devices
        self._injector = injector
        self._held: list[_Held] = []
        self._timer = -1

    def hold(self, cause: Cause, seconds: float, let_go: Callable[[], None]) -> None:
        """Call `let_go` later: after so long, or as soon as its rule is gone.

        At once when the system gives no timer: better early than never.
        """
        if self._timer < 0 and not self._begin():
            let_go()
            return
        self._held.append(_Held(time.monotonic() + seconds, cause, let_go))
        self._set()

    def let_go(self, points: Collection[str] | None = None) -> None:
        """Let go of what was held at some points; None: of everything."""
        self._part(lambda held: points is None or held.cause.point in points)

    def release(self, cause: Cause) -> None:
        """Let go of what was held for this very cause."""
        self._part(lambda held: held.cause is cause)

    def _begin(self) -> bool:
        """Make a timer; return whether there is one."""
        try:
            timer = create_timer()
        except OSError:
            return False
        try:
            self._devices.watch(timer, self._look)
        except OSError:
            os.close(timer)
            return False
        self._timer = timer
        return True

    def _look(self) -> None:
        now, has = time.monotonic(), self._injector.has
        self._part(lambda held: held.due <= now or not has(held.cause.rule))

    def _part(self, is_over: Callable[[_Held], bool]) -> None:
        """Let go of what is held no longer, in the order in which it came."""
        over = [held for held in self._held if is_over(held)]
        self._held = [held for held in self._held if held not in over]
        self._set()
        for held in over:
            held.let_go()

    def _set(self) -> None:
        """Set the timer to the next look, or give it back."""
        if self._timer < 0:
            return
        if self._held:
            first = min(held.due for held in self._held) - time.monotonic()
            set_timer(self._timer, max(0.0, min(first, LOOK_SECONDS)))
            return
        self._devices.unwatch(self._timer)
        os.close(self._timer)
        self._timer = -1
