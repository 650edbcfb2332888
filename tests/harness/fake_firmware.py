"""A device's end of a link whose control ring is answered by a function of the test."""

from __future__ import annotations

import select
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firmware.abi import replies as r
from firmware.abi.control import ControlCommand, QueueCreate, QueueKind, decode_control
from firmware.abi.registers import STATUS, DeviceStatus, Phase
from firmware.abi.rings import (
    COMPLETED,
    COMPLETION_SLEEPERS,
    COMPLETION_STATUS,
    CONSUMER_SLEEPERS,
    TAIL,
    TAIL_EVENT,
)
from firmware.abi.status import Status
from firmware.link.layout import work_shape
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import format_ring
from firmware.link.sleep import may_sleep
from hostdriver.core.questions import SharedWord
from tests.harness.fake_session import spec_block
from tests.harness.link_conformance import Stored
from tests.harness.link_pairs import PLAN, in_process_pair, shared_pair, store_asleep

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from firmware.abi.faults import FaultRecord
    from firmware.link.ends import DeviceEnd, HostEnd

RING = PLAN.ring_pool_offset
"""Where the one work ring of these tests stands."""
ENTRIES = 8
CREATE = QueueCreate(request=0, vmid=1, kind=QueueKind.COPY, entry_count=ENTRIES, priority=0)
WORD = SharedWord(
    offset=RING + COMPLETED,
    status=RING + COMPLETION_STATUS,
    sleepers=RING + COMPLETION_SLEEPERS,
)
"""How many commands of the work ring are done."""


def done(command: ControlCommand) -> r.Reply:
    """Return the plainest reply to a command."""
    return r.Done(opcode=int(command.OPCODE), status=Status.OK, request=command.request)


def head_of(command: ControlCommand) -> dict[str, Any]:
    """Return the header of a reply to a command."""
    return {"opcode": int(command.OPCODE), "status": Status.OK, "request": command.request}


class FakeFirmware:
    """Answers control commands; `answer` may return None and `reply` later."""

    def __init__(
        self, end: DeviceEnd, answer: Callable[[ControlCommand], r.Reply | None] = done
    ) -> None:
        words = end.segment.words
        self.end = end
        self.answer = answer
        self.commands: list[ControlCommand] = []
        self.control = Consumer(words, PLAN.control_ring_offset, PLAN.control_ring)
        self.control.disarm()
        self.replies = Producer(words, PLAN.reply_ring_offset, PLAN.reply_ring)
        self.faults = Producer(words, PLAN.fault_ring_offset, PLAN.fault_ring)
        self.notifier = end.notifier()
        self.view[PLAN.spec_offset : PLAN.spec_offset + 512] = spec_block().pack()

    @property
    def view(self) -> memoryview:
        """The segment's bytes."""
        return self.end.segment.view

    def payload(self, offset: int, size: int) -> bytes:
        """Return bytes of the payload area."""
        at = PLAN.payload_offset + offset
        return self.view[at : at + size].tobytes()

    def store_payload(self, offset: int, data: bytes) -> None:
        """Store bytes into the payload area."""
        at = PLAN.payload_offset + offset
        self.view[at : at + len(data)] = data

    def work(self) -> bool:
        """Take every command that waits; return whether there was one."""
        count = self.control.available()
        entries = [self.control.fetch() for _ in range(count)]
        self.control.publish_head()
        for entry in entries:
            command = decode_control(entry)
            assert isinstance(command, ControlCommand), command
            self.commands.append(command)
            reply = self.answer(command)
            if reply is not None:
                self.reply(reply)
        return count > 0

    def reply(self, *replies: r.Reply | bytes) -> None:
        """Put replies on the ring and tell whoever waits."""
        for reply in replies:
            self.replies.put(reply if isinstance(reply, bytes) else reply.pack())
        self._tell(self.replies, PLAN.reply_ring_offset)

    def fault(self, record: FaultRecord) -> None:
        """Put a record on the fault ring."""
        self.faults.put(record.pack())
        self._tell(self.faults, PLAN.fault_ring_offset)

    def _tell(self, ring: Producer, header: int) -> None:
        old, new = ring.publish()
        stored = Stored(header + TAIL, header + CONSUMER_SLEEPERS, header + TAIL_EVENT, old, new)
        self.notifier.notify([stored])

    def make_ring(self) -> Consumer:
        """Format the work ring; return the device's end of it."""
        format_ring(self.view, RING, work_shape(ENTRIES))
        return Consumer(self.end.segment.words, RING, work_shape(ENTRIES))

    def complete(self, seqno: int, status: int = 0) -> None:
        """Say that a command of the work ring is done, or stopped its queue."""
        words = self.end.segment.words
        words.store64(RING + COMPLETED, seqno)
        words.store32(RING + COMPLETION_STATUS, status)
        word, sleepers = RING + COMPLETED, RING + COMPLETION_SLEEPERS
        self.notifier.notify([Stored(word, sleepers, 0, 0, 0)])

    def lose_client(self) -> None:
        """Say that the client's session has ended."""
        status = DeviceStatus.build(phase=Phase.RUNNING, client_lost=1)
        self.end.segment.words.store32(PLAN.registers_offset + STATUS.offset, status)

    def asleep(self, *, asleep: bool = True) -> None:
        """Say whether the bell is needed."""
        store_asleep(self.end.segment.words, asleep=asleep)

    def serve(self) -> None:
        """Answer until the client is gone."""
        doorbell = self.end.doorbell.fileno()
        assert doorbell is not None
        poll = select.poll()
        for number in (doorbell, *self.end.peer.filenos()):
            poll.register(number, select.POLLIN)
        while not self.end.peer.lost():
            if self.work():
                continue
            if may_sleep(self.asleep, lambda: self.control.available() > 0):
                poll.poll()
                self.end.doorbell.clear()
            self.asleep(asleep=False)


def created(command: ControlCommand) -> r.QueueCreated:
    """Return the reply that names the one work ring of these tests."""
    return r.QueueCreated(
        **head_of(command), queue_id=1, doorbell=1, ring_offset=RING, entry_count=ENTRIES
    )


@contextmanager
def inline_firmware(
    answer: Callable[[ControlCommand], r.Reply | None] = done,
) -> Generator[tuple[FakeFirmware, HostEnd]]:
    """Give a device that works whenever its doorbell is rung, and the driver's end."""
    with in_process_pair() as pair:
        device = FakeFirmware(pair.device, answer)
        # It never polls, so it must hear of every command.
        device.asleep()

        def ring() -> None:
            device.work()

        bell: Any = pair.device.doorbell
        bell.listen(ring)
        yield device, pair.host


@contextmanager
def served_firmware(
    answer: Callable[[ControlCommand], r.Reply | None] = done,
) -> Generator[tuple[FakeFirmware, HostEnd]]:
    """Give a device that works in a thread of its own, over shared memory, and the driver's end."""
    with shared_pair() as pair:
        device = FakeFirmware(pair.device, answer)
        thread = threading.Thread(target=device.serve)
        thread.start()
        try:
            yield device, pair.host
        finally:
            pair.host.peer.close()
            thread.join()
