"""A client that speaks only the binary contract: records, rings, doorbells. No driver."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeVar

from firmware.abi.control import (
    ExportClose,
    ExportOpen,
    GetProperties,
    Map,
    ObjectCreate,
    QueueCreate,
    QueueReset,
    SpaceCreate,
    Subject,
    Unmap,
)
from firmware.abi.control_kinds import ObjectFlags, ObjectKind, QueueKind
from firmware.abi.faults import FaultRecord
from firmware.abi.handshake import Purpose
from firmware.abi.ids import READ_WRITE, Rights
from firmware.abi.replies import (
    Mapped,
    ObjectCreated,
    Opened,
    QueueCreated,
    Reply,
    SpaceCreated,
    decode_reply,
)
from firmware.abi.rings import (
    COMPLETED,
    COMPLETION_SLEEPERS,
    COMPLETION_STATUS,
    CONSUMER_SLEEPERS,
    CONTROL_QUEUE,
    TAIL,
    U32_MASK,
)
from firmware.link.client import connect
from firmware.link.linux import map_file
from firmware.link.rings import Consumer, Producer
from firmware.link.waiting import WordWait

if TYPE_CHECKING:
    from pathlib import Path

    from firmware.abi._record import Record
    from firmware.abi.work import WorkCommand
    from firmware.link.ends import HostEnd
    from firmware.link.linux import Mapping

ReplyT = TypeVar("ReplyT", bound=Reply)
PATIENCE_SECONDS = 30.0
"""Longest wait for anything; only a broken device needs it."""


class RawQueue:
    """One work queue of a raw client."""

    def __init__(self, client: RawClient, created: QueueCreated) -> None:
        self.client = client
        self.created = created
        self.ring = Producer(client.end.segment.words, created.ring_offset)
        self.seqno = 0
        self._ring_bell = client.end.doorbells.ring
        self._wait = client.end.waiter.wait

    def submit(self, *commands: WorkCommand) -> int:
        """Publish commands; return the seqno of the last."""
        return self.submit_bytes(b"".join(command.pack() for command in commands))

    def submit_bytes(self, commands: bytes) -> int:
        """Publish any bytes, a multiple of 64."""
        self.seqno += self.ring.put_many(commands)
        old, new = self.ring.publish()
        self._ring_bell(self.created.doorbell, self.ring.header, old, new)
        return self.seqno

    def reached(self, seqno: int) -> bool:
        """Return whether a command is done, without waiting."""
        return self.client.end.segment.words.load64(self.ring.header + COMPLETED) >= seqno

    def wait(self, seqno: int | None = None) -> bool:
        """Return True when `seqno` (default: the last) is done, False when the queue stopped."""
        at = self.ring.header
        target = self.seqno if seqno is None else seqno
        wide = True
        wait = WordWait(
            at + COMPLETED, target, at + COMPLETION_SLEEPERS, wide, at + COMPLETION_STATUS
        )
        return self._wait(wait, PATIENCE_SECONDS)

    def run(self, *commands: WorkCommand) -> bool:
        """Submit and wait."""
        self.submit(*commands)
        return self.wait()

    def recover(self) -> None:
        """Reset the queue after a fault; seqnos go on behind the command that stopped it."""
        client = self.client
        client.expect(Reply, QueueReset(request=client.number(), queue_id=self.created.queue_id))
        self.ring.restart()
        words = client.end.segment.words
        self.seqno = words.load64(self.created.ring_offset + COMPLETED)


class RawClient:
    """A client of a device process."""

    def __init__(
        self, path: Path, name: str = "raw", *, purpose: Purpose = Purpose.WORK, device: int = 0
    ) -> None:
        self.end: HostEnd = connect(path, name, device_index=device, purpose=purpose)
        words = self.end.segment.words
        block = self.end.superblock
        self._control = Producer(words, block.control_ring_offset)
        self._replies = Consumer(words, block.reply_ring_offset)
        self._faults = Consumer(words, block.fault_ring_offset)
        self._numbers = itertools.count(1)

    def close(self) -> None:
        self.end.close()

    def number(self) -> int:
        """Return a new request number."""
        return next(self._numbers)

    def send(self, command: bytes) -> None:
        """Publish one entry of the control ring."""
        self._control.put(command)
        old, new = self._control.publish()
        self.end.doorbells.ring(CONTROL_QUEUE, self.end.superblock.control_ring_offset, old, new)

    def receive(self) -> Reply:
        """Wait for the next reply."""
        at = self.end.superblock.reply_ring_offset
        self.end.waiter.wait(
            WordWait(
                word=at + TAIL,
                target=(self._replies.head + 1) & U32_MASK,
                sleepers=at + CONSUMER_SLEEPERS,
                wide=False,
            ),
            PATIENCE_SECONDS,
        )
        self._replies.available()
        reply = decode_reply(self._replies.fetch())
        self._replies.publish_head()
        assert isinstance(reply, Reply), reply
        return reply

    def call(self, command: Record) -> Reply:
        """Send a control command and return its reply."""
        self.send(command.pack())
        return self.receive()

    def expect(self, kind: type[ReplyT], command: Record) -> ReplyT:
        """Send a control command that must succeed."""
        reply = self.call(command)
        assert isinstance(reply, kind), f"{command} was answered with {reply}"
        assert not reply.status, reply
        return reply

    def faults(self) -> list[FaultRecord]:
        """Take every fault record that is there."""
        records: list[FaultRecord] = []
        for _ in range(self._faults.available()):
            record = FaultRecord.unpack(self._faults.fetch())
            assert isinstance(record, FaultRecord), record
            records.append(record)
        self._faults.publish_head()
        return records

    # What most tests need.

    def space(self) -> int:
        return self.expect(SpaceCreated, SpaceCreate(request=self.number())).vmid

    def queue(self, vmid: int, entries: int = 256) -> RawQueue:
        command = QueueCreate(
            request=self.number(), vmid=vmid, kind=QueueKind.COPY, entry_count=entries, priority=0
        )
        return RawQueue(self, self.expect(QueueCreated, command))

    def vram(self, size: int) -> int:
        command = ObjectCreate(
            request=self.number(),
            kind=ObjectKind.VRAM,
            flags=ObjectFlags.NONE,
            size_bytes=size,
            page_size=1 << 16,
        )
        return self.expect(ObjectCreated, command).object_id

    def system(self, size: int) -> tuple[int, Mapping]:
        """Make system memory; return its object and this process's mapping of it."""
        request = self.number()
        command = ObjectCreate(
            request=request,
            kind=ObjectKind.SYSTEM,
            flags=ObjectFlags.NONE,
            size_bytes=size,
            page_size=4096,
        )
        created = self.expect(ObjectCreated, command)
        received = self.end.carrier.take(request)
        assert received is not None
        with received.descriptors as descriptors:
            return created.object_id, map_file(descriptors.peek(), size)

    def map(
        self,
        vmid: int,
        va: int,
        size: int,
        object_id: int,
        offset: int = 0,
        rights: Rights = READ_WRITE,
    ) -> int:
        command = Map(
            request=self.number(),
            vmid=vmid,
            rights=rights,
            va=va,
            size_bytes=size,
            object_id=object_id,
            object_offset=offset,
        )
        return self.expect(Mapped, command).page_count

    def unmap(self, vmid: int, va: int, size: int) -> int:
        command = Unmap(request=self.number(), vmid=vmid, va=va, size_bytes=size)
        return self.expect(Mapped, command).page_count

    def open(self, vmid: int, token: bytes, va: int, size: int, offset: int) -> Opened:
        command = ExportOpen(
            request=self.number(),
            vmid=vmid,
            rights=READ_WRITE,
            token=token,
            va=va,
            size_bytes=size,
            window_offset=offset,
        )
        return self.expect(Opened, command)

    def close_import(self, import_id: int) -> None:
        self.expect(Reply, ExportClose(request=self.number(), import_id=import_id))

    def properties(self, subject: Subject, target: int = 0) -> bytes:
        """Return the payload that GET_PROPERTIES writes."""
        command = GetProperties(
            request=self.number(),
            subject=subject,
            payload_offset=0,
            payload_size=4096,
            target=target,
        )
        self.expect(Reply, command)
        start = self.end.superblock.payload_offset
        return bytes(self.end.segment.view[start : start + 4096])
