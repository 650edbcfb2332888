"""While a C program waits long, its devices are asked whether they missed anything."""

from __future__ import annotations

import select
from pathlib import Path
from typing import TYPE_CHECKING

from hostdriver.channel.vigil import ProgramVigil

if TYPE_CHECKING:
    from collections.abc import Callable


class Poller:
    """What watches descriptors, by hand."""

    def __init__(self) -> None:
        self.watched: dict[int, Callable[[], None]] = {}

    def watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        self.watched[descriptor] = handler

    def unwatch(self, descriptor: int) -> None:
        del self.watched[descriptor]

    def wait(self) -> None:
        """Wait for the timer, and call who watches it."""
        ((descriptor, handler),) = self.watched.items()
        assert select.select([descriptor], [], [], 30)[0]
        handler()


def test_devices_are_asked_while_somebody_waits_and_then_nothing_is_left() -> None:
    devices, asked = Poller(), [True, True, False]
    vigil = ProgramVigil(devices, lambda: asked.pop(0))
    before = len(list(Path("/proc/self/fd").iterdir()))
    vigil.begin()
    vigil.begin()
    devices.wait()
    devices.wait()
    assert len(devices.watched) == 1
    devices.wait()
    assert (asked, devices.watched) == ([], {})
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_closing_ends_the_watch_once() -> None:
    devices = Poller()
    vigil = ProgramVigil(devices, lambda: True)
    vigil.begin()
    vigil.close()
    vigil.close()
    assert devices.watched == {}
