"""The vigil over programs that wait: has a device perhaps not heard of what they wait for?

The sessions of C programs never nap, so a timer does for them what `firmware.link.vigil` does for
drivers in processes of their own: while somebody waits long for a device, it is asked to look after
its clients, each time after twice as long.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, final

from firmware.link.linux import create_timer, set_timer
from firmware.link.vigil import FIRST_SECONDS, LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable


class Watching(Protocol):
    """What watches descriptors in the pump (see `firmware.link.programs.LocalDevices`)."""

    def watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        """Call `handler` while a descriptor is readable."""
        ...

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor, before it is closed."""
        ...


@final
class ProgramVigil:
    """Asks devices to look after programs that wait.

    Owner: the host of all programs, in the pump's thread. Invariant: there is a timer, watched and
    set, from a sleep of the pump in which somebody waits to the first look that finds nobody.
    """

    __slots__ = ("_devices", "_interval", "_look_after", "_timer")

    def __init__(self, devices: Watching, look_after: Callable[[], bool]) -> None:
        """Begin without a timer.

        Args:
            devices: watch the timer.
            look_after: asks the devices of all programs that wait; False: none does.
        """
        self._devices = devices
        self._look_after = look_after
        self._interval = FIRST_SECONDS
        self._timer = -1

    def begin(self) -> None:
        """Keep watch, for somebody waits; does nothing if it does, or the system has no timer."""
        if self._timer >= 0:
            return
        try:
            timer = create_timer()
        except OSError:
            return
        try:
            self._devices.watch(timer, self._look)
        except OSError:
            os.close(timer)
            return
        self._timer = timer
        self._interval = FIRST_SECONDS
        set_timer(timer, self._interval)

    def close(self) -> None:
        """End the watch; a second call does nothing."""
        if self._timer >= 0:
            self._devices.unwatch(self._timer)
            os.close(self._timer)
            self._timer = -1

    def _look(self) -> None:
        if not self._look_after():
            self.close()
            return
        self._interval = min(2 * self._interval, LONGEST_SECONDS)
        set_timer(self._timer, self._interval)
