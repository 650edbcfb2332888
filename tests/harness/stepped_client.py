"""A client that knows nothing but the bytes of the contract, over a plain memoryview.

It uses no code of the link or of the driver: words and entries are stored by hand, so that device
and link cannot agree on a mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from firmware.abi._malformed import Malformed
from firmware.abi.control import (
    ControlCommand,
    Export,
    ExportClose,
    ExportOpen,
    ExportPut,
    GetProperties,
    GetStatistics,
    Map,
    ObjectCreate,
    ObjectDestroy,
    ObjectFlags,
    ObjectKind,
    QueueCreate,
    QueueKind,
    SpaceCreate,
    Subject,
    Unmap,
)
from firmware.abi.faults import FaultRecord
from firmware.abi.ids import READ_WRITE, Rights
from firmware.abi.replies import (
    Done,
    Exported,
    Mapped,
    ObjectCreated,
    Opened,
    QueueCreated,
    Refused,
    Reply,
    SpaceCreated,
    Statistics,
    decode_reply,
)
from firmware.abi.rings import HEAD, TAIL, U32_MASK, RingHeader, RingState
from firmware.abi.segment import FenceSlot, SpecBlock, Superblock
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.abi.work import WorkCommand

ReplyT = TypeVar("ReplyT", bound=Reply)


class RawQueue:
    """One work ring as its producer sees it."""

    def __init__(self, created: QueueCreated) -> None:
        self.queue_id = created.queue_id
        self.doorbell = created.doorbell
        self.header = created.ring_offset
        self.entry_count = created.entry_count
        self.tail = 0


class RawClient:
    """Writes commands, rings, reads replies. `step` lets the device work."""

    def __init__(
        self, segment: memoryview, step: Callable[[], None], ring: Callable[[], None]
    ) -> None:
        self.u8 = segment
        self.u32 = segment.cast("I")
        self.u64 = segment.cast("Q")
        self.step = step
        self.ring = ring
        layout = Superblock.unpack(segment, 0)
        assert isinstance(layout, Superblock), layout
        self.layout = layout
        self.client_id = layout.client_id
        self._request = 0
        self._control_tail = 0
        self._reply_head = 0
        self._fault_head = 0

    # --- control -----------------------------------------------------------------------------

    def request(self) -> int:
        """Return the next request number."""
        self._request += 1
        return self._request

    def send(self, entry: bytes) -> None:
        """Put 64 bytes into the control ring and store the doorbell word."""
        mask = self.layout.control_ring_entries - 1
        at = self.layout.control_ring_offset + RingHeader.SIZE
        at += (self._control_tail & mask) * 64
        self.u8[at : at + 64] = entry
        self._control_tail = (self._control_tail + 1) & U32_MASK
        self.store_control_tail(self._control_tail)

    def store_control_tail(self, tail: int) -> None:
        """Publish any tail of the control ring."""
        self.u32[(self.layout.control_ring_offset + TAIL) >> 2] = tail
        self.u32[self.layout.doorbells_offset >> 2] = tail

    def replies(self) -> list[Reply]:
        """Take the replies that are there."""
        ring = self.layout.reply_ring_offset
        mask = self.layout.reply_ring_entries - 1
        found: list[Reply] = []
        while self._reply_head != self.u32[(ring + TAIL) >> 2]:
            at = ring + RingHeader.SIZE + (self._reply_head & mask) * 64
            reply = decode_reply(self.u8, at)
            assert isinstance(reply, Reply), reply
            found.append(reply)
            self._reply_head = (self._reply_head + 1) & U32_MASK
            self.u32[(ring + HEAD) >> 2] = self._reply_head
        return found

    def call(self, command: ControlCommand) -> Reply:
        """Send one command, let the device work, return the one reply."""
        self.send(command.pack())
        self.step()
        (reply,) = self.replies()
        assert reply.request == command.request
        assert reply.opcode == command.OPCODE
        return reply

    def ask(self, command: ControlCommand, answer: type[ReplyT]) -> ReplyT:
        """Return the reply of a command that has to succeed."""
        reply = self.call(command)
        assert isinstance(reply, answer), reply
        return reply

    def refused(self, command: ControlCommand) -> Refused:
        """Return the refusal of a command that has to be refused."""
        return self.ask(command, Refused)

    # --- payload -----------------------------------------------------------------------------

    def put_payload(self, data: bytes, offset: int = 0) -> None:
        """Store bytes into the payload area."""
        at = self.layout.payload_offset + offset
        self.u8[at : at + len(data)] = data

    def payload(self, offset: int, size: int) -> bytes:
        """Return bytes of the payload area."""
        at = self.layout.payload_offset + offset
        return self.u8[at : at + size].tobytes()

    # --- work --------------------------------------------------------------------------------

    def submit(self, queue: RawQueue, *commands: WorkCommand) -> None:
        """Put commands into a work ring, publish them together, store the doorbell word."""
        for command in commands:
            slot = queue.tail & (queue.entry_count - 1)
            at = queue.header + RingHeader.SIZE + slot * 64
            self.u8[at : at + 64] = command.pack()
            queue.tail = (queue.tail + 1) & U32_MASK
        self.u32[(queue.header + TAIL) >> 2] = queue.tail
        self.u32[(self.layout.doorbells_offset >> 2) + queue.doorbell] = queue.tail

    def header(self, ring: int) -> RingHeader:
        """Return the header of any ring."""
        found = RingHeader.unpack(self.u8, ring)
        assert isinstance(found, RingHeader), found
        return found

    def states(self) -> set[RingState]:
        """Return the states of the control, reply and fault ring."""
        layout = self.layout
        rings = (layout.control_ring_offset, layout.reply_ring_offset, layout.fault_ring_offset)
        return {self.header(ring).state for ring in rings}

    def fence(self, slot: int) -> FenceSlot:
        """Return a fence slot."""
        found = FenceSlot.unpack(self.u8, self.layout.fences_offset + slot * FenceSlot.SIZE)
        assert isinstance(found, FenceSlot), found
        return found

    def faults(self) -> list[FaultRecord]:
        """Take the fault records that are there."""
        ring = self.layout.fault_ring_offset
        mask = self.layout.fault_ring_entries - 1
        found: list[FaultRecord] = []
        while self._fault_head != self.u32[(ring + TAIL) >> 2]:
            at = ring + RingHeader.SIZE + (self._fault_head & mask) * 64
            record = FaultRecord.unpack(self.u8, at)
            assert not isinstance(record, Malformed), record
            found.append(record)
            self._fault_head = (self._fault_head + 1) & U32_MASK
            self.u32[(ring + HEAD) >> 2] = self._fault_head
        return found

    # --- registers ---------------------------------------------------------------------------

    def load32(self, register: int) -> int:
        """Return a 32-bit register by its offset."""
        return self.u32[(self.layout.registers_offset + register) >> 2]

    def load64(self, register: int) -> int:
        """Return a 64-bit register by its offset."""
        return self.u64[(self.layout.registers_offset + register) >> 3]

    def store32(self, register: int, value: int) -> None:
        """Store a 32-bit register by its offset."""
        self.u32[(self.layout.registers_offset + register) >> 2] = value

    def spec(self) -> SpecBlock:
        """Return the specification block."""
        found = SpecBlock.unpack(self.u8, self.layout.spec_offset)
        assert isinstance(found, SpecBlock), found
        return found

    # --- short forms of what most tests say ----------------------------------------------------

    def space(self) -> int:
        """Make an address space and return its number."""
        return self.ask(SpaceCreate(request=self.request()), SpaceCreated).vmid

    def create(
        self,
        size: int,
        kind: ObjectKind = ObjectKind.VRAM,
        flags: ObjectFlags = ObjectFlags.NONE,
        page_size: int = 0,
    ) -> ObjectCreated:
        """Make an object."""
        command = ObjectCreate(
            request=self.request(), kind=kind, flags=flags, size_bytes=size, page_size=page_size
        )
        return self.ask(command, ObjectCreated)

    def object(self, size: int, kind: ObjectKind = ObjectKind.VRAM) -> int:
        """Make an object and return its number."""
        return self.create(size, kind).object_id

    def destroy(self, object_id: int) -> Reply:
        """Destroy an object."""
        return self.call(ObjectDestroy(request=self.request(), object_id=object_id))

    def map_command(
        self,
        vmid: int,
        va: int,
        size: int,
        object_id: int,
        offset: int = 0,
        rights: Rights = READ_WRITE,
    ) -> Map:
        """Return a MAP command."""
        return Map(
            request=self.request(),
            vmid=vmid,
            rights=rights,
            va=va,
            size_bytes=size,
            object_id=object_id,
            object_offset=offset,
        )

    def map(
        self,
        vmid: int,
        va: int,
        size: int,
        object_id: int,
        offset: int = 0,
        rights: Rights = READ_WRITE,
    ) -> int:
        """Map, and return the pages."""
        command = self.map_command(vmid, va, size, object_id, offset, rights)
        return self.ask(command, Mapped).page_count

    def unmap(self, vmid: int, va: int, size: int) -> int:
        """Unmap, and return the pages."""
        command = Unmap(request=self.request(), vmid=vmid, va=va, size_bytes=size)
        return self.ask(command, Mapped).page_count

    def queue(self, vmid: int, entry_count: int = 64, kind: QueueKind = QueueKind.COPY) -> RawQueue:
        """Make a work queue."""
        command = QueueCreate(
            request=self.request(), vmid=vmid, kind=kind, entry_count=entry_count, priority=0
        )
        return RawQueue(self.ask(command, QueueCreated))

    def export(self, vmid: int, va: int, size: int) -> Exported:
        """Export a range."""
        command = Export(request=self.request(), vmid=vmid, va=va, size_bytes=size)
        return self.ask(command, Exported)

    def open_command(
        self, vmid: int, exported: Exported, va: int, rights: Rights = READ_WRITE
    ) -> ExportOpen:
        """Return an EXPORT_OPEN command."""
        return ExportOpen(
            request=self.request(),
            vmid=vmid,
            rights=rights,
            token=exported.token,
            va=va,
            size_bytes=exported.size_bytes,
            window_offset=exported.window_offset,
        )

    def open(self, vmid: int, exported: Exported, va: int, rights: Rights = READ_WRITE) -> Opened:
        """Open an export."""
        return self.ask(self.open_command(vmid, exported, va, rights), Opened)

    def close(self, import_id: int) -> Reply:
        """Close an import."""
        return self.call(ExportClose(request=self.request(), import_id=import_id))

    def put(self, token: bytes) -> Reply:
        """Put an export."""
        return self.call(ExportPut(request=self.request(), token=token))

    def properties(self, subject: Subject, target: int = 0, room: int = 512) -> bytes:
        """Return the record that describes one thing."""
        command = GetProperties(
            request=self.request(),
            subject=subject,
            payload_offset=0,
            payload_size=room,
            target=target,
        )
        reply = self.ask(command, Statistics)
        assert (reply.count, reply.total) == (1, 1)
        return self.payload(0, reply.record_size)

    def statistics(self, subject: Subject, room: int = 4096) -> list[bytes]:
        """Return the records that count one kind of thing."""
        command = GetStatistics(
            request=self.request(), subject=subject, payload_offset=0, payload_size=room
        )
        reply = self.ask(command, Statistics)
        data = self.payload(0, reply.count * reply.record_size)
        return [data[at : at + reply.record_size] for at in range(0, len(data), reply.record_size)]


def is_done(reply: Reply) -> bool:
    """Whether a command without results succeeded."""
    return isinstance(reply, Done) and reply.status is Status.OK
