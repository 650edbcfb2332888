"""Questions as messages, and their answers."""

import pytest

from firmware.abi.channel import QuestionKind
from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.channel.questions import FOREVER, ask, understand
from hostdriver.core.questions import (
    LoadBytes,
    MakeTicket,
    MapDescriptor,
    ProtectNone,
    ReadTicket,
    Reserve,
    SharedWord,
    StoreBytes,
    TicketFile,
    Waited,
    WaitWord,
)
from hostdriver.core.results import ZeError

WORD = SharedWord(offset=0x100, status=0x108, sleepers=0x10C)


def answer(*items: int | bytes) -> bytes:
    writer = Writer()
    for item in items:
        if isinstance(item, int):
            writer.number(item)
        else:
            writer.raw(item)
    return writer.message()


def numbers(data: bytes) -> list[int]:
    reader = Reader(data)
    return [reader.number() for _ in range(len(data) // 8)]


def test_a_reservation_is_asked_with_its_numbers_and_answered_with_an_address() -> None:
    question = Reserve(size=0x1000, hint=0, alignment=0x10000)

    message = ask(question)

    assert (message.kind, numbers(message.data)) == (QuestionKind.RESERVE, [0x1000, 0, 0x10000])
    assert understand(question, answer(0x7000_0000)) == 0x7000_0000
    assert understand(question, answer(0)) is None


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"), [(None, FOREVER), (-1.0, 0), (1.5, 1_500_000_000), (1e11, FOREVER)]
)
def test_a_time_that_does_not_fit_is_no_end(seconds: float | None, nanoseconds: int) -> None:
    message = ask(WaitWord(device=0, word=WORD, value=1, timeout_seconds=seconds))

    assert numbers(message.data)[-1] == nanoseconds


def test_a_mapping_brings_its_descriptor_and_an_error_becomes_words() -> None:
    question = MapDescriptor(descriptor=7, offset=0, va=0x1000, size=0x1000)

    assert ask(question).descriptor == 7
    assert understand(question, answer(0)) is None
    assert understand(question, answer(12)) == "mmap fails with error 12"


def test_a_mapping_that_cannot_be_removed_is_an_error() -> None:
    with pytest.raises(ZeError, match="0x1000"):
        understand(ProtectNone(va=0x1000, size=0x1000), answer(12))


def test_a_ticket_has_its_descriptor_and_identity() -> None:
    question = MakeTicket(content=b"x" * 64)

    found = understand(question, answer(0, 9, 1, 2))

    assert found == TicketFile(9, (1, 2), question.content)
    assert "RLIMIT_NOFILE" in str(understand(question, answer(24, 0, 0, 0)))


def test_a_number_that_is_no_memory_file_reads_as_nothing() -> None:
    question = ReadTicket(descriptor=3, size=64)

    assert understand(question, answer(0, 0, 0, 0)) is None
    assert understand(question, answer(1, 1, 2, 3, b"abc")) == TicketFile(3, (1, 2), b"abc")


def test_bytes_travel_both_ways() -> None:
    into = bytearray(5)
    store = ask(StoreBytes(va=0x1000, data=memoryview(b"hello")))

    understand(LoadBytes(va=0x1000, into=memoryview(into)), answer(b"world"))

    assert Reader(store.data[16:]).raw(5) == b"hello"
    assert into == b"world"


def test_a_wait_tells_its_time_in_nanoseconds_or_for_ever() -> None:
    ended = WaitWord(device=1, word=WORD, value=5, timeout_seconds=0.25)
    endless = WaitWord(device=1, word=WORD, value=5)

    assert numbers(ask(ended).data) == [1, 0x100, 0x108, 0x10C, 5, 250_000_000]
    assert numbers(ask(endless).data)[-1] == FOREVER
    assert understand(endless, answer(7, 3)) == Waited(7, 3)


def test_an_answer_that_is_too_short_is_malformed() -> None:
    with pytest.raises(MalformedMessageError):
        understand(Reserve(size=1, hint=0, alignment=1), b"")
