"""Large copies: bytes a second against memcpy, and what another client notices of them."""

from __future__ import annotations

import os
import statistics
from functools import partial
from typing import TYPE_CHECKING

from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    SMALL,
    VA,
    alternate,
    attached,
    copy,
    device_process,
    submit_and_wait,
)

if TYPE_CHECKING:
    from scripts.benchmarks.limits import LimitProgram
    from tests.harness.process_client import RawClient, RawQueue

MIB = 1 << 20
SIZES = (16 * MIB, 64 * MIB, 256 * MIB)
LARGEST = SIZES[-1]
DESTINATION = VA + LARGEST
SYSTEM = VA + 2 * LARGEST
ROUNDS = 9
BAR = 0.9
SHARE_BAR = 0.02
"""Part of a large copy that another client's small one may take."""


class Copier:
    """A client with two large areas of VRAM and one of system memory."""

    def __init__(self, client: RawClient) -> None:
        vmid = client.space()
        for va in (VA, DESTINATION):
            client.map(vmid, va, LARGEST, client.vram(LARGEST))
        number, self._mapping = client.system(LARGEST)
        client.map(vmid, SYSTEM, LARGEST, number)
        self.queue: RawQueue = client.queue(vmid)
        # Every page exists before anything is measured.
        self.rate(VA, SYSTEM, LARGEST)
        self.rate(VA, DESTINATION, LARGEST)
        self.rate(DESTINATION, SYSTEM, LARGEST)

    def rate(self, source: int, destination: int, size: int) -> float:
        """Return the gigabytes a second of one copy."""
        return size / submit_and_wait(self.queue, copy(source, destination, size)) / 1e9

    def close(self) -> None:
        """Give up the mapping of system memory."""
        self._mapping.close()


def rate_in_c(limit: LimitProgram, kind: str, size: int) -> float:
    """Return the gigabytes a second of memcpy by as many threads as the device has."""
    return size / limit.ask(kind, size, min(2, len(os.sched_getaffinity(0))))


def measure_rates(copier: Copier, limit: LimitProgram) -> list[Row]:
    """Return a row for each size and direction."""
    cases = [(f"{size // MIB} MiB, VRAM to VRAM", VA, "private", size) for size in SIZES]
    cases.append((f"{LARGEST // MIB} MiB, system memory to VRAM", SYSTEM, "shared", LARGEST))
    rows: list[Row] = []
    for what, source, kind, size in cases:
        ours, memcpy = alternate(
            (
                partial(copier.rate, source, DESTINATION, size),
                partial(rate_in_c, limit, kind, size),
            ),
            ROUNDS,
        )
        rows.append(
            Row(
                what=f"copy of {what}",
                value=ours,
                unit="GB/s",
                limit=memcpy,
                limit_is="memcpy by as many threads",
                bar=BAR,
                higher_is_better=True,
            )
        )
    return rows


def measure_neighbour(copier: Copier, client: RawClient) -> list[Row]:
    """Return what small copies of another client take while a large one runs."""
    vmid = client.space()
    client.map(vmid, VA, MIB, client.vram(MIB))
    queue = client.queue(vmid)
    small, large = copy(VA, VA + MIB // 2, SMALL), copy(VA, DESTINATION, LARGEST)
    submit_and_wait(queue, small)
    alone = [submit_and_wait(copier.queue, large) for _ in range(3)]
    samples: list[float] = []
    for _ in range(ROUNDS):
        seqno = copier.queue.submit_bytes(large)
        while not copier.queue.reached(seqno):
            samples.append(submit_and_wait(queue, small))
    samples.sort()
    limit = statistics.median(alone) * MICROSECONDS
    median, late = samples[len(samples) // 2], samples[len(samples) * 99 // 100]
    return [
        Row(
            what=f"4 KiB copy of another client meanwhile, {name}",
            value=value * MICROSECONDS,
            unit="us",
            limit=limit,
            limit_is="the large copy, which it would wait for",
            bar=bar,
            note=f"{len(samples)} during {ROUNDS} copies of {LARGEST // MIB} MiB",
        )
        for name, value, bar in (("median", median, SHARE_BAR), ("99 of 100", late, 0.5))
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with (
        limit_program("copy", LARGEST) as limit,
        device_process() as device,
        attached(device) as first,
        attached(device, "neighbour") as second,
    ):
        copier = Copier(first)
        rows = [*measure_rates(copier, limit), *measure_neighbour(copier, second)]
        copier.close()
    return rows
