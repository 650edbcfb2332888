"""Work rings between two processes: one copy, a list of 1,000 copies, an event.

A figure counts from the call that submits to the return of the one that waits; both processes poll,
as they do while work goes on. What waking up costs is measured by `wake`.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from firmware.abi.segment import FENCE_HOST_SLEEPERS, FENCE_VALUE
from firmware.link.waiting import WordWait
from scripts.benchmarks.limits import ring_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    SMALL,
    VA,
    alternate,
    copy,
    fence,
    median_of,
    pinned_client,
    submit_and_wait,
)

if TYPE_CHECKING:
    from scripts.benchmarks.limits import LimitProgram
    from tests.harness.process_client import RawClient, RawQueue

LIST = 1_000
AREA = 4 << 20
SOURCE = VA
DESTINATION = VA + (1 << 32) + (8 << 20)
"""Half a TLB away, so that the pages of both areas stay in it."""
ROUNDS = 25
SINGLES = 400
SINGLES_IN_C = 4_000
LISTS = 5
HARDWARE_COPY = 8.3
"""A GPU of 2023: the best of two runs' medians, in microseconds."""
HARDWARE_LIST = 3_900.0


def shuffled_copies() -> bytes:
    """Return copies of 4 KiB from every page of one area to every page of the other."""
    order = np.random.default_rng(1)
    sources, destinations = order.permutation(LIST), order.permutation(LIST)
    return b"".join(
        copy(SOURCE + source * SMALL, DESTINATION + destination * SMALL, SMALL)
        for source, destination in zip(sources.tolist(), destinations.tolist(), strict=True)
    )


class Events:
    """Lets the device store growing values into a fence slot, and waits for the slot."""

    def __init__(self, client: RawClient, queue: RawQueue) -> None:
        self._wait = client.end.waiter.wait
        self._slot = client.end.superblock.fences_offset
        self._queue = queue
        self._value = 0

    def median(self, count: int) -> float:
        """Return the median of the seconds from submission until the value is seen."""
        return statistics.median(self._signal(fence(self._next())) for _ in range(count))

    def _next(self) -> int:
        self._value += 1
        return self._value

    def _signal(self, command: bytes) -> float:
        slot = self._slot
        start = time.perf_counter()
        self._queue.submit_bytes(command)
        self._wait(WordWait(slot + FENCE_VALUE, self._value, slot + FENCE_HOST_SLEEPERS), 30.0)
        return time.perf_counter() - start


def set_up(client: RawClient) -> RawQueue:
    """Map two areas whose pages exist; return a queue."""
    vmid = client.space()
    for va in (SOURCE, DESTINATION):
        client.map(vmid, va, AREA, client.vram(AREA))
    queue = client.queue(vmid, 2048)
    queue.submit_bytes(copy(SOURCE, DESTINATION, AREA) + copy(DESTINATION, SOURCE, AREA))
    if not queue.wait():
        raise RuntimeError("the areas cannot be copied")
    return queue


def measure(client: RawClient, limit: LimitProgram, one: bytes, many: bytes) -> list[float]:
    """Return single, list and event, each followed by its limit, in microseconds."""
    queue = set_up(client)
    events = Events(client, queue)
    singly = partial(submit_and_wait, queue, one)
    listed = partial(submit_and_wait, queue, many)
    calls = (
        lambda: median_of(singly, SINGLES) * MICROSECONDS,
        lambda: limit.ask("list", 0, SINGLES_IN_C) / 1e3,
        lambda: median_of(listed, LISTS) * MICROSECONDS,
        lambda: limit.ask("list", 1, LISTS) / 1e3,
        lambda: events.median(SINGLES) * MICROSECONDS,
        lambda: limit.ask("fence", 2, SINGLES_IN_C) / 1e3,
    )
    return alternate(calls, ROUNDS)


def run() -> list[Row]:
    """Measure; return a row a figure."""
    one, many = copy(SOURCE, DESTINATION, SMALL), shuffled_copies()
    with (
        ring_limit((one, many, fence()), SOURCE, DESTINATION, LIST) as limit,
        pinned_client() as (_, client),
    ):
        alone, alone_c, listed, listed_c, event, event_c = measure(client, limit, one, many)
    what_one, what_list = "one 4 KiB copy, submit to completion seen", "1,000 copies of 4 KiB"
    return [
        Row(
            what=what_one,
            value=alone,
            unit="us",
            limit=alone_c,
            limit_is="the same ring in C",
            bar=12,
        ),
        Row(
            what=f"{what_one}, and hardware",
            value=alone,
            unit="us",
            limit=HARDWARE_COPY,
            limit_is="hardware",
            bar=1,
        ),
        Row(
            what=f"{what_list} in one list",
            value=listed,
            unit="us",
            limit=listed_c,
            limit_is="the same ring in C",
            bar=8,
        ),
        Row(
            what=f"{what_list} in one list, and hardware",
            value=listed,
            unit="us",
            limit=HARDWARE_LIST,
            limit_is="hardware",
            bar=1 / 3,
        ),
        Row(
            what="event signalled by the device, seen by the client",
            value=event,
            unit="us",
            limit=event_c,
            limit_is="the same ring in C",
            bar=20,
            note="submission included",
        ),
    ]
