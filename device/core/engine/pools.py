"""Fence pools: memory with fence slots, as the engines use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.effects import Notify, WakeSlot
from firmware.abi.segment import (
    FENCE_DEVICE_WAITS,
    FENCE_END_TICKS,
    FENCE_HOST_SLEEPERS,
    FENCE_START_TICKS,
    FENCE_STATUS,
    FENCE_VALUE,
    FenceSlot,
)
from firmware.link.words import Words

if TYPE_CHECKING:
    from device.core.engine.client import EngineClient
    from device.core.ports import SharedFile

SEGMENT_POOL: Final = 0
"""Number of the pool that stands in a client's segment."""
_SLOT: Final = FenceSlot.SIZE


@final
class FencePool:
    """Fence slots in a client's segment, or in a memory file that several clients have.

    Owner: the client whose segment it is, else the `FencePools` of the devices whose clients have
    it. Invariant: `device_waits` of a slot is the number of queues, of all devices, that wait for
    it. A file is closed with its last holder (see `hold`).
    """

    __slots__ = (
        "_base",
        "_client_id",
        "_counts",
        "_u32",
        "_u64",
        "_words",
        "count",
        "file",
        "holders",
    )

    def __init__(
        self, words: Words, base: int, count: int, *, client_id: int = 0, file: SharedFile | None
    ) -> None:
        """Use `count` slots from byte `base` of `words` on: of a file, or of a client's segment."""
        self._words = words
        self._u32 = words.u32
        self._u64 = words.u64
        self._base = base
        self._client_id = client_id
        self._counts: dict[int, int] = {}
        self.count = count
        self.file = file
        self.holders = 1

    @classmethod
    def in_segment(cls, client: EngineClient, base: int, count: int) -> FencePool:
        """Return the pool in a client's segment."""
        return cls(client.words, base, count, client_id=client.client_id, file=None)

    @classmethod
    def in_file(cls, file: SharedFile, count: int) -> FencePool:
        """Return the pool that takes over a memory file."""
        return cls(Words(file.view), 0, count, file=file)

    def value(self, slot: int) -> int:
        """Return a slot's value."""
        return self._u64[(self._base + slot * _SLOT + FENCE_VALUE) >> 3]

    def status(self, slot: int) -> int:
        """Return the `Status` that ended a slot's fence early, else 0."""
        return self._u32[(self._base + slot * _SLOT + FENCE_STATUS) >> 2]

    def times(self, slot: int) -> tuple[int, int]:
        """Return start and end of what signalled a slot."""
        at = self._base + slot * _SLOT
        return self._u64[(at + FENCE_START_TICKS) >> 3], self._u64[(at + FENCE_END_TICKS) >> 3]

    def store_start(self, slot: int, ticks: int) -> None:
        """Store when the signalling work began."""
        self._u64[(self._base + slot * _SLOT + FENCE_START_TICKS) >> 3] = ticks

    def store_end(self, slot: int, ticks: int) -> None:
        """Store when the signalling work ended."""
        self._u64[(self._base + slot * _SLOT + FENCE_END_TICKS) >> 3] = ticks

    def store_value(self, slot: int, value: int) -> Notify | WakeSlot:
        """Store a value; return who has to be told."""
        self._u64[(self._base + slot * _SLOT + FENCE_VALUE) >> 3] = value
        return self._notice(slot)

    def store_status(self, slot: int, status: int) -> Notify | WakeSlot:
        """Store what ended a fence early; return who has to be told."""
        self._u32[(self._base + slot * _SLOT + FENCE_STATUS) >> 2] = status
        return self._notice(slot)

    def count_waits(self, slot: int, change: int) -> None:
        """Change the number of queues that wait for a slot, and publish it."""
        count = self._counts.get(slot, 0) + change
        if count:
            self._counts[slot] = count
        else:
            self._counts.pop(slot, None)
        self._u32[(self._base + slot * _SLOT + FENCE_DEVICE_WAITS) >> 2] = count

    def waits(self, slot: int) -> int:
        """Return how many queues of all devices wait for a slot."""
        return self._counts.get(slot, 0)

    def hold(self) -> None:
        """Keep the memory until `drop`."""
        self.holders += 1

    def drop(self) -> None:
        """Give up what `hold` kept, or the first holder; the last one closes the file."""
        self.holders -= 1
        if not self.holders and self.file is not None:
            for view in (self._words.u64, self._words.u32, self._words.u8):
                view.release()
            self.file.close()

    def _notice(self, slot: int) -> Notify | WakeSlot:
        at = self._base + slot * _SLOT
        word, sleepers = at + FENCE_VALUE, at + FENCE_HOST_SLEEPERS
        if self.file is None:
            return Notify(self._client_id, word, sleepers)
        return WakeSlot(self.file, word, sleepers)
