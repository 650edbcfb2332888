"""What calls of C programs ask of system and devices, where rules may let it fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from hostdriver.channel.items import Writer
from hostdriver.channel.ports import Caller, Later
from hostdriver.channel.questions import not_sent as not_sent_to_program
from hostdriver.core.questions import (
    Answer,
    Beside,
    Clock,
    Control,
    Duplicate,
    GiveDescriptor,
    JoinSlots,
    MakeTicket,
    MapDescriptor,
    Pause,
    ProtectNone,
    Reserve,
)
from hostdriver.inject.gate import site_of
from hostdriver.inject.lost import without_descriptors
from hostdriver.inject.peers import act_on
from hostdriver.inject.system import (
    RECEIVE,
    SEND,
    error_of,
    number_of,
    place_of,
    point_of,
    switch,
)
from hostdriver.runtime.requests import not_sent

if TYPE_CHECKING:
    from typing import TypeAlias

    from firmware.inject import Hit, Injector, Site
    from hostdriver.channel.ports import Answering
    from hostdriver.channel.running import Running
    from hostdriver.channel.session import Session
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.inject.holding import Holding

    OfLibrary: TypeAlias = (
        Reserve | MapDescriptor | JoinSlots | ProtectNone | MakeTicket | GiveDescriptor
    )

_OWN: Final = (Later, Pause, Clock, Beside)
"""What concerns whoever runs the call, and neither system nor device."""
_CARRYING: Final = (MapDescriptor, JoinSlots, GiveDescriptor)
"""What comes with a descriptor for the program."""
_NONE: Final = -1


@final
class FaultyAnswers:
    """Answers questions, or lets them fail (see `hostdriver.channel.ports.Answering`).

    Owner: the tap that put it in. A failure is the message that the program's library would send,
    or the error of the driver's own system call: all that follows is the driver's.
    """

    __slots__ = ("_holding", "_injector", "_inside")

    def __init__(self, inside: Answering, injector: Injector, holding: Holding) -> None:
        """Answer by `inside` what does not fail."""
        self._inside = inside
        self._injector = injector
        self._holding = holding

    def answer(
        self, session: Session, running: Running, question: AnyQuestion
    ) -> tuple[bool, object]:
        """Return whether a question is answered already, and how.

        Raises:
            ZeError, OSError: the call is told.
        """
        if isinstance(question, _OWN) or not running.name:
            return self._inside(session, running, question)
        pid, process = session.caller[:2]
        site = site_of(Caller(pid, process, running.thread, running.name), *place_of(question))
        if (hit := self._injector.ask("peer.inside", site)) is not None:
            act_on(hit, pid, self._holding)
        if isinstance(question, Control):
            return self._exchange(session, running, question, site)
        if isinstance(question, _CARRYING):
            if (hit := self._injector.ask(SEND, site)) is not None:
                return True, not_sent_to_program(error_of(hit))
            if (hit := self._injector.ask(RECEIVE, site)) is not None:
                return True, session.answer_in(question, _failure(question, number_of(hit)))
        point = point_of(question)
        hit = self._injector.ask(point, site) if point else None
        if hit is None:
            return self._inside(session, running, question)
        return self._fail(session, running, question, hit)

    def _fail(
        self, session: Session, running: Running, question: AnyQuestion, hit: Hit
    ) -> tuple[bool, object]:
        if isinstance(question, Duplicate):
            with switch.system.failing(hit.point, error_of(hit)):
                return self._inside(session, running, question)
        match question:
            case (
                Reserve()
                | MapDescriptor()
                | JoinSlots()
                | ProtectNone()
                | MakeTicket()
                | GiveDescriptor()
            ):
                return True, session.answer_in(question, _failure(question, number_of(hit)))
            case _:
                return self._inside(session, running, question)

    def _exchange(
        self, session: Session, running: Running, question: Control, site: Site
    ) -> tuple[bool, object]:
        """Send a command; its descriptors may not leave, those of the reply may not arrive."""
        if question.descriptors and (hit := self._injector.ask(SEND, site)) is not None:
            raise not_sent(question.descriptors, error_of(hit))

        def answered(answer: object) -> None:
            if isinstance(answer, Answer) and answer.descriptors:
                hit = self._injector.ask(RECEIVE, site)
                if hit is not None:
                    answer = without_descriptors(answer, error_of(hit))
            session.drive(running, answer)

        return session.answer(running, question, answered)


def _failure(question: OfLibrary, number: int) -> bytes:
    """Return the message in which a program's library tells that a question failed."""
    writer = Writer()
    match question:
        case Reserve() | JoinSlots():
            # No address; why is not asked.
            writer.number(0)
        case MapDescriptor() | ProtectNone():
            writer.number(number)
        case MakeTicket() | GiveDescriptor():
            writer.number(number)
            writer.number(_NONE)
    return writer.message()
