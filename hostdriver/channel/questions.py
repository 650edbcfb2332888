"""Questions about a program's process, as messages to the library inside it."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from firmware.abi.channel import QuestionKind
from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.questions import (
    DropTicket,
    LoadBytes,
    MakeTicket,
    MapDescriptor,
    ProtectNone,
    ReadTicket,
    Release,
    Reserve,
    StoreBytes,
    TicketFile,
    Waited,
    WaitWord,
)

RemoteQuestion: TypeAlias = (
    Reserve
    | Release
    | MapDescriptor
    | ProtectNone
    | MakeTicket
    | ReadTicket
    | DropTicket
    | StoreBytes
    | LoadBytes
    | WaitWord
)
"""What the program's library is asked."""

FOREVER: Final = 0xFFFF_FFFF_FFFF_FFFF
_NANOSECONDS: Final = 1_000_000_000


class Message(NamedTuple):
    """One question on its way."""

    kind: QuestionKind
    data: bytes
    descriptor: int = -1
    """What has to be on the socket before it."""


def ask(question: RemoteQuestion) -> Message:  # noqa: C901 - one case for each question
    """Return the message that asks a question."""
    match question:
        case Reserve():
            return _numbers(QuestionKind.RESERVE, question.size, question.hint, question.alignment)
        case Release():
            return _numbers(QuestionKind.RELEASE, question.va, question.size)
        case MapDescriptor():
            message = _numbers(QuestionKind.MAP, question.offset, question.va, question.size)
            return message._replace(descriptor=question.descriptor)
        case ProtectNone():
            return _numbers(QuestionKind.PROTECT_NONE, question.va, question.size)
        case MakeTicket():
            content = question.content
            return _numbers(QuestionKind.MAKE_TICKET, len(content), data=content)
        case ReadTicket():
            return _numbers(QuestionKind.READ_TICKET, question.descriptor, question.size)
        case DropTicket():
            ticket = question.ticket
            return _numbers(QuestionKind.DROP_TICKET, ticket.descriptor, *ticket.identity)
        case StoreBytes():
            data = question.data.tobytes()
            return _numbers(QuestionKind.STORE, question.va, len(data), data=data)
        case LoadBytes():
            return _numbers(QuestionKind.LOAD, question.va, question.into.nbytes)
        case WaitWord():
            word = question.word
            time = question.timeout_seconds
            return _numbers(
                QuestionKind.WAIT,
                question.device,
                word.offset,
                word.status,
                word.sleepers,
                question.value,
                FOREVER if time is None else max(0, int(time * _NANOSECONDS)),
            )


def understand(  # noqa: C901 - one case for each question
    question: RemoteQuestion, data: bytes
) -> object:
    """Return the answer in a program's message, as the runner of a process would give it.

    Raises:
        MalformedMessageError: it is no such answer.
        ZeError: the process could not do it.
    """
    reader = Reader(data)
    match question:
        case Reserve():
            return reader.number() or None
        case MapDescriptor():
            number = reader.number()
            return f"mmap fails with error {number}" if number else None
        case ProtectNone():
            if number := reader.number():
                raise out_of_host_memory(
                    f"the mapping at {question.va:#x} cannot be removed: error {number}"
                )
            return None
        case MakeTicket():
            number, descriptor = reader.number(), reader.number()
            if number:
                return f"error {number} (RLIMIT_NOFILE limits a process's descriptors)"
            return TicketFile(descriptor, (reader.number(), reader.number()), question.content)
        case ReadTicket():
            found = reader.number()
            identity = reader.number(), reader.number()
            content = reader.raw(reader.number())
            return TicketFile(question.descriptor, identity, content) if found else None
        case LoadBytes():
            loaded = reader.raw(question.into.nbytes)
            question.into[:] = loaded
            return None
        case WaitWord():
            return Waited(reader.number(), reader.number())
        case Release() | DropTicket() | StoreBytes():
            return None
    raise MalformedMessageError(f"an answer to {question}")


def _numbers(kind: QuestionKind, *numbers: int, data: bytes = b"") -> Message:
    writer = Writer()
    for number in numbers:
        writer.number(number)
    if data:
        writer.raw(data)
    return Message(kind, writer.message())
