"""The stand that benchmarks run on: a device process, and clients in this one.

Latencies are measured with the client on the first processor and the device on the last, the C
limits likewise: otherwise a run tells where the system happened to put them.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.work import Copy, FenceWrite, WorkFlags
from tests.harness.emulator_process import emulator_process
from tests.harness.process_client import RawClient, RawQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tests.harness.emulator_process import EmulatorProcess

VA = 1 << 36
"""Where clients map memory."""
SMALL = 4096
MICROSECONDS = 1e6


class Processors(NamedTuple):
    """Where client and device run; -1 where the system chooses."""

    client: int
    device: int


def processors() -> Processors:
    """Return the first and the last processor, if there are two."""
    usable = sorted(os.sched_getaffinity(0))
    return Processors(usable[0], usable[-1]) if len(usable) > 1 else Processors(-1, -1)


@contextmanager
def device_process(vram_size: int = 1 << 30) -> Generator[EmulatorProcess]:
    """Run a device process of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        emulator_process(Path(folder), vram_size=vram_size) as device,
    ):
        yield device


@contextmanager
def attached(device: EmulatorProcess, name: str = "benchmark") -> Generator[RawClient]:
    """Attach a client of this process."""
    client = RawClient(device.path, name)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def apart(device: EmulatorProcess) -> Generator[None]:
    """Keep this thread and the device's main thread on a processor each.

    To be used after both have begun: whoever finds one processor only at its start never spins.
    """
    place = processors()
    if place.client < 0:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {place.client})
    os.sched_setaffinity(device.pid, {place.device})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        os.sched_setaffinity(device.pid, before)


@contextmanager
def pinned_client() -> Generator[tuple[EmulatorProcess, RawClient]]:
    """Give a device and a client, each on a processor of its own."""
    with ExitStack() as stack:
        device = stack.enter_context(device_process())
        client = stack.enter_context(attached(device))
        stack.enter_context(apart(device))
        yield device, client


def copy(source: int, destination: int, size: int) -> bytes:
    """Return a COPY command."""
    return Copy(
        flags=WorkFlags.NONE, tag=0, source=source, destination=destination, size_bytes=size
    ).pack()


def fence(value: int = 0) -> bytes:
    """Return a command that stores a value into fence slot 0."""
    return FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=0, value=value).pack()


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def submit_and_wait(queue: RawQueue, commands: bytes) -> float:
    """Return the seconds from the call that submits to the end of the one that waits."""
    start = time.perf_counter()
    queue.submit_bytes(commands)
    done = queue.wait()
    elapsed = time.perf_counter() - start
    if not done:
        raise RuntimeError("a command of the benchmark faulted")
    return elapsed


def median_of(call: Callable[[], float], count: int) -> float:
    """Return the median of what a call returns.

    One by one, so that the few calls during which a process had no processor move nothing.
    """
    return statistics.median(call() for _ in range(count))


def alternate(calls: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """Return the median of what each call returns; their rounds are interleaved."""
    samples = [[call() for call in calls] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*samples, strict=True)]
