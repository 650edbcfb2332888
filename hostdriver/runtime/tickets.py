"""Tickets in this process: sealed memory files that identify an export and carry no memory."""

from __future__ import annotations

import os
import stat
from fcntl import F_SEAL_WRITE
from typing import TYPE_CHECKING, Final, assert_never

from firmware.link.linux import SEALS, seal, seals_of
from hostdriver.core.questions import (
    CloseDescriptor,
    DropTicket,
    Duplicate,
    GiveDescriptor,
    MakeTicket,
    ReadTicket,
    TicketFile,
)
from hostdriver.runtime.system import current

if TYPE_CHECKING:
    from hostdriver.core.questions import DescriptorQuestion

_NAME: Final = "emuzero-ticket"


def make_ticket(content: bytes) -> TicketFile | str:
    """Return a new ticket that nobody can change, or why there is none."""
    try:
        descriptor = current.system.create_memory(_NAME, len(content))
    except OSError as error:
        return f"{error} (RLIMIT_NOFILE limits a process's descriptors)"
    try:
        os.pwrite(descriptor, content, 0)
        seal(descriptor, SEALS | F_SEAL_WRITE)
        return TicketFile(descriptor, _identity(descriptor), content)
    except OSError as error:
        os.close(descriptor)
        return str(error)


def give_descriptor(descriptor: int) -> TicketFile | str:
    """Return one more descriptor of a memory file, or why there is none."""
    given = duplicate(descriptor)
    return given if isinstance(given, str) else TicketFile(given, _identity(given), b"")


def read_ticket(descriptor: int, size: int) -> TicketFile | None:
    """Return what stands behind a number, if it is an open memory file; nothing else is touched."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or seals_of(descriptor) is None:
            return None
        return TicketFile(descriptor, _identity(descriptor), os.pread(descriptor, size, 0))
    except (OSError, OverflowError):
        return None


def duplicate(descriptor: int) -> int | str:
    """Return one more descriptor of a file, or why there is none."""
    try:
        return current.system.dup(descriptor)
    except (OSError, OverflowError) as error:
        return f"{error} (RLIMIT_NOFILE limits a process's descriptors)"


def duplicate_of(pid: int, descriptor: int) -> int | str:
    """Return a descriptor of this process for a file of another one, or why there is none."""
    try:
        process = os.pidfd_open(pid)
        try:
            return current.system.take_descriptor(process, descriptor)
        finally:
            os.close(process)
    except (OSError, OverflowError) as error:
        return str(error)


def drop_ticket(ticket: TicketFile) -> None:
    """Close a ticket; a number that the program closed and used again is left alone."""
    try:
        same = _identity(ticket.descriptor) == ticket.identity
    except OSError:
        return
    if same:
        os.close(ticket.descriptor)


def answer_about_descriptors(question: DescriptorQuestion) -> object:
    """Answer what a coroutine asks of this process's descriptors."""
    match question:
        case MakeTicket():
            return make_ticket(question.content)
        case GiveDescriptor():
            return give_descriptor(question.descriptor)
        case ReadTicket():
            return read_ticket(question.descriptor, question.size)
        case Duplicate():
            return duplicate(question.descriptor)
        case CloseDescriptor():
            os.close(question.descriptor)
        case DropTicket():
            drop_ticket(question.ticket)
        case _:
            assert_never(question)
    return None


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
