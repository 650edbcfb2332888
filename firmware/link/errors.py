"""What can go wrong on the link.

LinkError                     base of all; nothing was left open or mapped by the call that raised
    AttachError               the link could not be made
        NoResources           this process has no descriptor left for it
        Refused               the device answered, and said no (`status`, `detail`)
    ContractError             the peer broke the contract
        BadTail               a producer's tail is further ahead than its ring has entries
        BadHead               a consumer's head is not between the producer's tail and its old head
    LinkLost                  the peer died, hung up or ended the session
    Stalled                   a wait in one thread that nothing can end any more
InvariantError                a bug of the link itself
RingFull, RingEmpty           the caller's fault: it asked for more than there is
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from firmware.abi.handshake import HandshakeStatus


class LinkError(Exception):
    """Base of everything that goes wrong between device and client."""


class AttachError(LinkError):
    """The link could not be made; nothing of it is left."""


@final
class NoResources(AttachError):
    """This process has no descriptor left, so that it cannot even find out who listens."""


@final
class Refused(AttachError):
    """The device refused the client."""

    def __init__(self, status: HandshakeStatus, detail: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """Why, as the device says it."""
        self.detail = detail
        """The number that explains it."""


class ContractError(LinkError):
    """The peer broke the contract; what it sent was not used."""


@final
class BadTail(ContractError):
    """A producer published a tail more than the ring's size ahead of the consumer's head."""

    def __init__(self, tail: int, head: int, entry_count: int) -> None:
        super().__init__(
            f"tail {tail:#x} is more than {entry_count} entries ahead of head {head:#x}"
        )
        self.tail = tail
        self.head = head
        self.entry_count = entry_count


@final
class BadHead(ContractError):
    """A consumer published a head that it cannot have reached."""

    def __init__(self, head: int, tail: int, waiting: int) -> None:
        super().__init__(
            f"head {head:#x} is not within the {waiting} entries that wait behind tail {tail:#x}"
        )
        self.head = head
        self.tail = tail
        self.waiting = waiting
        """Entries that waited when head was last seen."""


class LinkLost(LinkError):
    """The peer died, hung up or ended the session; the link can only be closed."""


class Stalled(LinkError):
    """A wait in the thread that also steps the device, for a word that nothing will raise."""


@final
class InvariantError(Exception):
    """An invariant of the link's own objects does not hold; the text tells their state."""


@final
class RingFull(Exception):
    """The ring has less room than was asked for; nothing was stored."""


@final
class RingEmpty(Exception):
    """Fewer entries are known to wait than were asked for; nothing was taken."""
