"""IPC handles of allocations: getting and putting, opening and closing in another process.

The limit of opening is what C needs to ask another process for a descriptor, map it and give both
back. Where hardware is named, it is an H200 with the equivalent calls of its own interface.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.null_driver import Asked, rows_beside_null_driver
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    alternate,
    apart,
    device_process,
    median_of,
    seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hostdriver.levelzero import Context, Device
    from scripts.benchmarks.limits import LimitProgram

SIZE = 2 << 20
SAMPLES = 200
SAMPLES_IN_C = 2_000
ROUNDS = 15
HARDWARE_OPEN = 86.13
UNDER_LOADER = (Asked("under a loader: handle got, exported already", "handle"),)
"""Debian's loader is older than putting."""


@contextmanager
def programs() -> Generator[tuple[Context, Context, Device]]:
    """Give the contexts of an exporter and of an importer, and the importer's device.

    Both stand in this process and have nothing in common; the device is another process.
    """
    with (
        device_process() as emulator,
        ze.connect(emulator.path, name="exporter", start=None) as exporter,
        ze.connect(emulator.path, name="importer", start=None) as importer,
        apart(emulator),
    ):
        yield exporter.create_context(), importer.create_context(), importer.devices[0]


def median(call: Callable[[], object]) -> float:
    """Return the median microseconds of a call."""
    return median_of(partial(seconds_of, call), SAMPLES) * MICROSECONDS


def open_and_close(context: Context, device: Device, handle: bytes) -> None:
    """Open a handle and close what came of it."""
    context.mem_close_ipc_handle(context.mem_open_ipc_handle(device, handle))


def get_and_put(context: Context, pointer: int, handle: bytes) -> None:
    """Get a handle once more and put it."""
    context.mem_get_ipc_handle(pointer)
    context.mem_put_ipc_handle(handle)


def measure(limit: LimitProgram) -> list[float]:
    """Return the medians: get and put; open device and host memory; the limit."""
    with programs() as (exporter, importer, device):
        memories = (
            exporter.mem_alloc_device(exporter.driver.devices[0], SIZE),
            exporter.mem_alloc_host(SIZE),
        )
        handles = [exporter.mem_get_ipc_handle(memory) for memory in memories]
        return alternate(
            (
                lambda: median(lambda: get_and_put(exporter, memories[0], handles[0])),
                lambda: median(lambda: open_and_close(importer, device, handles[0])),
                lambda: median(lambda: open_and_close(importer, device, handles[1])),
                lambda: limit.ask("open", SIZE, SAMPLES_IN_C) / 1e3,
            ),
            ROUNDS,
        )


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with limit_program("ipc") as limit:
        pair, device, host, scm_rights = measure(limit)

    def row(what: str, value: float, bound: float, bound_is: str, bar: float) -> Row:
        return Row(what=what, value=value, unit="us", limit=bound, limit_is=bound_is, bar=bar)

    c_is = "SCM_RIGHTS and mmap in C"
    return [
        row("get and put memory that is exported already", pair, scm_rights, c_is, 1),
        row("open and close device memory of 2 MiB", device, scm_rights, c_is, 8),
        row("the same, beside hardware", device, HARDWARE_OPEN, "hardware", 1),
        row("open and close host memory of 2 MiB", host, scm_rights, c_is, 8),
        *rows_beside_null_driver("ipc", UNDER_LOADER),
    ]
