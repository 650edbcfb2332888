"""The blocking runner: carries driver coroutines out in the thread that calls.

A coroutine runs under one lock from question to question, and the lock is free while a question is
answered. So the driver's state needs no locks of its own, and no thread waits for another's wait.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final, final

from hostdriver.core.failures import device_lost
from hostdriver.core.questions import (
    AwaitRoom,
    Beside,
    CallHost,
    Clock,
    CloseDescriptor,
    Control,
    DropTicket,
    Duplicate,
    Faults,
    GiveDescriptor,
    JoinSlots,
    LeaveSlots,
    MakeTicket,
    Offer,
    OnThread,
    Operation,
    Pause,
    ReadTicket,
    ResultT,
    Submit,
    WaitSlot,
    WaitWord,
)
from hostdriver.runtime.address_space import AddressSpace, answer_about_space
from hostdriver.runtime.beside import Threads
from hostdriver.runtime.hostcalls import call_here
from hostdriver.runtime.interrupts import ALL, Interrupts
from hostdriver.runtime.tickets import answer_about_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from hostdriver.core.questions import Answer, AnyQuestion
    from hostdriver.runtime.beside import Beside as BesideWay
    from hostdriver.runtime.session import Session

    Answering: TypeAlias = Callable[["Runner", AnyQuestion, Interrupts], object]
    Observer: TypeAlias = Callable[[AnyQuestion, object], None]
    LongQuestion: TypeAlias = Submit | WaitWord | WaitSlot | AwaitRoom | Pause

PAUSE_SECONDS: Final = 0.001
LEAVE_SECONDS: Final = 2.0
"""Longest time that `close` waits for threads that are inside; address space stays if one is."""
_THREADS: Final = Threads()
_CLOSED: Final = "the driver was closed"
_ONE: Final = 1
"""Interrupts that are endured while the device carries out what it was sent: what it did must not
be lost, and only a second one ends that."""


@final
class Runner:
    """Answers the questions of this process's driver.

    Owner: whoever attached. It owns the sessions and the address space. Invariant: `_inside` counts
    the threads that are answering a question. A child after fork calls `abandon` on its copy.
    """

    __slots__ = (
        "_beside",
        "_changed",
        "_closed",
        "_inside",
        "_monitor",
        "_pausing",
        "_space",
        "answering",
        "closing",
        "name",
        "observer",
        "sessions",
        "socket",
    )

    def __init__(
        self,
        sessions: Sequence[Session],
        space: AddressSpace | None = None,
        *,
        socket: str = "",
        name: str = "",
        beside: BesideWay = _THREADS,
    ) -> None:
        """Take sessions and address space over.

        Args:
            sessions: one for each device.
            space: this process's address space; None makes one with an arena.
            socket: where the emulator listens, for messages.
            name: what this program is called, for people.
            beside: how operations are carried out beside others.
        """
        self._beside = beside
        self.sessions = tuple(sessions)
        self.socket = socket
        self.name = name
        self.closing: list[Callable[[], None]] = []
        """Called when the runner is closed, before anything ends; they may not raise."""
        self.observer: Observer | None = None
        """Told of every question that was answered, in the thread that asked; it may not raise."""
        self.answering: Answering = Runner.answer
        """Answers questions, as `answer` does, unless somebody came in between."""
        self._space = AddressSpace() if space is None else space
        self._monitor = threading.Lock()
        self._changed = threading.Condition(self._monitor)
        self._inside = 0
        self._pausing = 0
        self._closed = False

    @property
    def space(self) -> AddressSpace:
        """This process's address space."""
        return self._space

    def run(self, operation: Operation[ResultT]) -> ResultT:
        """Carry an operation out and return its result.

        An interrupt (KeyboardInterrupt) is raised when the operation is over; a second one while a
        device answers a command, or one while work is waited for, at once.

        Raises:
            ZeError: as the operation does, or the driver was closed.
        """
        with Interrupts() as interrupts:
            return self._drive(operation, interrupts)

    def _drive(self, operation: Operation[ResultT], interrupts: Interrupts) -> ResultT:
        """Alternate between the coroutine, under the lock, and the answers to its questions."""
        answer: object = None
        error: BaseException | None = None
        is_inside = False
        while True:
            with self._monitor:
                self._inside -= is_inside
                if self._closed and error is None:
                    error = device_lost(_CLOSED)
                try:
                    question = operation.send(answer) if error is None else operation.throw(error)
                except StopIteration as end:
                    result: ResultT = end.value
                    return result
                finally:
                    if self._pausing:
                        self._changed.notify_all()
                self._inside += 1
            is_inside = True
            answer, error = None, None
            try:
                answer = self.answering(self, question, interrupts)
                if self.observer is not None:
                    self.observer(question, answer)
            except BaseException as problem:  # noqa: BLE001 - the coroutine is told, and decides
                error = problem

    def close(self) -> None:
        """End the sessions, wait for threads to leave, give everything back; once is enough."""
        with self._monitor:
            if self._closed:
                return
            self._closed = True
        for leave in self.closing:
            leave()
        for session in self.sessions:
            session.hang_up(_CLOSED)
        deadline = time.monotonic() + LEAVE_SECONDS
        with self._monitor:
            self._pausing += 1
            while self._inside and time.monotonic() < deadline:
                self._changed.wait(PAUSE_SECONDS)
            left = not self._inside
        self._beside.end()
        for session in self.sessions:
            session.close()
        if left:
            self._space.close()

    def abandon(self) -> None:
        """Close a child's copies of descriptors and segments after fork, and nothing else."""
        self._closed = True
        for session in self.sessions:
            session.abandon()

    def answer(self, question: AnyQuestion, interrupts: Interrupts) -> object:
        """Answer a question in this thread."""
        if self._beside.is_waiting:
            self._beside.advance(partial(self.answer, interrupts=interrupts))
        match question:
            case Control():
                return self._control(question, interrupts)
            case Submit():
                return self._wait_for(question, interrupts, _ONE)
            case WaitWord() | WaitSlot() | AwaitRoom() | Pause():
                return self._wait_for(question, interrupts, 0)
            case Offer() | JoinSlots() | LeaveSlots() | Faults():
                return self._answer_of_session(question)
            case (
                CloseDescriptor()
                | Duplicate()
                | MakeTicket()
                | GiveDescriptor()
                | ReadTicket()
                | DropTicket()
            ):
                return answer_about_descriptors(question)
            case Beside() | OnThread() | CallHost() | Clock():
                return self._answer_about_runner(question)
            case _:
                return answer_about_space(self._space, question)

    def _answer_of_session(self, question: Offer | JoinSlots | LeaveSlots | Faults) -> object:
        session = self.sessions[question.device]
        match question:
            case Offer():
                return session.offer(question.queue, question.commands)
            case JoinSlots():
                return session.join(question.descriptor, question.size)
            case Faults():
                return session.take_faults(question.queue)
            case LeaveSlots():
                session.leave(question.memory)
        return None

    def _control(self, question: Control, interrupts: Interrupts) -> Answer:
        session = self.sessions[question.device]
        interrupts.endure(_ONE)
        try:
            pending = session.post(
                question.command, question.payload, question.room, question.descriptors
            )
            return session.collect(question.command, pending)
        finally:
            interrupts.endure(ALL)

    def _answer_about_runner(self, question: Beside | OnThread | CallHost | Clock) -> object:
        match question:
            case Clock():
                return time.monotonic()
            case CallHost():
                call_here(question.function)
                return None
            case Beside() | OnThread():
                return self._beside.begin(question.make(), self.run)

    def _wait_for(self, question: LongQuestion, interrupts: Interrupts, endured: int) -> object:
        """Answer a question that may take long, unless more interrupts come than are endured."""
        interrupts.endure(endured)
        try:
            return self._answer_long(question)
        finally:
            interrupts.endure(ALL)

    def _answer_long(self, question: LongQuestion) -> object:
        if isinstance(question, Pause):
            self._pause()
            return None
        session = self.sessions[question.device]
        match question:
            case Submit():
                return session.submit(question.queue, question.commands)
            case WaitWord():
                return session.wait(question.word, question.value, question.timeout_seconds)
            case WaitSlot():
                return session.wait_slot(
                    question.memory, question.slot, question.value, question.timeout_seconds
                )
            case AwaitRoom():
                session.await_room(question.queue, question.count)
                return None

    def _pause(self) -> None:
        with self._monitor:
            self._pausing += 1
            try:
                self._changed.wait(PAUSE_SECONDS)
            finally:
                self._pausing -= 1
