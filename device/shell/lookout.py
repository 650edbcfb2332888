"""What the pump looks at while it polls, compiled where that can be.

A look in Python takes 0.2 us for each client and passes through a turn of the pump; compiled, all
words of all clients and programs are compared in a few nanoseconds, and only a change of one leads
to a turn.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

from firmware.link.compiled import compiled_already
from firmware.link.waiting import SPIN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.device import Device
    from firmware.link.compiled import Look
    from firmware.link.programs import ProgramHost

LOOKS: Final = 16
"""Looks at the doorbells between two at the time, shared among the clients: a few microseconds."""


@final
class Lookout:
    """Polls devices and programs for a moment.

    Owner: the pump.
    """

    __slots__ = ("_devices", "_look", "programs")

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self.programs: ProgramHost | None = None
        """The drivers of C programs, if there are any."""
        self._look: Look | None = None

    def prepare(self) -> None:
        """Use the compiled part if it is there, for looks here and for copies of the devices."""
        module = compiled_already()
        self._look = None if module is None else module.look
        if module is not None:
            for device in self._devices:
                device.memory.local.copy_large = module.copy

    def spin(self, turn: Callable[[int], bool], clients: int, seconds_left: float) -> bool:
        """Poll for as long as a spin takes; return whether a turn found something to do.

        Args:
            turn: lets devices and programs work that have something to do, after so many looks at
                each; returns whether any had.
            clients: how many are attached.
            seconds_left: until a device wants to work again without being asked.
        """
        pages = None if self._look is None else self._pages()
        if self._look is None or pages is None:
            return self._poll(turn, max(1, LOOKS // clients))
        self._look(pages, int(min(SPIN_SECONDS, seconds_left) * 1e9))
        # The turn may end a client, whose memory stays mapped as long as a view of it is held.
        del pages
        return turn(1)

    def _poll(self, turn: Callable[[int], bool], looks: int) -> bool:
        clock = time.perf_counter
        end = clock() + SPIN_SECONDS
        while clock() < end:
            if turn(looks):
                return True
        return False

    def _pages(self) -> list[tuple[memoryview, bytes]] | None:
        """Return all words to look at, or None when something else may give work."""
        pages: list[tuple[memoryview, bytes]] = []
        for device in self._devices:
            found = device.doorbells()
            if found is None:
                return None
            pages += found
        if self.programs is not None:
            posted = self.programs.posted()
            if posted is None:
                return None
            pages += posted
        return pages
