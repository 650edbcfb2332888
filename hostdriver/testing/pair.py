"""Real devices and real drivers in one process, for fast and repeatable tests.

    from hostdriver.testing.pair import pair

    with pair() as p, p.driver.create_context() as context:
        va = context.virtual_mem_reserve(1 << 20)
        ...
        p.assert_nothing_left()

Objects, memory, page tables, copies and errors are those of `levelzero.connect()`. What is missing
is what costs time: processes, sockets, threads, sleep.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, final

from hostdriver.testing.devices import DeviceSpec, Profile, World
from hostdriver.testing.leftovers import Held, complain, held_by_device
from hostdriver.testing.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.api.driver import Driver
    from hostdriver.testing.devices import Device

DEFAULT_SPEC: Final = DeviceSpec()


@final
class Pair:
    """Devices and drivers in one process.

    Owner: `pair`, whose end closes them. Not for several threads: whoever rings or waits is the one
    in whom the devices work. Time stands still while nobody does anything; each turn of a device
    takes a tenth of a microsecond of its clock, each look at a word a whole one.
    """

    def __init__(self, specs: Sequence[DeviceSpec]) -> None:
        """Power the devices up and connect a first driver; to be called by `pair`."""
        self._world = World(specs)
        self._free_bytes = [d.statistics().free_bytes for d in self._world.devices]
        self._programs = Programs(len(specs), self._world.attach, self._world.programs)
        try:
            self.driver: Driver = self.connect("program")
        except BaseException:
            self.discard()
            raise
        """The first program's driver."""

    @property
    def device(self) -> Device:
        """The first device, from the inside: page tables, TLB, memory, fault injection."""
        return self.devices[0]

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices."""
        return self._world.devices

    @property
    def now(self) -> int:
        """Device time in nanoseconds."""
        return self._world.now

    def connect(self, name: str = "") -> Driver:
        """Connect one more program, as a process of its own would: nothing is shared but devices.

        Raises:
            ZeError: a device takes no more clients.
        """
        return self._programs.connect(name)

    def statistics(self, index: int = 0) -> DeviceStatistics:
        """Return the counters of a device, after it has come to rest."""
        self._world.run()
        return self.devices[index].statistics()

    def check(self) -> None:
        """Look whether anything contradicts anything, in devices and drivers.

        Raises:
            InvariantError, AssertionError: it does.
        """
        for device in self.devices:
            device.check()
        self._programs.check()

    def step(self) -> bool:
        """Give each device one turn, also while they are held; return whether any had work."""
        return self._world.step()

    def advance(self, nanoseconds: int) -> None:
        """Let time pass, and the devices do what falls into it."""
        end = self.now + nanoseconds
        self._world.run()
        while self.now < end:
            self._world.pass_time(end)
            self._world.run()

    @contextmanager
    def hold(self) -> Generator[None]:
        """Let devices rest when they are rung, to look at what is not done yet.

        A wait lets them work all the same, as does `step`.
        """
        before, self._world.held = self._world.held, True
        try:
            yield
        finally:
            self._world.held = before
            if not before:
                self._world.run()

    def assert_nothing_left(self) -> None:
        """Look whether every program gave back all that it made, and the devices agree.

        Raises:
            AssertionError: one did not, what and where; or a driver forgot something on a device.
        """
        self.check()
        self._world.run()
        self._programs.assert_nothing_left([device.statistics() for device in self.devices])

    def close(self) -> None:
        """Close drivers and devices.

        Raises:
            AssertionError: what a program had did not come back when it left.
        """
        self._programs.close()
        self._world.run()
        try:
            complain(self._kept_by_devices())
        finally:
            self.discard()

    def discard(self) -> None:
        """Close drivers and devices without a look at what is left."""
        self._programs.close()
        self._world.close()

    def _kept_by_devices(self) -> Iterator[str]:
        """Yield what the devices still hold when no client is there any more."""
        for index, (device, free) in enumerate(zip(self.devices, self._free_bytes, strict=True)):
            device.check()
            statistics = device.statistics()
            held = held_by_device(statistics)
            # Frames with errors are out of service for good, and nobody's.
            kept = free - statistics.free_bytes - statistics.retired_bytes
            if held != Held() or kept:
                yield f"device {index}: {held} and {kept:#x} bytes"
        if self._world.memory.file_count:
            yield f"{self._world.memory.file_count} files of host memory"


@contextmanager
def pair(
    spec: DeviceSpec | Sequence[DeviceSpec] = DEFAULT_SPEC,
    *,
    devices: int | None = None,
    profile: Literal["spec", "intel"] | None = None,
) -> Generator[Pair]:
    """Make devices and a driver on them; close all of it at the end of the block.

    Args:
        spec: what each device is; one for all, or one for each.
        devices: how many there are, where one `spec` is for all; None leaves it to that.
        profile: whose behaviour they show; None leaves it to `spec`.

    Raises:
        AssertionError: at the end of a block that did not fail, when the devices did not get back
            all that the programs had.
    """
    if isinstance(spec, DeviceSpec):
        specs = [spec] * (spec.devices if devices is None else devices)
    else:
        specs = list(spec)
    if profile is not None:
        specs = [replace(one, profile=Profile[profile.upper()]) for one in specs]
    made = Pair(specs)
    try:
        yield made
    except BaseException:
        made.discard()
        raise
    made.close()


__all__ = ["DEFAULT_SPEC", "DeviceSpec", "Pair", "pair"]
