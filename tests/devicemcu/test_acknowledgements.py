"""What has to wait for a chunk in flight: replies, frames, files, rings; and what need not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.spec import DeviceSpec
from firmware.abi.control import (
    ExportClose,
    InvalidateScope,
    Nop,
    ObjectDestroy,
    ObjectKind,
    Protect,
    QueueDestroy,
    QueueReset,
    SpaceDestroy,
    TlbInvalidate,
    Unmap,
)
from firmware.abi.ids import PAGE_SIZE, Rights
from firmware.abi.replies import Done, Refused
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from firmware.abi.work import Copy, MemoryWrite, WorkFlags
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

VA = 1 << 30
SIZE = 2 << 20
NONE = WorkFlags.NONE


class Busy:
    """A client whose queue has a large copy in flight from `VA` to `VA + SIZE`."""

    def __init__(self, kind: ObjectKind = ObjectKind.VRAM) -> None:
        self.pair = DevicePair(DeviceSpec(vram_size=16 << 20, chunk_bytes=512 << 10))
        self.client = self.pair.attach()
        self.vmid = self.client.space()
        self.source = self.client.object(SIZE, kind)
        self.target = self.client.object(SIZE, kind)
        self.client.map(self.vmid, VA, SIZE, self.source)
        self.client.map(self.vmid, VA + SIZE, SIZE, self.target)
        self.queue = self.client.queue(self.vmid)
        self.start_copy()

    def start_copy(self) -> None:
        self.pair.hold_chunks = True
        self.client.submit(
            self.queue, Copy(flags=NONE, tag=0, source=VA, destination=VA + SIZE, size_bytes=SIZE)
        )
        self.pair.step()
        assert self.pair.chunks

    def send(self, command: Unmap | Protect | QueueDestroy | QueueReset | Nop) -> list[int]:
        """Send a command and return the requests that were answered."""
        self.client.send(command.pack())
        self.pair.step()
        return [reply.request for reply in self.client.replies()]

    def unmap(self, va: int = VA) -> Unmap:
        return Unmap(request=self.client.request(), vmid=self.vmid, va=va, size_bytes=SIZE)

    def finish(self) -> list[int]:
        """Run all chunks and return the requests that were answered."""
        self.pair.finish_chunks()
        return [reply.request for reply in self.client.replies()]


def test_an_unmap_is_answered_when_the_engines_have_acknowledged() -> None:
    busy = Busy()
    unmap = busy.unmap()

    assert busy.send(unmap) == []
    busy.pair.device.check()

    assert busy.finish() == [unmap.request]
    busy.pair.device.check()


def test_replies_overtake_the_one_that_waits() -> None:
    busy = Busy()
    unmap = busy.unmap()
    busy.send(unmap)

    later = Nop(request=busy.client.request())

    assert busy.send(later) == [later.request]
    assert busy.finish() == [unmap.request]


def test_a_place_in_the_reply_ring_is_kept_for_the_one_that_waits() -> None:
    busy = Busy()
    client = busy.client
    unmap = busy.unmap()
    busy.send(unmap)
    entries = client.layout.reply_ring_entries
    for _ in range(entries):
        client.send(Nop(request=client.request()).pack())
    busy.pair.step()

    busy.pair.finish_chunks()

    answered = [reply.request for reply in client.replies()]
    assert len(answered) == entries
    assert answered[-1] == unmap.request
    busy.pair.step()
    assert len(client.replies()) == 1


def test_an_unmap_elsewhere_need_not_wait() -> None:
    busy = Busy()
    other = busy.client.object(SIZE)
    busy.client.map(busy.vmid, VA + (1 << 25), SIZE, other)
    unmap = busy.unmap(VA + (1 << 25))

    assert busy.send(unmap) == [unmap.request]


def test_rights_are_changed_at_once_and_acknowledged_later() -> None:
    busy = Busy()
    protect = Protect(
        request=busy.client.request(), vmid=busy.vmid, rights=Rights.NONE, va=VA, size_bytes=SIZE
    )

    assert busy.send(protect) == []
    assert busy.finish() == [protect.request]


def test_an_invalidation_is_acknowledged_between_chunks() -> None:
    busy = Busy()
    command = TlbInvalidate(
        request=busy.client.request(),
        vmid=busy.vmid,
        scope=InvalidateScope.SPACE,
        va=0,
        size_bytes=0,
    )

    assert busy.send(command) == []  # type: ignore[arg-type]
    assert busy.finish() == [command.request]


def test_frames_of_unmapped_memory_are_free_only_after_the_last_chunk() -> None:
    busy = Busy()
    memory = busy.pair.device.memory
    unmap = busy.unmap()
    busy.send(unmap)
    before = memory.free_bytes

    destroy = ObjectDestroy(request=busy.client.request(), object_id=busy.source)
    busy.client.send(destroy.pack())
    busy.pair.step()
    (reply,) = busy.client.replies()

    assert isinstance(reply, Done)
    assert memory.free_bytes == before
    busy.pair.device.check()
    busy.finish()
    assert memory.free_bytes == before + SIZE
    busy.pair.device.check()


def test_a_memory_file_is_closed_only_after_the_last_chunk() -> None:
    busy = Busy(ObjectKind.SYSTEM)
    busy.send(busy.unmap())
    busy.client.send(ObjectDestroy(request=99, object_id=busy.source).pack())
    busy.pair.step()

    assert len(busy.pair.system_memory.open_files) == 2

    busy.finish()
    assert len(busy.pair.system_memory.open_files) == 1


def test_a_client_that_dies_in_flight_gives_its_frames_back_after_the_chunk() -> None:
    busy = Busy()
    memory = busy.pair.device.memory

    busy.pair.detach(busy.client)
    busy.pair.step()

    # Tables are not used by chunks and go at once.
    assert memory.free_bytes == busy.pair.spec.vram_size - 2 * SIZE
    busy.pair.device.check()
    busy.pair.finish_chunks()
    assert memory.free_bytes == busy.pair.spec.vram_size
    busy.pair.device.check()


def test_a_device_that_is_reset_in_flight_leaks_nothing() -> None:
    busy = Busy()

    busy.pair.device.reset(busy.pair.now)
    busy.pair.step()
    heir = busy.pair.attach()
    heir.object(SIZE)
    busy.pair.device.check()
    busy.pair.finish_chunks()

    busy.pair.device.check()
    assert busy.pair.device.memory.free_bytes == busy.pair.spec.vram_size - SIZE


def test_an_import_that_is_closed_in_flight_holds_its_memory() -> None:
    busy = Busy()
    pair, exporter = busy.pair, busy.client
    busy.finish()
    exported = exporter.export(busy.vmid, VA, SIZE)
    importer = pair.attach()
    there = importer.space()
    opened = importer.open(there, exported, VA)
    importer.map(there, VA + SIZE, SIZE, importer.object(SIZE))
    queue = importer.queue(there)
    importer.submit(
        queue, Copy(flags=NONE, tag=0, source=VA, destination=VA + SIZE, size_bytes=SIZE)
    )
    pair.step()
    assert pair.chunks
    pair.detach(exporter)

    importer.send(ExportClose(request=1, import_id=opened.import_id).pack())
    pair.step()

    assert importer.replies() == []
    before = pair.device.memory.free_bytes
    pair.device.check()
    pair.finish_chunks()
    assert len(importer.replies()) == 1
    assert pair.device.memory.free_bytes == before + SIZE
    pair.device.check()


def test_a_destroyed_queue_keeps_its_ring_and_space_until_the_chunk_is_done() -> None:
    busy = Busy()
    destroy = QueueDestroy(request=busy.client.request(), queue_id=busy.queue.queue_id)

    assert busy.send(destroy) == []
    space = SpaceDestroy(request=busy.client.request(), vmid=busy.vmid)
    refused = busy.client.refused(space)
    assert (refused.status, refused.detail) == (Status.IN_USE, 1)
    second = busy.client.queue(busy.client.space())
    assert second.header != busy.queue.header
    assert second.doorbell != busy.queue.doorbell
    busy.pair.device.check()

    assert busy.finish() == [destroy.request]
    third = busy.client.queue(busy.client.space())
    assert (third.header, third.doorbell) == (busy.queue.header, busy.queue.doorbell)
    busy.pair.device.check()


def test_a_queue_is_reset_between_chunks() -> None:
    busy = Busy()
    reset = QueueReset(request=busy.client.request(), queue_id=busy.queue.queue_id)

    assert busy.send(reset) == []
    assert reset.request in busy.finish()

    header = busy.client.header(busy.queue.header)
    assert (header.state, header.head, header.tail) == (RingState.RUNNING, 0, 0)
    busy.queue.tail = 0
    busy.pair.hold_chunks = False
    write = MemoryWrite(flags=NONE, tag=0, destination=VA, value=1)
    busy.client.submit(busy.queue, write)
    busy.pair.step()
    assert busy.client.header(busy.queue.header).completed == header.completed + 1
    busy.pair.device.check()


def test_a_reset_that_waits_ends_with_its_queue() -> None:
    busy = Busy()
    reset = QueueReset(request=busy.client.request(), queue_id=busy.queue.queue_id)
    destroy = QueueDestroy(request=busy.client.request(), queue_id=busy.queue.queue_id)
    busy.send(reset)
    busy.send(destroy)

    assert sorted(busy.finish()) == [reset.request, destroy.request]

    busy.pair.device.check()


def test_commands_after_a_reset_queue_run_although_the_tail_is_the_same() -> None:
    pair = DevicePair()
    client: RawClient = pair.attach()
    vmid = client.space()
    client.map(vmid, VA, PAGE_SIZE, client.object(PAGE_SIZE))
    queue = client.queue(vmid)
    for value in (1, 2):
        client.submit(queue, MemoryWrite(flags=NONE, tag=0, destination=VA, value=value))
        pair.step()
        client.call(QueueReset(request=client.request(), queue_id=queue.queue_id))
        queue.tail = 0

    assert client.header(queue.header).completed == 2
    refused = client.call(QueueReset(request=client.request(), queue_id=99))
    assert isinstance(refused, Refused)
    assert refused.status is Status.BAD_QUEUE
