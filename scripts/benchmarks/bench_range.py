"""Ranges of many physical objects through the driver: made, exported, opened by another process.

The limit is what the system itself takes for one mapping: whoever shares many objects by passing a
descriptor for each pays at least that for each. Where hardware is named, it is an H200 with the
equivalent calls of its own interface.
"""

from __future__ import annotations

import statistics
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import MICROSECONDS, apart, device_process, seconds_of
from tests.harness.children import child

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hostdriver.levelzero import Context, Device, PhysicalMem
    from scripts.benchmarks.limits import LimitProgram

SIZE = 64 << 10
"""Size of an object."""
FEW, ROUNDS = 1_000, 7
MANY, MANY_ROUNDS = 100_000, 1
PIECES = 10_000
"""Mappings of the limit; the system permits no more than 65,530 in a process."""
ONE_MMAP = "one mmap in C"
IMPORTER = "scripts.benchmarks.range_importer"


class Times(NamedTuple):
    """Microseconds for one object."""

    making: float
    """Creating it and mapping it, one by one."""
    exporting: float
    opening: float
    """Opening and mapping the whole range in the other process."""
    limit: float


class Steps:
    """One range, from the first object to the last."""

    def __init__(self, context: Context, device: Device, count: int) -> None:
        self._context, self._device, self._count = context, device, count
        self._objects: list[PhysicalMem] = []
        self._va = context.virtual_mem_reserve(count * SIZE)

    def make(self) -> None:
        """Create and map every object."""
        context, device, desc = self._context, self._device, ze.PhysicalMemDesc(SIZE)
        for va in range(self._va, self._va + self._count * SIZE, SIZE):
            made = context.physical_mem_create(device, desc)
            context.virtual_mem_map(va, SIZE, made)
            self._objects.append(made)

    def export(self) -> bytes:
        """Return one handle for all of them."""
        window = [ze.IpcPhysMemHandleRangeExtDesc(self._count * SIZE)]
        return self._context.mem_get_ipc_handle_with_properties(self._va, window)

    def undo(self, handle: bytes) -> None:
        """Take everything back."""
        self._context.mem_put_ipc_handle(handle)
        self._context.virtual_mem_free(self._va, self._count * SIZE)
        for made in self._objects:
            self._context.physical_mem_destroy(made)


@contextmanager
def importer(path: object) -> Generator[Callable[[bytes], float]]:
    """Run the other process; give a function that has it open a handle and returns the seconds."""
    with child(IMPORTER, str(path)) as process:
        if process.hear() != "ready":
            raise RuntimeError("the importing process did not start")

        def opened(handle: bytes) -> float:
            process.say(handle.hex())
            return float(process.hear())

        yield opened


def one_round(
    context: Context,
    device: Device,
    count: int,
    opened: Callable[[bytes], float],
    system: LimitProgram,
) -> Times:
    """Measure one range of `count` objects."""
    steps = Steps(context, device, count)
    handles: list[bytes] = []
    seconds = [seconds_of(steps.make), seconds_of(lambda: handles.append(steps.export()))]
    seconds.append(opened(handles[0]))
    steps.undo(handles[0])
    making, exporting, opening = (second / count * MICROSECONDS for second in seconds)
    return Times(making, exporting, opening, system.ask("list", SIZE, PIECES) / 1e3)


def measure(count: int, rounds: int, system: LimitProgram) -> Times:
    """Return the medians of some rounds."""
    with (
        device_process(2 * MANY * SIZE) as emulator,
        importer(emulator.path) as opened,
        ze.connect(emulator.path, start=None) as driver,
        apart(emulator),
    ):
        context, device = driver.create_context(), driver.devices[0]
        samples = [one_round(context, device, count, opened, system) for _ in range(rounds)]
    return Times(*map(statistics.median, zip(*samples, strict=True)))


def row(what: str, value: float, limit: tuple[float, str], bar: float, count: int) -> Row:
    """Return the row of one figure."""
    return Row(
        what=what,
        value=value,
        unit="us",
        limit=limit[0],
        limit_is=limit[1],
        bar=bar,
        note=f"{count:,} objects of 64 KiB in one range, an object",
    )


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with limit_program("map", PIECES * SIZE) as system:
        few = measure(FEW, ROUNDS, system)
        many = measure(MANY, MANY_ROUNDS, system)
    mmap, mmap_of_many = (few.limit, ONE_MMAP), (many.limit, ONE_MMAP)
    return [
        row("create and map, one by one", few.making, mmap, 4, FEW),
        row("the same, beside hardware", few.making, (54.15, "hardware"), 0.3, FEW),
        row("export", few.exporting, mmap, 0.25, FEW),
        row("the same, beside hardware", few.exporting, (58.73, "hardware"), 0.02, FEW),
        row("open in another process", few.opening, mmap, 0.5, FEW),
        row("the same, beside hardware", few.opening, (52.74, "hardware"), 0.04, FEW),
        row("create and map very many", many.making, mmap_of_many, 4, MANY),
        row("export very many", many.exporting, mmap_of_many, 0.25, MANY),
        row("open very many in another process", many.opening, mmap_of_many, 0.5, MANY),
    ]
