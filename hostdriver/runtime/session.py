"""One session: a driver's end of the link to one device, made into answers.

Threads may share it. When the device goes, every wait ends within a tenth of a second, and from
then on everything answers DEVICE_LOST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from firmware.abi.control import QueueDestroy
from firmware.abi.replies import QueueCreated, Refused
from firmware.abi.segment import SpecBlock
from firmware.link.errors import ContractError, LinkError
from firmware.link.waiting import WordWait
from hostdriver.core.failures import device_lost
from hostdriver.core.questions import Waited
from hostdriver.core.state import DeviceFacts
from hostdriver.runtime.control import ControlChannel
from hostdriver.runtime.faults import FaultReader
from hostdriver.runtime.glances import Glances
from hostdriver.runtime.slots import JoinedPools
from hostdriver.runtime.work import WorkRings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.control import ControlCommand
    from firmware.abi.faults import FaultRecord
    from firmware.link.ends import HostEnd
    from hostdriver.core.questions import Answer, Offered, SharedWord
    from hostdriver.core.slotmemory import SlotMemory
    from hostdriver.runtime.requests import Pending
    from hostdriver.runtime.slots import JoinedSlots


@final
class Session:
    """The link to one device.

    Owner: a runner, which closes it. It owns the link's end. Nothing survives `close`. A child
    after fork closes its copy, which leaves the parent's as it is.
    """

    __slots__ = ("_control", "_end", "_faults", "_glance", "_lost", "_pools", "_work", "facts")

    def __init__(self, end: HostEnd) -> None:
        """Take over an attached end.

        Raises:
            ContractError: the specification block in the segment is malformed.
        """
        self.facts = facts_of(end)
        """What the device is."""
        self._end = end
        self._control = ControlChannel(end)
        self._work = WorkRings(end)
        self._faults = FaultReader(end)
        self._pools = JoinedPools(end)
        self._glance = Glances(end.vigil)
        self._lost = ""

    def post(
        self,
        command: ControlCommand,
        payload: bytes = b"",
        room: int = 0,
        descriptors: Sequence[int] = (),
    ) -> Pending:
        """Send a command; its answer is fetched by `collect`.

        Raises:
            ZeError: the session has ended; a descriptor cannot be sent.
        """
        self._check()
        return self._control.post(command, payload, room, descriptors)

    def collect(self, command: ControlCommand, pending: Pending) -> Answer:
        """Wait for the answer to a posted command; may be called again after an interrupt.

        Raises:
            ZeError: the session has ended.
        """
        answer = self._control.collect(pending)
        reply = answer.reply
        if isinstance(reply, QueueCreated):
            try:
                self._work.open(reply)
            except ContractError as error:
                raise self._lose(error) from error
        elif isinstance(command, QueueDestroy) and not isinstance(reply, Refused):
            self._work.drop(command.queue_id)
        return answer

    def submit(self, queue_id: int, commands: Sequence[bytes]) -> int:
        """Put commands into a work ring; return the number of the last one.

        Raises:
            ZeError: the session has ended, or the queue stopped while it was full.
        """
        self._check()
        try:
            return self._work.submit(queue_id, commands)
        except LinkError as error:
            raise self._lose(error) from error

    def offer(self, queue_id: int, commands: bytes | memoryview) -> Offered:
        """Put as many commands into a work ring as fit now.

        Raises:
            ZeError: the session has ended.
        """
        self._check()
        try:
            return self._work.offer(queue_id, commands)
        except LinkError as error:
            raise self._lose(error) from error

    def await_room(self, queue_id: int, count: int) -> None:
        """Wait until a work ring has room for so many commands, or has stopped.

        Raises:
            ZeError: the session has ended.
        """
        self._check()
        try:
            self._work.await_room(queue_id, count)
        except LinkError as error:
            raise self._lose(error) from error

    def has_room(self, queue_id: int, count: int) -> bool:
        """Whether `await_room` would return at once.

        Raises:
            ZeError: the session has ended.
        """
        self._check()
        return self._work.has_room(queue_id, count)

    def wait(self, word: SharedWord, value: int, timeout_seconds: float | None) -> Waited:
        """Wait until a word of the segment reaches `value`, gets a status, or time is up.

        Raises:
            ZeError: the session has ended.
        """
        self._check()
        wait = WordWait(word=word.offset, target=value, sleepers=word.sleepers, status=word.status)
        try:
            try:
                self._end.waiter.wait(wait, timeout_seconds)
            except TimeoutError:
                # A wait that is short does not look: one of many in a row has to.
                self._glance()
        except LinkError as error:
            raise self._lose(error) from error
        return look_at(self._end, word)

    def join(self, descriptor: int, size: int) -> JoinedSlots | str:
        """Map the file of a fence pool; return its slots, or why it cannot be done."""
        return self._pools.join(descriptor, size)

    def leave(self, slots: SlotMemory) -> None:
        """Unmap a fence pool that was joined."""
        self._pools.leave(cast("JoinedSlots", slots))

    def wait_slot(
        self, slots: SlotMemory, slot: int, value: int, timeout_seconds: float | None
    ) -> Waited:
        """Wait until a slot reaches `value`, gets a status, or time is up.

        Raises:
            ZeError: the session has ended.
        """
        try:
            return cast("JoinedSlots", slots).wait(slot, value, timeout_seconds)
        except LinkError as error:
            raise self._lose(error) from error

    def take_faults(self, queue_id: int) -> tuple[FaultRecord, ...]:
        """Return the fault records of one queue that were not given out yet.

        Raises:
            ZeError: the fault ring is malformed, the session has ended.
        """
        self._check()
        try:
            return self._faults.take(queue_id)
        except LinkError as error:
            raise self._lose(error) from error

    def hang_up(self, reason: str) -> None:
        """End the session: every wait ends soon, the device takes back all that was made in it."""
        self._lose(LinkError(reason))
        self._end.peer.close()

    def abandon(self) -> None:
        """Close a child's copy after fork, whatever threads of the parent were doing."""
        self._pools.close()
        self._end.abandon()

    def close(self) -> None:
        """Close everything; to be called when no thread is inside the session any more."""
        self._pools.close()
        self._end.close()

    def _check(self) -> None:
        if self._lost:
            raise device_lost(self._lost)

    def _lose(self, error: Exception) -> Exception:
        """Note that the session has ended; return what to raise."""
        self._lost = self._lost or str(error)
        self._control.end(self._lost)
        return device_lost(self._lost)


def facts_of(end: HostEnd) -> DeviceFacts:
    """Return what the segment of an attached end says of its device.

    Raises:
        ContractError: the specification block in it is malformed.
    """
    spec = SpecBlock.unpack(end.segment.words.u8, end.superblock.spec_offset)
    if not isinstance(spec, SpecBlock):
        raise ContractError(f"segment: {spec}")
    return DeviceFacts(superblock=end.superblock, spec=spec)


def look_at(end: HostEnd, word: SharedWord) -> Waited:
    """Return a word of an end's segment and the status beside it, as they are now."""
    words = end.segment.words
    # Loaded before the value, as the device stores it after: what it tells of is there then.
    status = words.load32(word.status)
    return Waited(words.load64(word.offset), status)
