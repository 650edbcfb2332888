"""Invariant: no number in any field of any command is a bug, and what is refused changes nothing.

Numbers are at the edges of every width and of what exists. Memory is so small that tables run out
in the middle of things. The device raises on the first bug.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from device.core.spec import ALL_PAGE_SIZES, DeviceSpec
from firmware.abi.control import (
    CONTROL_COMMANDS,
    ExportOpen,
    Map,
    MapExtent,
    MapList,
    ObjectCreate,
    ProtectList,
    QueueReset,
    RangeExtent,
    Unmap,
    UnmapList,
)
from firmware.abi.ids import PAGE_SIZE, PageSizes
from firmware.abi.replies import (
    Exported,
    ObjectCreated,
    Opened,
    QueueCreated,
    Refused,
    SpaceCreated,
)
from firmware.abi.rings import TAIL, U32_MASK, RingHeader, RingState
from firmware.abi.work import WORK_COMMANDS
from tests.harness.devicepair import SMALL_IMAGE, DevicePair
from tests.harness.stepped_client import RawQueue

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from firmware.abi._record import Record
    from firmware.abi.replies import Reply
    from tests.harness.stepped_client import RawClient

_POWERS: Final = (12, 16, 21, 30, 31, 32, 40, 47, 48, 52, 63, 64)
EDGES: Final = tuple(
    sorted(
        {0, 1, 2, 3, 7, 8, 63, 64, 255, 4095}
        | {(1 << power) + change for power in _POWERS for change in (-8192, -4096, -1, 0, 1, 4096)}
    )
)
ROWS: Final = 12
ROUNDS: Final = 40
"""Calls of `work` after a command: some commands have to go on for ever."""
ROW_KINDS: Final[dict[type[Record], type[Record]]] = {
    MapList: MapExtent,
    UnmapList: RangeExtent,
    ProtectList: RangeExtent,
}
SIZES: Final = [PAGE_SIZE * pages for pages in (1, 1, 1, 1, 2, 2, 3, 16, 512)]


class Attacker:
    """A client that fills commands with what it knows and with edges."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client: RawClient = world.pair.attach()
        self.vmid = self.client.space()
        self.queues = [self.client.queue(self.vmid)]
        places = [number * PAGE_SIZE for number in range(6)] + [1 << 21, (1 << 21) + (1 << 16)]
        small = list(range(6))
        self.known: dict[str, list[int]] = {
            "vmid": [self.vmid],
            "object_id": [0],
            "queue_id": [1, 2],
            "import_id": [0],
            "va": places,
            "source": places,
            "destination": places,
            "address": places,
            "size_bytes": SIZES,
            "object_offset": [0, 0, 0, PAGE_SIZE],
            "window_offset": [0, 0, 0, 1],
            "rights": [3, 3, 3, 1, 0, 7],
            "flags": [0] * 8 + [1, 2, 4],
            "count": [1, 2, 3, ROWS],
            "payload_offset": [0, 0, 40, PAGE_SIZE],
            "payload_size": [0, 512, 1 << 16],
            "page_size": [0, PAGE_SIZE, 1 << 16],
            "entry_count": [16, 32],
            "width": [1, 3, 64, PAGE_SIZE],
            "height": [1, 2, 300],
            "depth": [1, 2],
            "source_row_pitch": [64, 100, PAGE_SIZE],
            "destination_row_pitch": [64, 100, PAGE_SIZE],
            "source_slice_pitch": [0, PAGE_SIZE, 1 << 16],
            "destination_slice_pitch": [0, PAGE_SIZE, 1 << 16],
            "pattern_size": [1, 4, 16],
            **dict.fromkeys(("kind", "priority", "scope", "subject", "target", "slot"), small),
            **dict.fromkeys(("pool", "capacity", "value", "advice", "tag"), small),
        }

    def filled(self, record: type[Record], entry: bytearray) -> bytes:
        """Return an entry with every field of a record filled in."""
        chance = self.world.chance
        for field in record.FIELDS:
            if field.name == "request" or field.constant is not None:
                continue
            width = field.end - field.offset
            if width > 8:
                tokens = [*self.world.tokens, chance.randbytes(width)]
                entry[field.offset : field.end] = chance.choice(tokens)
                continue
            known = self.known.get(field.name)
            fate = chance.random()
            if known and fate < 0.9:
                value = chance.choice(known)
            else:
                value = chance.choice(EDGES) if fate < 0.98 else chance.getrandbits(64)
            value &= (1 << 8 * width) - 1
            entry[field.offset : field.end] = value.to_bytes(width, "little")
        return bytes(entry)

    def control(self) -> None:
        """Send a control command."""
        chance = self.world.chance
        kinds: list[type[Record]] = [*CONTROL_COMMANDS.values()]
        kinds += [ObjectCreate, ObjectCreate, Map, Map, Map, MapList, Unmap, ExportOpen] * 3
        record = chance.choice(kinds)
        entry = bytearray(64)
        entry[:2] = opcode_of(record)
        entry[4:8] = self.client.request().to_bytes(4, "little")
        self.rows(record)
        before = self.world.used()
        self.client.send(self.filled(record, entry))
        self.world.step()
        for reply in self.client.replies():
            self.learn(reply)
            if isinstance(reply, Refused) and not self.world.pair.chunks:
                assert self.world.used() == before, f"{reply} to {bytes(entry).hex()}"

    def rows(self, record: type[Record]) -> None:
        """Put rows into the payload area for a command that takes a list."""
        rows = ROW_KINDS.get(record)
        if rows is None:
            return
        made = [bytearray(self.filled(rows, bytearray(rows.SIZE))) for _ in range(ROWS)]
        if record is UnmapList:
            for row in made:
                row[16:20] = bytes(4)
        self.client.put_payload(b"".join(made))

    def work(self) -> None:
        """Submit a work command; recover the queue now and then."""
        chance = self.world.chance
        queue = chance.choice(self.queues)
        header = self.client.header(queue.header)
        if header.state is RingState.STOPPED:
            command = QueueReset(request=self.client.request(), queue_id=queue.queue_id)
            self.client.send(command.pack())
            self.world.step()
            self.client.replies()
            queue.tail = self.client.header(queue.header).tail
            return
        if header.state is not RingState.RUNNING or queue.tail - header.head >= queue.entry_count:
            return
        record = chance.choice(list(WORK_COMMANDS.values()))
        entry = bytearray(64)
        entry[:2] = opcode_of(record)
        self.publish(queue, self.filled(record, entry))
        self.world.step()
        self.client.faults()

    def publish(self, queue: RawQueue, entry: bytes) -> None:
        """Put any 64 bytes into a work ring and store the doorbell word."""
        client = self.client
        at = queue.header + RingHeader.SIZE + (queue.tail & (queue.entry_count - 1)) * len(entry)
        client.u8[at : at + len(entry)] = entry
        queue.tail = (queue.tail + 1) & U32_MASK
        client.u32[(queue.header + TAIL) >> 2] = queue.tail
        client.u32[(client.layout.doorbells_offset >> 2) + queue.doorbell] = queue.tail

    def learn(self, reply: Reply) -> None:
        """Remember what was made."""
        match reply:
            case ObjectCreated():
                self.known["object_id"].append(reply.object_id)
            case SpaceCreated():
                self.known["vmid"].append(reply.vmid)
            case Opened():
                self.known["import_id"].append(reply.import_id)
            case QueueCreated():
                self.queues.append(RawQueue(reply))
                self.known["queue_id"].append(reply.queue_id)
            case Exported():
                self.world.tokens.append(reply.token)
                self.known["size_bytes"].append(reply.size_bytes)
                self.known["window_offset"].append(reply.window_offset)
            case _:
                pass


