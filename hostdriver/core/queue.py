"""The driver's end of one work ring: where commands go in and how their numbers run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from firmware.abi.rings import COMPLETED, COMPLETION_SLEEPERS, COMPLETION_STATUS, STATUS
from firmware.link.errors import ContractError
from firmware.link.layout import work_shape
from firmware.link.rings import Producer
from firmware.link.ringshape import read_shape
from hostdriver.core.questions import SharedWord

if TYPE_CHECKING:
    from firmware.abi.replies import QueueCreated
    from firmware.link.words import Words


def word_of(queue: QueueCreated) -> SharedWord:
    """Return the word that counts the commands of a queue that are done."""
    header = queue.ring_offset
    return SharedWord(
        offset=header + COMPLETED,
        status=header + COMPLETION_STATUS,
        sleepers=header + COMPLETION_SLEEPERS,
    )


class Published(NamedTuple):
    """A tail that moved, for the doorbell."""

    old: int
    new: int
    seqno: int
    """Number of the last command."""


@final
class WorkQueue:
    """Producer of one work ring.

    Owner: a session; one thread at a time. Invariant: `seqno` commands were published since the
    queue was made, and the n-th of them has number n. It ends with the queue; a queue that stopped
    is destroyed and another made.
    """

    __slots__ = ("_producer", "_words", "doorbell", "entry_count", "header", "queue_id", "seqno")

    def __init__(self, words: Words, created: QueueCreated) -> None:
        """Join the ring that the device placed.

        Raises:
            ContractError: the ring is not where the reply says, or of another size.
        """
        self._words = words
        shape = read_shape(words.u8, created.ring_offset)
        self._producer = Producer(words, created.ring_offset, shape)
        if shape != work_shape(created.entry_count):
            raise ContractError(
                f"queue {created.queue_id}: the ring at {created.ring_offset:#x} has"
                f" {shape.entry_count} entries of {shape.entry_size} bytes, the reply tells"
                f" {created.entry_count}"
            )
        self.queue_id = created.queue_id
        self.doorbell = created.doorbell
        self.header = created.ring_offset
        self.entry_count = created.entry_count
        self.seqno = 0
        """Number of the last command published."""

    @property
    def tail(self) -> int:
        """Index behind the last command put in (u32)."""
        return self._producer.tail

    @property
    def room(self) -> int:
        """Commands that fit now; reading it looks at the device's head.

        Raises:
            BadHead: the device's head lies outside what waits.
        """
        return self._producer.free

    @property
    def status(self) -> int:
        """`Status` that stopped the ring, else 0."""
        return self._words.load32(self.header + STATUS)

    @property
    def completed(self) -> int:
        """Number of the last command that is done."""
        return self._words.load64(self.header + COMPLETED)

    def put(self, commands: bytes | memoryview) -> Published:
        """Put encoded commands in, one after the other, and make them visible.

        The caller rings the doorbell.

        Raises:
            RingFull: they do not all fit; nothing was put in.
            BadHead: see `room`.
        """
        count = self._producer.put_many(commands)
        old, new = self._producer.publish()
        self.seqno += count
        return Published(old, new, self.seqno)
