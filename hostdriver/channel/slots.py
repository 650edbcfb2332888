"""Slots of a channel as the driver sees them: which were posted, and what stands in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from firmware.abi.channel import (
    CHANNEL_COUNTS,
    CHANNEL_COUNTS_OFFSET,
    CHANNEL_SLOT_SIZE,
    CHANNEL_SLOTS,
    CHANNEL_SLOTS_OFFSET,
    CHANNEL_STREAMS,
    CHANNEL_STREAMS_OFFSET,
    CallCounts,
    ChannelHeader,
    MessageKind,
    SlotHeader,
    StreamRow,
    Watching,
)
from firmware.link.linux import fence, futex_wake
from hostdriver.channel.items import MalformedMessageError

if TYPE_CHECKING:
    from firmware.link.segment import Segment

CHANNEL_SIZE: Final = CHANNEL_STREAMS_OFFSET + CHANNEL_STREAMS * StreamRow.SIZE
CAPACITY: Final = CHANNEL_SLOT_SIZE - SlotHeader.SIZE
"""Bytes of data that one message may have."""
_POSTED: Final = next(field.offset for field in ChannelHeader.FIELDS if field.name == "posted")
_ASLEEP: Final = next(field.offset for field in ChannelHeader.FIELDS if field.name == "asleep")
_WATCHING: Final = next(f.offset for f in ChannelHeader.FIELDS if f.name == "watching")
_LOST: Final = next(field.offset for field in ChannelHeader.FIELDS if field.name == "lost")
_AT: Final = {field.name: field.offset for field in SlotHeader.FIELDS}
_NOTHING: Final = Watching(0)


class Mark(NamedTuple):
    """What a program that marks calls says of one beside its message."""

    thread: int
    began: int
    """CLOCK_MONOTONIC in nanoseconds."""


class Incoming(NamedTuple):
    """One message of the program."""

    slot: int
    kind: int
    what: int
    data: bytes


@final
class Slots:
    """The driver's side of one channel.

    Owner: a program's session. Invariants: a slot is written only between the program's turn and
    the store of `turn`; a posted word is looked at once a turn.
    """

    __slots__ = ("_posted", "_seen", "_segment", "_told", "are_marked", "words")

    def __init__(self, segment: Segment, device_count: int, watching: Watching = _NOTHING) -> None:
        """Lay the channel out in a zeroed segment; `watching` says what is told of calls."""
        self._segment = segment
        self._told = watching
        self.are_marked = Watching.TRACE in watching
        """Whether calls say which thread makes them."""
        self.words = segment.words
        """Words of the channel, for what stands behind the slots."""
        header = ChannelHeader(
            slot_count=CHANNEL_SLOTS,
            slot_size=CHANNEL_SLOT_SIZE,
            slots_offset=CHANNEL_SLOTS_OFFSET,
            device_count=device_count,
            asleep=1,
            lost=0,
            # A traced program tells its driver of every call.
            answers=int(Watching.TRACE not in watching),
            watching=watching,
            posted=bytes(4 * CHANNEL_SLOTS),
        ).pack()
        segment.view[: len(header)] = header
        self._posted = segment.words.u8[_POSTED : _POSTED + 4 * CHANNEL_SLOTS]
        self._seen = self._posted.tobytes()

    @property
    def posted(self) -> tuple[memoryview, bytes]:
        """The posted words, and what stood there when `take` looked last."""
        return self._posted, self._seen

    def has_work(self) -> bool:
        """Return whether a slot was posted that `take` has not given out."""
        return self._posted.tobytes() != self._seen

    def take(self) -> list[Incoming]:
        """Return the messages posted since the last call."""
        now = self._posted.tobytes()
        if now == self._seen:
            return []
        before, self._seen = self._seen, now
        return [
            self._load(slot)
            for slot in range(CHANNEL_SLOTS)
            if now[4 * slot : 4 * slot + 4] != before[4 * slot : 4 * slot + 4]
        ]

    def put(
        self,
        slot: int,
        kind: MessageKind,
        what: int,
        data: bytes,
        result: int = 0,
        text: bytes = b"",
    ) -> None:
        """Answer in a slot: its program's thread goes on.

        Raises:
            MalformedMessageError: the message is larger than a slot.
        """
        if len(data) + len(text) > CAPACITY:
            raise MalformedMessageError(f"a message of {len(data) + len(text):#x} bytes")
        base = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
        words = self.words
        start = base + SlotHeader.SIZE
        words.u8[start : start + len(data)] = data
        if text:
            words.u8[start + len(data) : start + len(data) + len(text)] = text
        words.store32(base + _AT["kind"], kind)
        words.store32(base + _AT["what"], what)
        words.store32(base + _AT["size"], len(data))
        words.store32(base + _AT["result"], result)
        words.store32(base + _AT["text_size"], len(text))
        turn = int.from_bytes(self._seen[4 * slot : 4 * slot + 4], "little")
        words.store32(base + _AT["turn"], turn)
        # The program sets `sleepers`, makes its fence and looks at `turn`.
        fence()
        if words.load32(base + _AT["sleepers"]):
            futex_wake(self._segment.address + base + _AT["turn"])

    def mark(self, slot: int) -> Mark:
        """Return what stands beside the message of a call, if calls are marked."""
        base = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
        return Mark(self.words.load32(base + _AT["thread"]), self.words.load64(base + _AT["began"]))

    def counts(self) -> dict[int, CallCounts]:
        """Return how often functions were called, by number; only those that were."""
        end = CHANNEL_COUNTS_OFFSET + CHANNEL_COUNTS * CallCounts.SIZE
        table = self.words.u8[CHANNEL_COUNTS_OFFSET:end].tobytes()
        found: dict[int, CallCounts] = {}
        for number in range(CHANNEL_COUNTS):
            row = CallCounts.unpack(table[number * CallCounts.SIZE :][: CallCounts.SIZE])
            if isinstance(row, CallCounts) and row.calls:
                found[number] = row
        return found

    def set_asleep(self, *, asleep: bool) -> None:
        """Say whether the program has to ring after it posted."""
        self.words.store32(_ASLEEP, int(asleep))

    def watch(self, watching: Watching) -> None:
        """Say what the program has to do besides telling of calls, from now on."""
        self.words.store32(_WATCHING, self._told | watching)
        self.are_marked = bool((self._told | watching) & ~Watching.COUNT)

    def lose(self) -> None:
        """Tell the program that its session has ended, and wake whoever waits."""
        self.words.store32(_LOST, 1)

    def close(self) -> None:
        """Give up the channel."""
        self._posted.release()
        self._segment.close()

    def _load(self, slot: int) -> Incoming:
        base = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
        words = self.words
        size = min(words.load32(base + _AT["size"]), CAPACITY)
        start = base + SlotHeader.SIZE
        return Incoming(
            slot,
            words.load32(base + _AT["kind"]),
            words.load32(base + _AT["what"]),
            words.u8[start : start + size].tobytes(),
        )
