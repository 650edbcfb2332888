"""Questions about a program's process, as messages to the library inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

from firmware.abi.channel import QuestionKind
from firmware.abi.handshake import DescriptorNote
from firmware.abi.segment import FENCE_HOST_SLEEPERS, FENCE_STATUS, FENCE_VALUE, FenceSlot
from firmware.link.errors import LinkError, LinkLost
from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.channel.pools import ProgramSlots
from hostdriver.core.failures import device_lost, out_of_host_memory, unsupported_feature
from hostdriver.core.questionbase import Question
from hostdriver.core.questions import (
    CallHost,
    DropTicket,
    GiveDescriptor,
    JoinSlots,
    LeaveSlots,
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
    WaitSlot,
    WaitWord,
)
from hostdriver.core.streamquestions import ProgramFunction

if TYPE_CHECKING:
    from firmware.link.carrier import Carrier
    from hostdriver.core.slotmemory import SlotMemory


@final
class StartThread(Question["str | None"], frozen=True):
    """Begin a thread of the program's that makes the call of this number.

    Answer: None, or why there is none.
    """

    number: int


RemoteQuestion: TypeAlias = (
    Reserve
    | Release
    | MapDescriptor
    | ProtectNone
    | MakeTicket
    | GiveDescriptor
    | ReadTicket
    | DropTicket
    | StoreBytes
    | LoadBytes
    | WaitWord
    | JoinSlots
    | LeaveSlots
    | WaitSlot
    | StartThread
    | CallHost
)
"""What the program's library is asked."""
LongQuestion: TypeAlias = WaitWord | WaitSlot | CallHost
"""What its thread leaves its slot for."""

FOREVER: Final = 0xFFFF_FFFF_FFFF_FFFF
_NANOSECONDS: Final = 1_000_000_000


class Message(NamedTuple):
    """One question on its way."""

    kind: QuestionKind
    data: bytes
    descriptor: int = -1
    """What has to be on the socket before it."""


def ask(  # noqa: C901, PLR0911, PLR0912 - one case for each question
    question: RemoteQuestion,
) -> Message:
    """Return the message that asks a question.

    Raises:
        ZeError: the program cannot be asked that.
    """
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
        case GiveDescriptor():
            return Message(QuestionKind.KEEP, b"", question.descriptor)
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
                _nanoseconds(time),
            )
        case JoinSlots():
            return _numbers(QuestionKind.JOIN, question.size)._replace(
                descriptor=question.descriptor
            )
        case LeaveSlots():
            memory = _slots_of(question.memory)
            return _numbers(QuestionKind.LEAVE, memory.address, memory.size)
        case WaitSlot():
            at = question.slot * FenceSlot.SIZE
            return _numbers(
                QuestionKind.WAIT_SLOT,
                _slots_of(question.memory).address,
                at + FENCE_VALUE,
                at + FENCE_STATUS,
                at + FENCE_HOST_SLEEPERS,
                question.value,
                _nanoseconds(question.timeout_seconds),
            )
        case StartThread():
            return _numbers(QuestionKind.START_THREAD, question.number)
        case CallHost():
            return _numbers(QuestionKind.CALL_HOST, *_function_of(question))


def send_descriptor(carrier: Carrier, slot: int, descriptor: int) -> str | None:
    """Send what has to be on the socket before the question in a slot; -1: nothing.

    Returns:
        None, or why it cannot be sent, which is the question's answer then.

    Raises:
        ZeError: the program takes none any more (DEVICE_LOST).
    """
    if descriptor < 0:
        return None
    note = DescriptorNote(request=slot, count=1, object_id=0, size_bytes=0)
    try:
        carrier.send(note, (descriptor,))
    except LinkLost as error:
        raise device_lost(f"the program gets no descriptors: {error}") from error
    except (LinkError, OSError) as error:
        return not_sent(error)
    return None


def not_sent(error: Exception) -> str:
    """Return why a program gets no descriptor that cannot be sent to it."""
    return f"the program cannot be sent a descriptor: {error}"


def understand(  # noqa: C901, PLR0911 - one case for each question
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
            return _new_file(reader, question.content)
        case GiveDescriptor():
            return _new_file(reader, b"")
        case ReadTicket():
            found = reader.number()
            identity = reader.number(), reader.number()
            content = reader.raw(reader.number())
            return TicketFile(question.descriptor, identity, content) if found else None
        case LoadBytes():
            loaded = reader.raw(question.into.nbytes)
            question.into[:] = loaded
            return None
        case JoinSlots():
            return reader.number()
        case WaitWord() | WaitSlot():
            return Waited(reader.number(), reader.number())
        case StartThread():
            number = reader.number()
            return f"pthread_create fails with error {number}" if number else None
        case Release() | DropTicket() | StoreBytes() | LeaveSlots() | CallHost():
            return None
    raise MalformedMessageError(f"an answer to {question}")


def _new_file(reader: Reader, content: bytes) -> TicketFile | str:
    """Return a descriptor that the program has now, or why it got none."""
    number, descriptor = reader.number(), reader.number()
    if number:
        return f"error {number} (RLIMIT_NOFILE limits a process's descriptors)"
    return TicketFile(descriptor, (reader.number(), reader.number()), content)


def _nanoseconds(seconds: float | None) -> int:
    return FOREVER if seconds is None else min(FOREVER, max(0, int(seconds * _NANOSECONDS)))


def _function_of(question: CallHost) -> ProgramFunction:
    """Return the program's function that is to be called.

    Raises:
        ZeError: it is one of this process.
    """
    if not isinstance(question.function, ProgramFunction):
        raise unsupported_feature(f"{question.function} is no function of a program")
    return question.function


def _slots_of(memory: SlotMemory) -> ProgramSlots:
    """Return the slots of a pool that a program joined.

    Raises:
        TypeError: they are another runner's.
    """
    if not isinstance(memory, ProgramSlots):
        raise TypeError(f"{memory!r} is no pool of a program")
    return memory


def _numbers(kind: QuestionKind, *numbers: int, data: bytes = b"") -> Message:
    writer = Writer()
    for number in numbers:
        writer.number(number)
    if data:
        writer.raw(data)
    return Message(kind, writer.message())
