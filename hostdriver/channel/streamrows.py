"""What queues and immediate lists have to do, in memory that a program's library looks at."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, final

from firmware.abi.channel import CHANNEL_STREAMS, CHANNEL_STREAMS_OFFSET, StreamRow

if TYPE_CHECKING:
    from firmware.link.words import Words
    from hostdriver.core.commandqueues_stream import Stream

_AT: Final = {field.name: field.offset for field in StreamRow.FIELDS}


@final
class StreamRows:
    """The rows of one program.

    Owner: the program's session. Invariant: a row is free, or the mirror of one stream. Rows that
    were given back longest ago are taken first.
    """

    __slots__ = ("_free", "_words")

    def __init__(self, words: Words) -> None:
        """Begin with the rows of a zeroed channel."""
        self._words = words
        self._free = deque(range(1, CHANNEL_STREAMS))

    def take(self, stream: Stream) -> int:
        """Return the number of a row that shows a stream from now on; 0: all are taken."""
        if not self._free:
            return 0
        number = self._free.popleft()
        stream.mirror = _Row(self._words, number)
        stream.show()
        return number

    def give(self, stream: Stream) -> None:
        """Take the row of a stream that ended, if it has one."""
        row, stream.mirror = stream.mirror, None
        if isinstance(row, _Row):
            row.hide()
            self._free.append(row.number)


@final
class _Row:
    """The mirror of one stream."""

    __slots__ = ("_base", "_ring", "_turn", "_words", "number")

    def __init__(self, words: Words, number: int) -> None:
        self._words = words
        self._base = CHANNEL_STREAMS_OFFSET + number * StreamRow.SIZE
        self._turn = words.load64(self._base + _AT["turn"])
        self._ring: int | None = None
        """Where the ring stands that the row tells of; None while it tells of none."""
        self.number = number

    def show(self, stream: Stream) -> None:
        """Store the number that tells that all is done; where its ring is, if that is another."""
        queue = stream.queue
        if queue is None or stream.failure is not None:
            self.hide()
            return
        target = stream.issued + stream.shift
        if queue.ring_offset == self._ring:
            self._words.store64(self._base + _AT["target"], target)
            return
        self._turn_over()
        self._words.store64(self._base + _AT["target"], target)
        self._words.store64(self._base + _AT["ring"], queue.ring_offset)
        self._words.store32(self._base + _AT["device"], stream.plan.device)
        self._words.store32(self._base + _AT["is_known"], 1)
        self._turn_over()
        self._ring = queue.ring_offset

    def hide(self) -> None:
        """Let the library ask."""
        if self._ring is None:
            return
        self._turn_over()
        self._words.store32(self._base + _AT["is_known"], 0)
        self._turn_over()
        self._ring = None

    def _turn_over(self) -> None:
        self._turn += 1
        self._words.store64(self._base + _AT["turn"], self._turn)
