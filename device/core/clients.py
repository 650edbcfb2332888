"""One client: its segment and everything that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.control import ControlRing
from device.core.doorbells import Doorbells
from device.core.engine import EngineClient
from device.core.registerpage import RegisterPage
from device.core.releasecount import ReleaseCount
from device.core.ringpool import RingPool
from firmware.abi.handshake import Purpose
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.rings import STATE, STATUS, RingState
from firmware.abi.segment import SUPERBLOCK_OFFSET
from firmware.abi.statistics import ClientStatistics
from firmware.link.ringshape import format_ring
from firmware.link.words import Words

if TYPE_CHECKING:
    from device.core.effects import Notify
    from device.core.engine import WorkQueue
    from device.core.exports import Export, Import
    from device.core.inside import DoorbellPage
    from device.core.objects import MemoryObject
    from device.core.ports import ClientPort
    from device.core.spaces import ClientSpace
    from firmware.abi.segment import SpecBlock, Superblock
    from firmware.abi.status import Status
    from firmware.link.layout import SegmentPlan

NAME_SIZE = 32


@final
class Client:
    """One client of the device.

    Owner: the device, until it detaches. Invariants: all that stands in its tables is its own and
    is given back at its end; once its session is lost the tables are empty and stay so. It survives
    a device reset only as a lost session, which is told so until it detaches.
    """

    __slots__ = (
        "__weakref__",
        "client_id",
        "control",
        "doorbells",
        "dying",
        "engine",
        "exported_parts",
        "exports",
        "features",
        "imported_parts",
        "imports",
        "lost",
        "object_bytes",
        "objects",
        "plan",
        "pool",
        "pool_tokens",
        "port",
        "purpose",
        "queues",
        "registers",
        "released",
        "rung",
        "spaces",
        "vram_bytes",
        "words",
    )

    def __init__(
        self,
        port: ClientPort,
        purpose: Purpose,
        plan: SegmentPlan,
        layout: Superblock,
        spec_block: SpecBlock,
        control_ticks: int,
    ) -> None:
        """Write the segment; once this is done the client may be told of it."""
        self.client_id = layout.client_id
        self.port = port
        self.purpose = purpose
        self.plan = plan
        self.features = layout.features
        """Features that were agreed with it."""
        words = self.words = Words(port.segment)
        words.u8[plan.spec_offset : plan.spec_offset + spec_block.SIZE] = spec_block.pack()
        format_ring(words.u8, plan.fault_ring_offset, plan.fault_ring)
        words.u8[SUPERBLOCK_OFFSET : SUPERBLOCK_OFFSET + layout.SIZE] = layout.pack()
        self.control = ControlRing(self.client_id, words, plan, control_ticks)
        device_id = spec_block.device_id << 16 | spec_block.vendor_id
        self.registers = RegisterPage(words, layout, device_id)
        self.doorbells: DoorbellPage = Doorbells(words, layout)
        """Something may come in front of it (see `inside`)."""
        self.engine = EngineClient(self.client_id, words, layout, port.pages)
        self.pool = RingPool(plan.ring_pool_offset, plan.ring_pool_size)
        self.spaces: dict[int, ClientSpace] = {}
        self.objects: dict[int, MemoryObject] = {}
        self.imports: dict[int, Import] = {}
        self.exports: dict[bytes, Export] = {}
        """Live exports by token."""
        # Sums over these tables, which may be too large to be walked for one command.
        self.object_bytes = self.vram_bytes = 0
        """Size of its objects, and the device memory charged for them."""
        self.imported_parts = self.exported_parts = 0
        """Parts of objects in its open imports, and in its live exports."""
        self.pool_tokens: dict[bytes, int] = {}
        """Live tokens of its fence pools, and the pools' numbers."""
        self.queues: dict[int, WorkQueue] = {}
        self.dying: dict[int, WorkQueue] = {}
        """Destroyed queues with a chunk in flight."""
        self.lost: Status | None = None
        """Why its session ended, if it did."""
        self.released = ReleaseCount()
        """Its releases that wait behind work."""
        self.rung = True
        """Its bell was rung: every ring is to be looked at."""

    @property
    def counted(self) -> bool:
        """Whether it counts as a client: observers do not."""
        return self.purpose is not Purpose.OBSERVE

    def payload(self, offset: int, size: int) -> memoryview | None:
        """Return part of the payload area, or None when it leaves it."""
        if offset + size > self.plan.payload_size:
            return None
        start = self.plan.payload_offset + offset
        return self.words.u8[start : start + size]

    def keep(self, memory: MemoryObject) -> None:
        """Put an object into its tables."""
        self.objects[memory.object_id] = memory
        self.object_bytes += memory.size
        self.vram_bytes += memory.vram_bytes

    def give_up(self, memory: MemoryObject) -> None:
        """Take an object out of its tables."""
        del self.objects[memory.object_id]
        self.object_bytes -= memory.size
        self.vram_bytes -= memory.vram_bytes

    def lose(self, status: Status) -> Notify:
        """End the session as the client sees it: every ring of the segment is lost."""
        self.lost = status
        fault_ring = self.plan.fault_ring_offset
        # Status first: who sees the new state reads the status that belongs to it.
        self.words.u32[(fault_ring + STATUS) >> 2] = status
        self.words.u32[(fault_ring + STATE) >> 2] = RingState.LOST
        return self.control.lose(status)

    def statistics(self) -> ClientStatistics:
        """Return the record that counts what the client has and did."""
        spaces = [space.space.tables for space in self.spaces.values()]
        tables = sum(space.table_count for space in spaces) * PAGE_SIZE
        done = sum(queue.done for queue in self.queues.values())
        return ClientStatistics(
            client_id=self.client_id,
            pid=self.port.pid,
            name=self.port.name.encode()[:NAME_SIZE].ljust(NAME_SIZE, b"\0"),
            object_count=len(self.objects),
            object_bytes=self.object_bytes,
            vram_bytes=self.vram_bytes + tables,
            space_count=len(spaces),
            queue_count=len(self.queues),
            export_count=len(self.exports),
            import_count=len(self.imports),
            mapped_pages=sum(space.mapped_pages for space in spaces),
            control_commands=self.control.commands,
            work_commands=self.engine.past_commands + done,
            faults=self.engine.faults.written + self.engine.faults.dropped,
        )
