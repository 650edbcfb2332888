"""One program's link to one device, used without waiting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from firmware.abi.control import QueueDestroy
from firmware.abi.replies import QueueCreated, Refused
from hostdriver.channel.desk import Desk
from hostdriver.channel.pools import ProgramSlots
from hostdriver.core.failures import device_lost, unknown
from hostdriver.core.questions import Control, Offer
from hostdriver.core.queue import WorkQueue
from hostdriver.core.results import ZeError
from hostdriver.runtime.faults import FaultReader
from hostdriver.runtime.session import facts_of, look_at
from hostdriver.runtime.slots import JoinedPools
from hostdriver.runtime.work import has_room_in, offer_to, put_into

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from firmware.abi.faults import FaultRecord
    from firmware.link.programs import LocalAttachment
    from hostdriver.core.questions import Answer, AwaitRoom, JoinSlots, Offered, SharedWord, Waited
    from hostdriver.core.slotmemory import SlotMemory


@final
class _Line:
    """Commands that found no room in their ring yet."""

    __slots__ = ("commands", "then")

    def __init__(
        self, commands: tuple[bytes, ...], then: Callable[[int | Exception], None]
    ) -> None:
        self.commands = commands
        self.then = then


@final
class ProgramDevice:
    """Control ring, work rings and fault ring of one program on one device.

    Owner: the program's session; one thread. It owns the link's end. Invariant: commands of one
    `submit` stand in their ring in order, and submissions in the order in which they came.
    """

    __slots__ = (
        "_desk",
        "_detach",
        "_end",
        "_faults",
        "_lines",
        "_pools",
        "_queues",
        "_rooms",
        "facts",
        "look_after",
    )

    def __init__(self, attachment: LocalAttachment) -> None:
        """Take over an attached end.

        Raises:
            ContractError: the specification block in the segment is malformed.
        """
        end = attachment.end
        self.facts = facts_of(end)
        """What the device is."""
        self._end = end
        self._detach = attachment.detach
        self.look_after = attachment.look_after
        """Asks the device to look at every ring: what it was told may have been lost."""
        self._desk = Desk(end)
        self._pools = JoinedPools(end)
        self._faults = FaultReader(end)
        self._queues: dict[int, WorkQueue] = {}
        self._lines: dict[int, list[_Line]] = {}
        self._rooms: list[tuple[AwaitRoom, Callable[[None], None]]] = []

    @property
    def is_busy(self) -> bool:
        """Whether something of it will be ready without a word of the program."""
        return self._desk.is_busy or bool(self._lines or self._rooms)

    def lost(self) -> str:
        """Return why the device does not serve this program any more; empty while it does."""
        try:
            self._end.liveness.check()
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the link is over
            return str(error) or "the link to the device is lost"
        return ""

    def control(self, question: Control, then: Callable[[Answer | ZeError], None]) -> None:
        """Send a command; `then` gets the answer, from `poll`."""

        def answered(answer: Answer | ZeError) -> None:
            if isinstance(answer, ZeError):
                then(answer)
                return
            reply = answer.reply
            if isinstance(reply, QueueCreated):
                self._queues[reply.queue_id] = WorkQueue(self._end.segment.words, reply)
            elif isinstance(question.command, QueueDestroy) and not isinstance(reply, Refused):
                self._queues.pop(question.command.queue_id, None)
            then(answer)

        self._desk.send(question, answered)

    def submit(
        self, queue_id: int, commands: tuple[bytes, ...], then: Callable[[int | Exception], None]
    ) -> None:
        """Put commands into a ring, now or when there is room; `then` gets the last's number."""
        if queue_id not in self._queues:
            then(unknown(f"queue {queue_id} does not exist"))
            return
        self._lines.setdefault(queue_id, []).append(_Line(commands, then))
        self._put_more(queue_id)

    def answer(
        self, question: Offer | AwaitRoom, then: Callable[[None], None]
    ) -> tuple[bool, Offered | None]:
        """Return whether a question is answered now, and how; else `poll` calls.

        Raises:
            ZeError: there is no such queue.
        """
        if isinstance(question, Offer):
            queue = self._queue(question.queue)
            return True, offer_to(queue, self._end.doorbells, question.commands)
        self._rooms.append((question, then))
        return False, None

    def join(self, question: JoinSlots, address: int) -> ProgramSlots | str:
        """Return the slots of a pool that the program has mapped at `address`, or why not."""
        if not address:
            return "the program has no mappings left"
        here = self._pools.join(question.descriptor, question.size)
        return here if isinstance(here, str) else ProgramSlots(here, address, question.size)

    def leave(self, memory: SlotMemory) -> None:
        """Unmap a pool here; the program is asked to as well."""
        if isinstance(memory, ProgramSlots):
            self._pools.leave(memory.here)

    def nudge(self) -> None:
        """Let the device look at the slots that its queues wait for: the program stored to one."""
        # The program's store and its fence came before the message of it.
        self._end.doorbells.nudge()

    def look(self, word: SharedWord) -> Waited:
        """Return a word and the status beside it, which is loaded first."""
        return look_at(self._end, word)

    def take_faults(self, queue_id: int) -> tuple[FaultRecord, ...]:
        """Return the fault records of one queue that were not given out yet."""
        return self._faults.take(queue_id)

    def take_all_faults(self) -> tuple[FaultRecord, ...]:
        """Return the fault records of all queues that were not given out yet."""
        return self._faults.take_all()

    def poll(self) -> Iterator[Callable[[], None]]:
        """Yield what is to be done now: one call for each answer that came."""
        for then, answer in self._desk.poll():
            yield partial(then, answer)
        for queue_id in tuple(self._lines):
            self._put_more(queue_id)
        rooms, self._rooms = self._rooms, []
        for question, go_on in rooms:
            if self._has_room(question):
                yield partial(go_on, None)
            else:
                self._rooms.append((question, go_on))

    def close(self) -> None:
        """Detach; the device takes everything back."""
        self._detach()
        self._pools.close()
        self._end.close()

    def _has_room(self, question: AwaitRoom) -> bool:
        queue = self._queues.get(question.queue)
        return queue is None or has_room_in(queue, question.count)

    def _queue(self, queue_id: int) -> WorkQueue:
        queue = self._queues.get(queue_id)
        if queue is None:
            raise unknown(f"queue {queue_id} does not exist")
        return queue

    def _put_more(self, queue_id: int) -> None:
        queue = self._queues.get(queue_id)
        lines = self._lines[queue_id]
        while lines:
            line = lines[0]
            if queue is None or queue.status:
                lines.pop(0)
                line.then(device_lost(f"queue {queue_id} stopped before it had room"))
                continue
            room = queue.room
            part, line.commands = line.commands[:room], line.commands[room:]
            if part:
                put_into(queue, self._end.doorbells, b"".join(part))
            if line.commands:
                return
            lines.pop(0)
            line.then(queue.seqno)
        del self._lines[queue_id]
