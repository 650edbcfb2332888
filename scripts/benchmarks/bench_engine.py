"""Work rings in one process: from a published tail to `completed`, against the same in C."""

from __future__ import annotations

import ctypes
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from device.core.engine import EngineClient, Scheduler, WorkQueue
from device.core.memory import MemoryController
from device.core.paging import AddressSpace
from device.core.spec import DeviceSpec
from firmware.abi.boot import FirmwareLimits
from firmware.abi.control import QueueKind
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, READ_WRITE, Feature
from firmware.abi.paging import leaf_entry
from firmware.link.layout import SegmentPlan
from firmware.link.rings import Producer
from scripts.benchmarks.limits import compile_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import alternate, copy

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOURCE = 0x10_0000_0000
# Half a TLB away, so that 1,000 pages of both stay in it.
DESTINATION = 0x20_0080_0000
AREA = 8 << 20
LIST = 1000
RING = 2048
ROUNDS = 40
SINGLES = 2000


class Bench:
    """One device, one client with two mapped areas, one copy queue."""

    def __init__(self) -> None:
        spec = DeviceSpec(vram_size=32 << 20)
        self.vram = bytearray(spec.vram_size)
        self.memory = MemoryController(memoryview(self.vram))
        limits = FirmwareLimits(
            control_ring_entries=16,
            fault_ring_entries=16,
            min_ring_entries=16,
            max_ring_entries=RING,
            max_queues=4,
            max_clients=1,
            max_spaces=1,
            max_objects=1,
            fence_count=16,
            payload_size=PAGE_SIZE,
            ring_pool_size=1 << 20,
        )
        plan = SegmentPlan.of(limits)
        layout = plan.superblock(
            abi_minor=0, features=Feature(0), device_index=0, emulator_id=1, client_id=1
        )
        client = EngineClient(1, memoryview(bytearray(plan.size)), layout, NoPages())
        self.space = AddressSpace(1, 1, self.memory, spec)
        for va in (SOURCE, DESTINATION):
            first = self.memory.allocate(AREA, owner=1, page_size=AREA)[0].first
            self.space.tables.map_one(va, AREA, leaf_entry(first << PAGE_SHIFT, READ_WRITE))
            # Touched, so that no page is made while the copies are measured.
            self.memory.array[first << PAGE_SHIFT : (first << PAGE_SHIFT) + AREA] = 1
        self.scheduler = Scheduler(self.memory, spec)
        self.queue = WorkQueue(
            1,
            client,
            self.space,
            kind=QueueKind.COPY,
            priority=0,
            header_offset=plan.ring_pool_offset,
            entry_count=RING,
        )
        self.scheduler.add(self.queue)
        self.producer = Producer(client.words, self.queue.header, self.queue.consumer.shape)

    def seconds(self, entries: bytes) -> float:
        """Return the time from a doorbell to `completed`, notices included."""
        count = self.producer.put_many(entries)
        self.producer.publish()
        before = self.queue.completed
        start = time.perf_counter()
        self.scheduler.kick(self.queue)
        self.scheduler.work(1)
        elapsed = time.perf_counter() - start
        if self.queue.completed != before + count:
            raise RuntimeError(f"{self.queue.completed - before} of {count} commands completed")
        return elapsed


class NoPages:
    """A client without memory of its own."""

    def read_into(self, address: int, into: memoryview) -> int:
        """Move nothing."""
        del address, into
        return 0

    def write_from(self, address: int, data: memoryview) -> int:
        """Move nothing."""
        del address, data
        return 0

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        """Find nothing."""
        del size, write
        return address


def commands(sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> bytes:
    """Return COPY commands of 4 KiB between pages of the two areas."""
    return b"".join(
        copy(SOURCE + source * PAGE_SIZE, DESTINATION + destination * PAGE_SIZE, PAGE_SIZE)
        for source, destination in zip(sources.tolist(), destinations.tolist(), strict=True)
    )


def load_limit(folder: Path) -> ctypes.CDLL:
    """Compile the C executor and load it."""
    limit = ctypes.CDLL(str(compile_limit("engine", folder, "-shared", "-fPIC")))
    limit.run_list.restype = ctypes.c_uint64
    return limit


def fill_tlb(limit: ctypes.CDLL, space: AddressSpace) -> None:
    """Give the C executor the translations of both areas."""
    first = np.array([SOURCE, DESTINATION]) >> PAGE_SHIFT
    vpns = (first[:, None] + np.arange(LIST)).reshape(-1).astype(np.int64)
    entries = space.translate_pages(vpns, 0)
    if not entries.all():
        raise RuntimeError("the areas are not mapped")
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (vpns, entries))
    limit.fill_tlb(*pointers, ctypes.c_uint32(len(vpns)))


def run() -> list[Row]:
    """Measure single copies and lists of 1,000."""
    bench = Bench()
    order = np.random.default_rng(1)
    one = commands(np.array([3]), np.array([5]))
    many = commands(order.permutation(LIST), order.permutation(LIST))
    with tempfile.TemporaryDirectory() as folder:
        limit = load_limit(Path(folder))
        fill_tlb(limit, bench.space)
        base = ctypes.c_void_p(bench.memory.array.ctypes.data)

        def single() -> float:
            return statistics.median(bench.seconds(one) for _ in range(SINGLES)) * 1e6

        def single_in_c() -> float:
            times = np.zeros(SINGLES * 10, np.uint64)
            into = times.ctypes.data_as(ctypes.c_void_p)
            if limit.run_synchronous(one, ctypes.c_uint32(len(times)), base, into):
                raise RuntimeError("the polling thread could not be made")
            return float(np.median(times)) / 1e3

        def batch() -> float:
            return bench.seconds(many) * 1e6

        def batch_in_c() -> float:
            time_ns: int = limit.run_list(many, ctypes.c_uint32(LIST), base)
            if not time_ns:
                raise RuntimeError("the C executor refused a command")
            return time_ns / 1e3

        alone, alone_limit = alternate([single, single_in_c], 5)
        listed, listed_limit = alternate([batch, batch_in_c], ROUNDS)
    return [
        Row(
            what="one 4 KiB copy, doorbell to completed",
            value=alone,
            unit="us",
            limit=alone_limit,
            limit_is="C ring, polled by another thread",
            bar=12,
            note="device side only; the call and its notices included",
        ),
        Row(
            what="1,000 copies of 4 KiB in one ring",
            value=listed,
            unit="us",
            limit=listed_limit,
            limit_is="C executor on the same commands",
            bar=8,
        ),
    ]
