"""Processes elsewhere that reached a point at which they stop: stopped here, and let go on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from hostdriver.inject.holding import FOREVER, Holding
from hostdriver.inject.peers import stop

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from firmware.inject import Injector
    from firmware.link.programs import LocalDevices
    from hostdriver.inject.messages import Halt


@final
class Halting:
    """Stops those who ask for it, and knows when they go on.

    Owner: the control. Invariant: who is in `_halts` has asked and was not answered, and stands
    while it is in `_standing`.
    """

    __slots__ = ("_halts", "_holding", "_on_end", "_standing")

    def __init__(
        self, devices: LocalDevices, injector: Injector, on_end: Callable[[], None]
    ) -> None:
        """Begin with nobody; `on_end` is told that somebody goes on."""
        self._holding = Holding(devices, injector)
        self._on_end = on_end
        self._halts: dict[Hashable, Halt] = {}
        self._standing: set[Hashable] = set()

    def is_over(self, talker: Hashable, request: Halt, pid: int) -> bool:
        """Return whether a process goes on, which is stopped when it is asked for first."""
        if talker not in self._halts:
            self._halts[talker] = request
            go_on = stop(pid)
            if go_on is not None:
                self._standing.add(talker)
                seconds = FOREVER if request.seconds is None else request.seconds
                self._holding.hold(request, seconds, partial(self._let_go, talker, go_on))
        if talker in self._standing:
            return False
        del self._halts[talker]
        return True

    def forget(self, talker: Hashable) -> None:
        """Forget one that has left."""
        request = self._halts.pop(talker, None)
        if request is not None:
            self._holding.release(request)

    def close(self) -> None:
        """Let all go on."""
        self._holding.let_go()

    def _let_go(self, talker: Hashable, go_on: Callable[[], None]) -> None:
        go_on()
        self._standing.discard(talker)
        self._on_end()
