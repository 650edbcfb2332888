"""Tickets: files that identify, cannot change, and are closed only while they are ours."""

import os
import resource

import pytest

from hostdriver.core.questions import TicketFile
from hostdriver.runtime import tickets
from hostdriver.runtime.tickets import (
    drop_ticket,
    duplicate,
    duplicate_of,
    make_ticket,
    read_ticket,
)


def ticket(content: bytes = b"t" * 64) -> TicketFile:
    made = make_ticket(content)
    assert isinstance(made, TicketFile)
    return made


def test_ticket_is_read_by_whoever_has_the_descriptor() -> None:
    made = ticket()
    copy = os.dup(made.descriptor)

    found = read_ticket(copy, 64)

    assert found == TicketFile(copy, made.identity, b"t" * 64)
    os.close(copy)
    drop_ticket(made)


def test_nobody_can_change_a_ticket() -> None:
    made = ticket()

    with pytest.raises(PermissionError):
        os.pwrite(made.descriptor, b"x", 0)
    with pytest.raises(PermissionError):
        os.truncate(made.descriptor, 0)
    drop_ticket(made)


def test_two_tickets_are_two_files() -> None:
    one, two = ticket(), ticket()

    assert one.identity != two.identity
    drop_ticket(one)
    drop_ticket(two)


@pytest.mark.parametrize("number", [-1, 1 << 20, 1 << 31, 1 << 40])
def test_number_that_is_no_descriptor_is_none(number: int) -> None:
    assert read_ticket(number, 64) is None


def test_other_files_are_left_alone() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"t" * 64)

    assert read_ticket(reader, 64) is None
    assert os.read(reader, 64) == b"t" * 64
    with open(__file__, "rb") as file:  # noqa: PTH123 - its descriptor is wanted
        assert read_ticket(file.fileno(), 64) is None
    os.close(reader)
    os.close(writer)


def test_dropping_closes_the_descriptor_once() -> None:
    made = ticket()
    drop_ticket(made)
    drop_ticket(made)

    with pytest.raises(OSError, match="Bad file"):
        os.fstat(made.descriptor)


@pytest.mark.decision("C9")
def test_number_that_became_another_file_stays_open() -> None:
    made = ticket()
    os.close(made.descriptor)
    other = os.open(os.devnull, os.O_RDONLY)
    os.dup2(other, made.descriptor)

    drop_ticket(made)

    os.fstat(made.descriptor)
    os.close(made.descriptor)
    if other != made.descriptor:
        os.close(other)


def test_limit_of_descriptors_is_told() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        made = make_ticket(b"t" * 64)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert isinstance(made, str)
    assert "RLIMIT_NOFILE" in made


def test_ticket_that_cannot_be_sealed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def refuse(descriptor: int, seals: int) -> None:
        made.append(descriptor)
        raise OSError(f"no seals {seals:#x}")

    monkeypatch.setattr(tickets, "seal", refuse)

    assert "no seals" in str(make_ticket(b"t" * 64))
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(made[0])


def test_a_duplicate_is_another_number_for_the_same_file() -> None:
    made = ticket()
    for more in (duplicate(made.descriptor), duplicate_of(os.getpid(), made.descriptor)):
        assert isinstance(more, int)
        assert more != made.descriptor
        assert os.fstat(more).st_ino == made.identity[1]
        os.close(more)
    drop_ticket(made)


@pytest.mark.parametrize("number", [-1, 1 << 20])
def test_what_is_not_open_has_no_duplicate(number: int) -> None:
    assert isinstance(duplicate(number), str)
    assert isinstance(duplicate_of(os.getpid(), number), str)
