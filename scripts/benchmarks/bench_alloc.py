"""Allocation: memory of the device and of the host, made and freed by the driver.

A figure is one `mem_alloc` and one `mem_free` of the Python driver, wall time. The limit of device
memory is what the two questions to the device cost at least, two round trips of a spinning ring in
C; that of host memory is what the system takes for a memory file, mapped and closed again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import limit_program, ring_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    alternate,
    apart,
    device_process,
    fence,
    median_of,
    seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.benchmarks.limits import LimitProgram

SMALL = 64 << 10
LARGE = 2 << 20
ROUNDS = 9
SINGLES = 100
SINGLES_IN_C = 2_000
RING_IS = "two round trips of a spinning ring in C"
FILE_IS = "memfd_create, ftruncate, mmap, munmap, close in C"


class Allocations:
    """Allocations of one program."""

    def __init__(self, driver: ze.Driver) -> None:
        self._device = driver.devices[0]
        self._context = driver.create_context()
        # Something else is mapped beside it, as in every program: page tables are there.
        self._others = [self._context.mem_alloc_device(self._device, SMALL) for _ in range(4)]
        self._others += [self._context.mem_alloc_device(self._device, LARGE) for _ in range(2)]

    def on_device(self, size: int) -> None:
        """Allocate device memory and free it."""
        self._context.mem_free(self._context.mem_alloc_device(self._device, size))

    def on_host(self, size: int) -> None:
        """Allocate host memory and free it."""
        self._context.mem_free(self._context.mem_alloc_host(size))

    def range(self) -> None:
        """Ask for base and size of an allocation."""
        self._context.mem_get_address_range(self._others[0] + 5)


def measure(driver: ze.Driver, system: LimitProgram, ring: LimitProgram) -> list[Row]:
    """Measure one program's allocations."""
    made = Allocations(driver)

    def median(call: Callable[[], None]) -> float:
        return median_of(partial(seconds_of, call), SINGLES) * MICROSECONDS

    small, large, host, question, poll, file = alternate(
        (
            lambda: median(lambda: made.on_device(SMALL)),
            lambda: median(lambda: made.on_device(LARGE)),
            lambda: median(lambda: made.on_host(LARGE)),
            lambda: median(made.range),
            lambda: ring.ask("fence", 0, SINGLES_IN_C) / 1e3,
            lambda: system.ask("file", LARGE, SINGLES) / 1e3,
        ),
        ROUNDS,
    )
    figures = (
        ("device memory of 64 KiB, allocated and freed", small, 2 * poll, RING_IS, 60.0),
        ("device memory of 2 MiB, allocated and freed", large, 2 * poll, RING_IS, 60.0),
        ("host memory of 2 MiB, allocated and freed", host, file, FILE_IS, 4.0),
        ("address range of a pointer", question, 2 * poll, RING_IS, 10.0),
    )
    return [
        Row(what=what, value=value, unit="us", limit=limit, limit_is=limit_is, bar=bar)
        for what, value, limit, limit_is, bar in figures
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with (
        limit_program("map", LARGE) as system,
        ring_limit([fence()]) as ring,
        device_process() as device,
        ze.connect(device.path, start=None) as driver,
        apart(device),
    ):
        return measure(driver, system, ring)
