"""Waking a device that sleeps: from the call that submits to the completion seen.

Client and device sleep before every command, as after a pause of the program. The limit is the
least that this takes: one eventfd wakes a process that sleeps, another one wakes whoever waits.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from firmware.abi.control import Nop
from firmware.abi.registers import DEVICE_ASLEEP
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    SMALL,
    VA,
    alternate,
    copy,
    pinned_client,
    processors,
    submit_and_wait,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.process_client import RawClient

ROUNDS = 15
WAKES = 40
PAUSE_SECONDS = 300e-6
"""Long enough that the processor of a process that sleeps is given back."""
BAR = 1.5


class Sleeper:
    """Waits until the device sleeps before each call."""

    def __init__(self, client: RawClient) -> None:
        block = client.end.superblock
        self._words = client.end.segment.words
        self._asleep = block.registers_offset + DEVICE_ASLEEP.offset

    def median(self, call: Callable[[], float]) -> float:
        """Return the median of what a call returns, in microseconds."""
        return statistics.median(self._after_sleep(call) for _ in range(WAKES)) * MICROSECONDS

    def _after_sleep(self, call: Callable[[], float]) -> float:
        time.sleep(PAUSE_SECONDS)
        while not self._words.load32(self._asleep):
            time.sleep(PAUSE_SECONDS)
        return call()


def timed_nop(client: RawClient) -> float:
    """Return the seconds that a control command takes which does nothing."""
    start = time.perf_counter()
    client.call(Nop(request=1))
    return time.perf_counter() - start


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with limit_program("wake", *processors()) as limit, pinned_client() as (_, client):
        vmid = client.space()
        client.map(vmid, VA, 1 << 20, client.vram(1 << 20))
        queue = client.queue(vmid)
        command = copy(VA, VA + (1 << 19), SMALL)
        sleeper = Sleeper(client)
        pause = round(PAUSE_SECONDS * MICROSECONDS)
        copied, control, limit_us = alternate(
            (
                lambda: sleeper.median(lambda: submit_and_wait(queue, command)),
                lambda: sleeper.median(lambda: timed_nop(client)),
                lambda: limit.ask("wake", WAKES, pause) / 1e3,
            ),
            ROUNDS,
        )
    limit_is = "two eventfds in C"
    return [
        Row(
            what=f"{what}, device asleep",
            value=value,
            unit="us",
            limit=limit_us,
            limit_is=limit_is,
            bar=BAR,
        )
        for what, value in (("one 4 KiB copy", copied), ("one control command", control))
    ]