class World:
    """A small device with two attackers."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tokens = [bytes(16)]
        sizes = (PageSizes.SMALL, PageSizes.SMALL | PageSizes.MEDIUM, ALL_PAGE_SIZES)
        self.spec = DeviceSpec(
            vram_size=chance.choice((24, 64, 200)) * PAGE_SIZE,
            page_sizes=chance.choice(sizes),
            max_objects=chance.choice((20, 1 << 20)),
        )
        self.pair = DevicePair(self.spec, image=SMALL_IMAGE)
        self.pair.system_memory.room = 1 << 24
        self.attackers = [Attacker(self), Attacker(self)]

    def used(self) -> tuple[int, bytes]:
        """Return what is in use: how much, and every byte of it."""
        memory = self.pair.device.memory
        frames: Iterable[int] = range(len(memory.frames.used_map))
        used = [frame for frame in frames if memory.frames.used_map[frame]]
        pages = (self.pair.vram[frame << 12 : frame + 1 << 12] for frame in used)
        return len(used), b"".join(pages)

    def step(self) -> None:
        for _ in range(ROUNDS):
            for effect in self.pair.device.work(self.pair.now):
                self.pair._carry_out(effect)
            if not self.pair.device.has_work:
                return

    def finish_chunks(self) -> None:
        """Run the chunks that were held, and those that follow them, if they end."""
        for _ in range(ROUNDS):
            if self.pair.chunks:
                self.pair._run(self.pair.chunks.pop(0))
                self.step()

    def run(self, count: int) -> None:
        for number in range(count):
            self.pair.hold_chunks = self.chance.random() < 0.5
            attacker = self.chance.choice(self.attackers)
            self.chance.choice((attacker.control, attacker.control, attacker.work))()
            if number % 7 == 0:
                self.finish_chunks()
            if number % 20 == 0:
                self.pair.device.check()

    def end(self) -> None:
        self.finish_chunks()
        for attacker in self.attackers:
            self.pair.detach(attacker.client)
        self.step()
        self.finish_chunks()
        self.pair.device.check()
        statistics = self.pair.device.statistics()
        assert statistics.free_bytes == self.spec.vram_size
        assert statistics.object_count == statistics.export_count == 0


def opcode_of(record: type[Record]) -> bytes:
    number: int = record.OPCODE  # type: ignore[attr-defined]
    return int(number).to_bytes(2, "little")


@pytest.mark.parametrize("worlds", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_numbers_at_all_edges(chance: random.Random, worlds: int) -> None:
    for _ in range(worlds):
        world = World(chance)
        world.run(300)
        world.end()
