"""A device's engines on a bench: memory, one or more clients, their queues, stepped by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from device.core.effects import Effect, Notify, RunChunk, WakeAt
from device.core.engine import EngineClient, Scheduler, WorkQueue
from device.core.memory import MemoryController
from device.core.paging import AddressSpace, walk
from device.core.spec import DeviceSpec, Latencies
from firmware.abi.boot import FirmwareLimits
from firmware.abi.control import QueueKind
from firmware.abi.faults import FaultRecord
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, WORK_COMMAND_SIZE, Feature, Rights
from firmware.abi.paging import leaf_entry
from firmware.abi.registers import FAULT_STATUS, FaultStatus
from firmware.abi.rings import COMPLETED, HEAD, TAIL, RingHeader
from firmware.abi.segment import FenceSlot, Superblock
from firmware.abi.work import (
    Copy,
    CopyRegion,
    FenceWait,
    FenceWrite,
    Fill,
    MemoryWrite,
    Nop,
    WorkCommand,
    WorkFlags,
)
from firmware.link.layout import SegmentPlan, fault_shape, page_aligned, work_shape
from firmware.link.rings import Consumer, Producer
from firmware.link.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from device.core.memory import Chunk

NONE = WorkFlags.NONE
LIMITS = FirmwareLimits(
    control_ring_entries=16,
    fault_ring_entries=8,
    min_ring_entries=4,
    max_ring_entries=4096,
    max_queues=16,
    max_clients=4,
    max_spaces=4,
    max_objects=64,
    fence_count=16,
    payload_size=PAGE_SIZE,
    ring_pool_size=2 << 20,
)


def make_spec(latencies: Latencies | None = None, **changes: int) -> DeviceSpec:
    """Return a small device."""
    values: dict[str, int] = {"vram_size": 16 << 20, "tlb_entries": 1024, **changes}
    return DeviceSpec(latencies=latencies or Latencies(), **values)  # type: ignore[arg-type]


@dataclass
class FakePages:
    """A client's process with one readable and writable area; everything else is a hole."""

    start: int = 0x7F00_0000_0000
    data: bytearray = field(default_factory=lambda: bytearray(8 * PAGE_SIZE))

    def _at(self, address: int, size: int) -> tuple[int, int]:
        offset = address - self.start
        if not 0 <= offset < len(self.data):
            return 0, 0
        return offset, min(size, len(self.data) - offset)

    def read_into(self, address: int, into: memoryview) -> int:
        offset, size = self._at(address, len(into))
        into[:size] = self.data[offset : offset + size]
        return size

    def write_from(self, address: int, data: memoryview) -> int:
        offset, size = self._at(address, len(data))
        self.data[offset : offset + size] = data[:size]
        return size

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        offset, reached = self._at(address, size)
        del offset, write
        return None if reached == size else address + reached


class Lane:
    """One queue with the producer's end that a driver would hold."""

    def __init__(self, rig: Rig, client: RigClient, queue: WorkQueue, index: int) -> None:
        self.rig = rig
        self.client = client
        self.queue = queue
        shape = queue.consumer.shape
        self.producer = Producer(client.words, queue.header, shape, start=index)

    def publish(self, *commands: WorkCommand | bytes) -> None:
        """Put commands into the ring and store the tail, without a doorbell."""
        for command in commands:
            self.producer.put(command if isinstance(command, bytes) else command.pack())
        self.producer.publish()

    def submit(self, *commands: WorkCommand | bytes) -> None:
        """Publish commands and ring the doorbell."""
        self.publish(*commands)
        self.rig.scheduler.kick(self.queue)

    @property
    def header(self) -> RingHeader:
        """The ring's header as the host sees it."""
        header = RingHeader.unpack(self.client.words.u8, self.queue.header)
        assert isinstance(header, RingHeader)
        return header

    @property
    def completed(self) -> int:
        return self.client.words.load64(self.queue.header + COMPLETED)

    def reset(self) -> None:
        """Reset the queue, and the producer as a driver does after the reply."""
        self.rig.scheduler.reset_queue(self.queue)
        self.producer.restart()


