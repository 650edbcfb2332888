"""A session without a device: answers driver questions from a list, else the plainest way.

`FakeSession.script` says what the next question of a kind is answered with; whatever is not
scripted gets an answer as from a device that has everything. `asked` keeps every question. Two
sessions on one `FakeDevice` share its exports, as two processes do.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firmware.abi import control as c
from firmware.abi import replies as r
from firmware.abi.status import Status
from firmware.abi.work import Copy, Fill, decode_work
from hostdriver.core import questions as q
from hostdriver.core.intervals import IntervalMap
from hostdriver.core.results import ZeError
from hostdriver.core.state import DeviceFacts, DriverState, ProcessFacts, begin
from hostdriver.core.vaspace import VaSpace
from tests.harness.blocks import spec_block, superblock
from tests.harness.fake_exports import SHARING, FakeDevice
from tests.harness.replies import allocated, fault, object_created, refused, released

__all__ = [
    "FakeDevice",
    "FakeSession",
    "Memory",
    "Steps",
    "allocated",
    "fault",
    "object_created",
    "refused",
    "released",
    "spec_block",
    "superblock",
]

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
ARENA = (0x1000_0000_0000, 1 << 40)
OUTSIDE = (0x5000_0000_0000, 1 << 40)
RING_OFFSET = 0x4000


class Memory:
    """Bytes at any address; zero where nothing was stored."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}

    def store(self, address: int, data: bytes) -> None:
        self._bytes.update(enumerate(data, start=address))

    def load(self, address: int, size: int) -> bytes:
        return bytes(self._bytes.get(address + index, 0) for index in range(size))


