"""Faults in the devices of a pair, or in a device with raw clients, added and removed by a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.inject import device_taps
from firmware.inject import Board, Injector, parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.device import Device
    from firmware.inject import Hit
    from hostdriver.testing.pair import Pair
    from tests.harness.devicepair import DevicePair


class Faults:
    """Rules of devices that are stepped by hand; time is that of the devices."""

    def __init__(self, devices: Sequence[Device], now: Callable[[], int], seed: int = 0) -> None:
        self.injector = Injector(lambda: now() / 1e9, seed)
        taps = [tap for device in devices for tap in device_taps(device, self.injector)]
        self.board = Board(self.injector, taps)

    def add(self, line: str) -> str:
        """Add a rule; return its name."""
        name = self.injector.add(parse_rule(line))
        self.board.update()
        return name

    def remove(self, name: str) -> None:
        """Remove a rule."""
        self.injector.remove(name)
        self.board.update()

    def clear(self) -> None:
        """Remove every rule; nothing is in between any more."""
        self.injector.clear()
        self.board.update()
        assert not self.board.installed

    @property
    def hits(self) -> list[Hit]:
        """What fired."""
        return list(self.injector.hits())

    @property
    def fired(self) -> list[str]:
        """The points at which something fired, in order."""
        return [hit.point for hit in self.hits]


def faults_of(pair: Pair, seed: int = 0) -> Faults:
    """Return the rules of the devices of a pair."""
    return Faults(pair.devices, lambda: pair.now, seed)


def faults_in(pair: DevicePair, seed: int = 0) -> Faults:
    """Return the rules of a device with raw clients."""
    return Faults([pair.device], lambda: pair.now, seed)
