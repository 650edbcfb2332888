"""Command lists between two processes: one copy, a list of 1,000, and the same list again.

A figure counts from the call of the Python API until the call that waits returns. The limits do the
same with a bare work ring: driver and device are two processes in C that spin.
"""

from __future__ import annotations

import statistics
import time

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import ring_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import MICROSECONDS, VA, alternate, copy, device_process

PAGE = 4 << 10
COMMANDS = 1_000
SOURCE = VA
DESTINATION = VA + (1 << 32) + (8 << 20)
"""Half a TLB away, so that the pages of both areas stay in it."""
SINGLES = 200
LISTS = 5
ROUNDS = 7
SINGLE_BAR = 20.0
LIST_BAR = 10.0


class Lists:
    """Lists of one program that copy pages."""

    def __init__(self, context: ze.Context, device: ze.Device) -> None:
        self._context, self._device = context, device
        size = COMMANDS * PAGE
        self._source = context.mem_alloc_device(device, size)
        self._destination = context.mem_alloc_device(device, size)
        context.memory_fill(self._source, b"benchmrk", size)
        synchronous = ze.CommandQueueDesc(mode=ze.CommandQueueMode.SYNCHRONOUS)
        self._immediate = context.command_list_create_immediate(device, synchronous)
        self._queue = context.command_queue_create(device)
        self._closed = context.command_list_create(device)
        self._record(self._closed)

    def single(self) -> float:
        """Return the median of a copy on a synchronous immediate list, in microseconds."""
        samples: list[float] = []
        for _ in range(SINGLES):
            start = time.perf_counter()
            self._immediate.append_memory_copy(self._destination, self._source, PAGE)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples) * MICROSECONDS

    def again(self) -> float:
        """Return the median of one more execution of a list, in microseconds."""
        return statistics.median(self._execute(self._closed) for _ in range(LISTS))

    def first(self) -> float:
        """Return the median of the first execution of a list, in microseconds."""
        samples: list[float] = []
        for _ in range(LISTS):
            made = self._context.command_list_create(self._device)
            self._record(made)
            samples.append(self._execute(made))
            made.destroy()
        return statistics.median(samples)

    def _record(self, commands: ze.CommandList) -> None:
        for at in range(0, COMMANDS * PAGE, PAGE):
            commands.append_memory_copy(self._destination + at, self._source + at, PAGE)
        commands.close()

    def _execute(self, commands: ze.CommandList) -> float:
        start = time.perf_counter()
        self._queue.execute_command_lists([commands])
        self._queue.synchronize()
        return (time.perf_counter() - start) * MICROSECONDS


def rows(figures: list[float], limits: list[float]) -> list[Row]:
    """Return the rows of what was measured."""
    single, first, again = figures
    one, many = limits
    limit_is = "two processes in C that spin"
    rate, most = COMMANDS / again * MICROSECONDS, COMMANDS / many * MICROSECONDS
    return [
        Row(
            what="copy of 4 KiB on a synchronous immediate list",
            value=single,
            unit="us",
            limit=one,
            limit_is=limit_is,
            bar=SINGLE_BAR,
        ),
        Row(
            what="list of 1,000 copies, first execution",
            value=first,
            unit="us",
            limit=many,
            limit_is=limit_is,
            bar=LIST_BAR,
        ),
        Row(
            what="list of 1,000 copies, executed again",
            value=again,
            unit="us",
            limit=many,
            limit_is=limit_is,
            bar=LIST_BAR,
        ),
        Row(
            what="commands of a list executed again",
            value=rate,
            unit="commands/s",
            limit=most,
            limit_is=limit_is,
            bar=1 / LIST_BAR,
            higher_is_better=True,
        ),
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    one = copy(SOURCE, DESTINATION, PAGE)
    many = b"".join(
        copy(SOURCE + at, DESTINATION + at, PAGE) for at in range(0, COMMANDS * PAGE, PAGE)
    )
    # One after the other: four processes that spin would take the processors from each other.
    with device_process() as device, ze.connect(device.path, start=None) as driver:
        lists = Lists(driver.create_context(), driver.devices[0])
        figures = alternate((lists.single, lists.first, lists.again), ROUNDS)
    with ring_limit((one, many), SOURCE, DESTINATION, COMMANDS) as ring:
        limits = alternate(
            (lambda: ring.ask("list", 0, SINGLES) / 1e3, lambda: ring.ask("list", 1, LISTS) / 1e3),
            ROUNDS,
        )
    return rows(figures, limits)