class FakeSession:
    """Answers the questions of one process's driver."""

    def __init__(self, device: FakeDevice | None = None, *, device_count: int = 1) -> None:
        self.device = device or FakeDevice()
        self.device_count = device_count
        self.memory = Memory()
        self.asked: list[q.AnyQuestion] = []
        self.outside = VaSpace(*OUTSIDE)
        self.released = 0
        """Number of the last release that was done, as replies tell it."""
        self.tickets: dict[int, q.TicketFile] = {}
        self.seqnos: dict[int, int] = defaultdict(int)
        self.mapped: IntervalMap[None] = IntervalMap()
        self.beside: list[Callable[[], q.Operation[None]]] = []
        """Operations that are to be carried out beside; tests run them."""
        self.seconds = 0.0
        self._script: dict[type, deque[object]] = defaultdict(deque)

    def script(self, kind: type, *answers: object) -> None:
        """Answer the next questions, or control commands, of a kind; exceptions are thrown."""
        self._script[kind].extend(answers)

    def refuse(self, kind: type, status: Status, detail: int = 0) -> None:
        """Refuse the next control command of a kind."""
        self.script(kind, refused(kind, status, detail))

    @property
    def left(self) -> dict[str, int]:
        """How many scripted answers nobody asked for, by kind."""
        return {kind.__name__: len(answers) for kind, answers in self._script.items() if answers}

    def commands(self, kind: type[T]) -> list[T]:
        """Return the control commands of a kind that were sent."""
        sent = [x.command for x in self.asked if isinstance(x, q.Control)]
        return [command for command in sent if isinstance(command, kind)]

    def questions(self, kind: type[T]) -> list[T]:
        """Return the questions of a kind that were asked."""
        return [question for question in self.asked if isinstance(question, kind)]

    def run(self, operation: q.Operation[T]) -> T:
        """Run an operation to its end."""
        return Steps[T](self, operation).finish()

    def state(self, *, pid: int = 100, has_arena: int = 1, **changes: int) -> DriverState:
        """Return the state of a new process; `changes` go into the devices' specification."""
        facts = ProcessFacts(
            pid=pid,
            devices=tuple(
                DeviceFacts(superblock=superblock(device_index=index), spec=spec_block(**changes))
                for index in range(self.device_count)
            ),
            arena=ARENA if has_arena else None,
            socket="/run/fake.sock",
        )
        state = self.run(begin(facts))
        self.asked.clear()
        return state

    def answer(self, question: q.AnyQuestion) -> object:
        """Answer one question."""
        self.asked.append(question)
        kind = type(question.command) if isinstance(question, q.Control) else type(question)
        if self._script[kind]:
            scripted = self._script[kind].popleft()
            if isinstance(scripted, BaseException):
                raise scripted
            return q.Answer(scripted) if isinstance(scripted, r.Reply) else scripted
        if isinstance(question, q.Control):
            command = question.command
            if isinstance(command, SHARING):
                return self.device.answer(command, self.mapped)
            return self._control(command)
        return self._plain(question)

    def _plain(self, question: q.AnyQuestion) -> object:
        match question:
            case q.Reserve(hint=0):
                return self.outside.reserve(question.size, question.alignment)
            case q.Reserve():
                return question.hint
            case q.Submit():
                return self._submit(question)
            case q.WaitWord():
                return q.Waited(question.value, 0)
            case q.StoreBytes():
                self.memory.store(question.va, bytes(question.data))
            case q.LoadBytes():
                question.into[:] = self.memory.load(question.va, question.into.nbytes)
            case q.Faults():
                return ()
            case _:
                return self._about_tickets(question)
        return None

    def _about_streams(self, question: q.AnyQuestion) -> object:
        match question:
            case q.Offer():
                return self._offer(question)
            case q.Beside():
                self.beside.append(question.make)
            case q.Clock():
                self.seconds += 0.25
                return self.seconds
            case _:
                pass
        return None

    def _about_tickets(self, question: q.AnyQuestion) -> object:
        match question:
            case q.MakeTicket():
                number = 50 + self.device.number()
                ticket = q.TicketFile(number, (1, number), question.content)
                self.tickets[number] = ticket
                return ticket
            case q.GiveDescriptor():
                number = 50 + self.device.number()
                ticket = q.TicketFile(number, (2, question.descriptor), b"")
                self.tickets[number] = ticket
                return ticket
            case q.ReadTicket():
                return self.tickets.get(question.descriptor)
            case q.DropTicket():
                del self.tickets[question.ticket.descriptor]
            case _:
                return self._about_streams(question)
        return None

    def _offer(self, question: q.Offer) -> q.Offered:
        data = bytes(question.commands)
        count = len(data) // 64
        commands = tuple(data[at : at + 64] for at in range(0, len(data), 64))
        done = self._submit(q.Submit(question.device, question.queue, commands))
        return q.Offered(count, 0, done)

    def _submit(self, question: q.Submit) -> int:
        for entry in question.commands:
            command = decode_work(entry)
            if isinstance(command, Copy):
                data = self.memory.load(command.source, command.size_bytes)
                self.memory.store(command.destination, data)
            elif isinstance(command, Fill):
                pattern = command.pattern[: command.pattern_size]
                data = (pattern * (command.size_bytes // len(pattern) + 1))[: command.size_bytes]
                self.memory.store(command.destination, data)
        self.seqnos[question.queue] += len(question.commands)
        return self.seqnos[question.queue]

    def _control(self, command: c.ControlCommand) -> q.Answer:
        head: dict[str, Any] = {
            "opcode": int(command.OPCODE),
            "status": Status.OK,
            "request": command.request,
        }
        number = self.device.number()
        descriptors: tuple[int, ...] = ()
        reply: r.Reply
        match command:
            case c.SpaceCreate():
                reply = r.SpaceCreated(**head, vmid=1, root_address=0)
            case c.ObjectCreate():
                count = int(command.kind is c.ObjectKind.SYSTEM)
                descriptors = (1000 + number,) * count
                reply = object_created(number, command.size_bytes, count)
            case c.Allocate():
                self._note_mapping(
                    c.Map(
                        request=0,
                        vmid=command.vmid,
                        rights=command.rights,
                        va=command.va,
                        size_bytes=command.size_bytes,
                        object_id=number,
                        object_offset=0,
                    )
                )
                count = int(command.kind is c.ObjectKind.SYSTEM)
                descriptors = (1000 + number,) * count
                reply = allocated(number, count, self.released)
            case c.Release():
                self._note_mapping(
                    c.Unmap(
                        request=0,
                        vmid=command.vmid,
                        va=command.va,
                        size_bytes=command.size_bytes,
                    )
                )
                reply = r.Released(**head, number=0, released=self.released)
            case c.SegmentRegister():
                reply = object_created(number, command.size_bytes, 0)
            case c.Map() | c.Unmap() | c.Protect() | c.ProtectList():
                self._note_mapping(command)
                reply = r.Mapped(**head, page_count=1)
            case c.QueueCreate():
                reply = r.QueueCreated(
                    **head,
                    queue_id=number,
                    doorbell=number,
                    ring_offset=RING_OFFSET,
                    entry_count=command.entry_count,
                )
            case _:
                reply = r.Done(**head)
        return q.Answer(reply, b"", descriptors)

    def _note_mapping(self, command: c.ControlCommand) -> None:
        """Keep what is mapped; processes that share the session may map at the same addresses."""
        if isinstance(command, c.Map | c.Unmap):
            end = command.va + command.size_bytes
            for entry in list(self.mapped.overlapping(command.va, end)):
                self.mapped.remove(entry.start)
            if isinstance(command, c.Map):
                self.mapped.insert(command.va, end, None)


class Steps(Generic[T]):
    """One operation, taken from question to question."""

    def __init__(self, session: FakeSession, operation: q.Operation[T]) -> None:
        self._session = session
        self._operation = operation
        self.question: q.AnyQuestion | None = None
        self.results: list[T] = []
        self._go(None, None)

    @property
    def ended(self) -> bool:
        """Whether there is a result."""
        return bool(self.results)

    def step(self) -> None:
        """Answer the question that waits."""
        assert self.question is not None
        try:
            answer = self._session.answer(self.question)
        except (ZeError, KeyboardInterrupt) as error:
            self._go(None, error)
        else:
            self._go(answer, None)

    def until(self, kind: type) -> None:
        """Step until a question, or control command, of a kind waits for its answer."""
        while not isinstance(self.question, kind) and not (
            isinstance(self.question, q.Control) and isinstance(self.question.command, kind)
        ):
            self.step()

    def finish(self) -> T:
        """Step to the end and return the result."""
        while not self.ended:
            self.step()
        return self.results[0]

    def _go(self, answer: object, error: BaseException | None) -> None:
        try:
            send, throw = self._operation.send, self._operation.throw
            self.question = send(answer) if error is None else throw(error)
        except StopIteration as end:
            self.question = None
            self.results.append(end.value)