class RigClient:
    """One client: its segment, formatted as the device does it, and an address space."""

    def __init__(self, rig: Rig, client_id: int) -> None:
        self.rig = rig
        self.plan = SegmentPlan.of(LIMITS)
        self.words = Words(memoryview(bytearray(self.plan.size)))
        self.layout: Superblock = self.plan.superblock(
            abi_minor=0,
            features=Feature.CLIENT_MEMORY,
            device_index=0,
            emulator_id=1,
            client_id=client_id,
        )
        self.pages = FakePages()
        self.engine = EngineClient(client_id, self.words, self.layout, self.pages)
        self.space = AddressSpace(client_id, client_id, rig.memory, rig.spec)
        self.fault_reader = Consumer(
            self.words, self.plan.fault_ring_offset, fault_shape(LIMITS.fault_ring_entries)
        )
        self._next_ring = self.plan.ring_pool_offset
        self._next_queue = 1

    def queue(self, entries: int = 64, priority: int = 0, seqno: int = 0, index: int = 0) -> Lane:
        """Make a queue; `index` is where the ring's free-running indices start."""
        queue = WorkQueue(
            self._next_queue,
            self.engine,
            self.space,
            kind=QueueKind.COPY,
            priority=priority,
            header_offset=self._next_ring,
            entry_count=entries,
            seqno=seqno,
        )
        if index:
            shape = work_shape(entries)
            self.words.store32(queue.header + TAIL, index)
            self.words.store32(queue.header + HEAD, index)
            queue.consumer = Consumer(self.words, queue.header, shape, start=index)
        self._next_queue += 1
        self._next_ring += page_aligned(RingHeader.SIZE + entries * WORK_COMMAND_SIZE)
        self.rig.scheduler.add(queue)
        return Lane(self.rig, self, queue, index)

    def map(
        self, va: int, size: int, rights: Rights = READ_WRITE, *, null: bool = False
    ) -> list[int]:
        """Map fresh VRAM (or null pages) and return the VRAM address of each page."""
        if null:
            self.space.tables.map_one(va, size, leaf_entry(0, rights, null=True))
            return []
        runs = self.rig.memory.allocate(size, owner=self.engine.client_id)
        addresses = [
            (first + number) * PAGE_SIZE for first, count in runs for number in range(count)
        ]
        at = va
        for first, count in runs:
            self.space.tables.map_one(at, count * PAGE_SIZE, leaf_entry(first * PAGE_SIZE, rights))
            at += count * PAGE_SIZE
        return addresses

    def map_scattered(self, va: int, pages: int, rights: Rights = READ_WRITE) -> list[int]:
        """Map pages of which no two neighbours are neighbours in VRAM."""
        frames = [self.rig.memory.allocate(2 * PAGE_SIZE, owner=1)[0].first for _ in range(pages)]
        for number, frame in enumerate(reversed(frames)):
            entry = leaf_entry(frame * PAGE_SIZE, rights)
            self.space.tables.map_one(va + number * PAGE_SIZE, PAGE_SIZE, entry)
        return [frame * PAGE_SIZE for frame in reversed(frames)]

    def poke(self, va: int, data: bytes) -> None:
        """Store bytes at a virtual address, behind the engines' back."""
        at = 0
        for address, size in self._pieces(va, len(data)):
            self.rig.memory.local.write(address, data[at : at + size])
            at += size

    def peek(self, va: int, size: int) -> bytes:
        """Return bytes at a virtual address, behind the engines' back."""
        view = self.rig.memory.view
        return b"".join(view[address : address + part] for address, part in self._pieces(va, size))

    def _pieces(self, va: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield VRAM address and size of what each page has of a range."""
        while size:
            part = min(size, PAGE_SIZE - va % PAGE_SIZE)
            found = walk(self.rig.memory, self.space.tables.root, va)
            assert found.fault is None, f"{va:#x} is not mapped"
            yield found.address, part
            va += part
            size -= part

    def faults(self) -> list[FaultRecord]:
        """Take every record out of the fault ring."""
        records: list[FaultRecord] = []
        while self.fault_reader.available():
            record = FaultRecord.unpack(self.fault_reader.fetch())
            assert isinstance(record, FaultRecord)
            records.append(record)
        self.fault_reader.publish_head()
        return records

    def slot(self, number: int) -> FenceSlot:
        slot = FenceSlot.unpack(self.words.u8, self.slot_offset(number))
        assert isinstance(slot, FenceSlot)
        return slot

    def slot_offset(self, number: int) -> int:
        return self.plan.fences_offset + number * FenceSlot.SIZE

    @property
    def fault_status(self) -> FaultStatus:
        return FaultStatus(self.words.load32(self.plan.registers_offset + FAULT_STATUS.offset))


class Rig:
    """Memory, scheduler and clients; `run` plays the shell."""

    def __init__(
        self, spec: DeviceSpec | None = None, *, memory: MemoryController | None = None
    ) -> None:
        self.spec = spec or make_spec()
        self.memory = memory or MemoryController(memoryview(bytearray(self.spec.vram_size)))
        self.scheduler = Scheduler(self.memory, self.spec)
        self.clients: list[RigClient] = []
        self.now = 1000
        self.notices: list[Notify] = []
        self.chunks: list[Chunk] = []
        """Handed to the shell, not run yet."""

    def client(self) -> RigClient:
        self.clients.append(RigClient(self, len(self.clients) + 1))
        return self.clients[-1]

    def step(self) -> list[Effect]:
        """One call of work; chunks are kept in `chunks`."""
        effects = self.scheduler.work(self.now)
        self.notices += [effect for effect in effects if isinstance(effect, Notify)]
        self.chunks += [effect.chunk for effect in effects if isinstance(effect, RunChunk)]
        self.scheduler.check()
        return effects

    def finish_chunk(self, index: int = 0) -> None:
        """Run one chunk that is in flight and give it back."""
        chunk = self.chunks.pop(index)
        chunk.run()
        self.scheduler.chunk_done(chunk)

    def run(self, *, wait: bool = False) -> None:
        """Step until nothing is left to do; with `wait`, also until nothing is delayed."""
        while True:
            wake = [effect.tick for effect in self.step() if isinstance(effect, WakeAt)]
            if self.chunks:
                self.finish_chunk()
            elif self.scheduler.has_work:
                continue
            elif wait and wake:
                self.now = max(self.now, min(wake))
            else:
                return


def notices_of(notices: Iterable[Notify], word: int) -> list[Notify]:
    """Return the notices for one word."""
    return [notice for notice in notices if notice.word == word]


def copy(source: int, destination: int, size: int, flags: WorkFlags = NONE, tag: int = 0) -> Copy:
    return Copy(flags=flags, tag=tag, source=source, destination=destination, size_bytes=size)


def fill(va: int, size: int, pattern: bytes, flags: WorkFlags = NONE) -> Fill:
    return Fill(
        flags=flags,
        tag=0,
        destination=va,
        size_bytes=size,
        pattern=pattern.ljust(16, b"\0"),
        pattern_size=len(pattern),
    )


def signal(slot: int, value: int, flags: WorkFlags = NONE) -> FenceWrite:
    return FenceWrite(flags=flags, tag=0, pool=0, slot=slot, value=value)


def wait_for(slot: int, value: int) -> FenceWait:
    return FenceWait(flags=NONE, tag=0, pool=0, slot=slot, value=value)


def store(va: int, value: int) -> MemoryWrite:
    return MemoryWrite(flags=NONE, tag=0, destination=va, value=value)


def nop(tag: int = 0) -> Nop:
    return Nop(flags=NONE, tag=tag)


def region(
    source: int,
    destination: int,
    shape: Sequence[int],
    source_pitch: tuple[int, int],
    destination_pitch: tuple[int, int],
    flags: WorkFlags = NONE,
) -> CopyRegion:
    """Return a COPY_REGION of (width, height, depth) with (row, slice) pitches."""
    width, height, depth = shape
    return CopyRegion(
        flags=flags,
        tag=0,
        source=source,
        destination=destination,
        width=width,
        height=height,
        depth=depth,
        source_row_pitch=source_pitch[0],
        source_slice_pitch=source_pitch[1],
        destination_row_pitch=destination_pitch[0],
        destination_slice_pitch=destination_pitch[1],
    )
