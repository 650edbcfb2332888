"""Questions of tickets: sealed files that identify an export."""

from __future__ import annotations

from typing import final

import msgspec

from hostdriver.core.questionbase import Question


@final
class TicketFile(msgspec.Struct, frozen=True):
    """A descriptor that identifies an export, as the application's process holds it."""

    descriptor: int
    identity: tuple[int, int]
    """Device and inode: numbers of descriptors are used again, these are not."""
    content: bytes


@final
class MakeTicket(Question["TicketFile | str"], frozen=True):
    """Make a sealed file with this content; the answer is the file, or why there is none."""

    content: bytes


@final
class GiveDescriptor(Question["TicketFile | str"], frozen=True):
    """Give the application one more descriptor of a file that came with an `Answer`.

    The answer is what the application has now, for `DropTicket`; or why it got none.
    """

    descriptor: int


@final
class ReadTicket(Question["TicketFile | None"], frozen=True):
    """Read the first bytes behind any number that may be a descriptor; None when it is not."""

    descriptor: int
    size: int


@final
class DropTicket(Question[None], frozen=True):
    """Close a ticket, unless its number has become another file's."""

    ticket: TicketFile
