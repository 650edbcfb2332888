"""Waking a device that sleeps: from the call that submits to the completion seen.

Client and device sleep before every command, as after a pause of the program. The limit is the
least that this takes: one eventfd wakes a process that sleeps, another one wakes whoever waits.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
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
    seconds_of,
    submit_and_wait,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.benchmarks.limits import LimitProgram
    from tests.harness.process_client import RawClient

ROUNDS = 15
WAKES = 40
PAUSES_SECONDS = 0.3e-3, 5e-3
"""A pause between two commands, and one after which the device sleeps as deep as it ever does."""
BAR = 1.5


class Sleeper:
    """Waits until the device sleeps before each call."""

    def __init__(self, client: RawClient) -> None:
        block = client.end.superblock
        self._words = client.end.segment.words
        self._asleep = block.registers_offset + DEVICE_ASLEEP.offset

    def median(self, call: Callable[[], float], pause: float) -> float:
        """Return the median of what a call returns after pauses, in microseconds."""
        samples = [self._after_sleep(call, pause) for _ in range(WAKES)]
        return statistics.median(samples) * MICROSECONDS

    def _after_sleep(self, call: Callable[[], float], pause: float) -> float:
        time.sleep(pause)
        while not self._words.load32(self._asleep):
            time.sleep(pause)
        return call()


def measure(client: RawClient, limit: LimitProgram, pause: float) -> list[Row]:
    """Measure a copy and a control command, each after a pause."""
    vmid = client.space()
    client.map(vmid, VA, 1 << 20, client.vram(1 << 20))
    queue = client.queue(vmid)
    command = copy(VA, VA + (1 << 19), SMALL)
    sleeper = Sleeper(client)
    nop = partial(client.call, Nop(request=1))
    copied, control, limit_us = alternate(
        (
            lambda: sleeper.median(partial(submit_and_wait, queue, command), pause),
            lambda: sleeper.median(partial(seconds_of, nop), pause),
            lambda: limit.ask("wake", WAKES, round(pause * MICROSECONDS)) / 1e3,
        ),
        ROUNDS,
    )
    return [
        Row(
            what=f"{what} after a pause of {pause * 1e3:g} ms",
            value=value,
            unit="us",
            limit=limit_us,
            limit_is="two eventfds in C",
            bar=BAR,
        )
        for what, value in (("one 4 KiB copy", copied), ("one control command", control))
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with limit_program("wake", *processors()) as limit, pinned_client() as (_, client):
        return [row for pause in PAUSES_SECONDS for row in measure(client, limit, pause)]
