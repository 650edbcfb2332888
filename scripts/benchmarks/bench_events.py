"""An event signalled by one process and seen by another, and back: both awake, and both asleep.

Each side waits for an event, resets it and signals another one, by the functions of the Python API.
The limits do the same with bare words: two processes in C that spin, and two eventfds.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import MICROSECONDS, alternate, device_process, processors
from tests.harness.event_program import SHARED, EventProgram, event_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.benchmarks.stand import Processors

ROUNDS = 9
AWAKE = 300
ASLEEP = 40
PAUSE_SECONDS = 5e-3
SPINNING_BAR = 20.0
SLEEPING_BAR = 1.5


class Partner:
    """This process's side of the exchange."""

    def __init__(self, context: ze.Context, program: EventProgram) -> None:
        pool = context.event_pool_create(SHARED)
        self._program = program
        self._ping, self._pong = (pool.event_create(ze.EventDesc(index)) for index in range(2))
        program.do("open", pool.get_ipc_handle().hex())

    def apart(self, pair: Processors) -> None:
        """Keep both sides on a processor each, as the limits are, now that both know of two."""
        if pair.client >= 0:
            os.sched_setaffinity(0, {pair.client})
            os.sched_setaffinity(self._program.process.pid, {pair.device})

    def round_trips(self, count: int, pause: float = 0.0) -> float:
        """Return the median of so many round trips, in microseconds, each after a pause."""
        self._program.begin("answer", count)
        samples: list[float] = []
        for _ in range(count):
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            self._ping.host_signal()
            self._pong.host_synchronize()
            samples.append(time.perf_counter() - start)
            self._pong.host_reset()
        self._program.end()
        return statistics.median(samples) * MICROSECONDS


def rows(calls: tuple[Callable[[], float], ...]) -> list[Row]:
    """Measure and return the rows."""
    awake, asleep, spin, wake = alternate(calls, ROUNDS)
    return [
        Row(
            what="event there and back, both spin",
            value=awake,
            unit="us",
            limit=spin,
            limit_is="two spinning processes in C",
            bar=SPINNING_BAR,
        ),
        Row(
            what="event there and back, both asleep",
            value=asleep,
            unit="us",
            limit=wake,
            limit_is="two eventfds in C",
            bar=SLEEPING_BAR,
        ),
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    pair = processors()
    with (
        device_process() as device,
        limit_program("event", *pair) as spinning,
        limit_program("wake", *pair) as waking,
        event_program(device.path) as program,
        ze.connect(device.path, start=None) as driver,
    ):
        partner = Partner(driver.create_context(), program)
        partner.apart(pair)
        pause = round(PAUSE_SECONDS * MICROSECONDS)
        return rows(
            (
                lambda: partner.round_trips(AWAKE),
                lambda: partner.round_trips(ASLEEP, PAUSE_SECONDS),
                lambda: spinning.ask("spin", AWAKE) / 1e3,
                lambda: waking.ask("wake", ASLEEP, pause) / 1e3,
            )
        )
