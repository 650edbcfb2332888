"""Room in the payload area of a segment, for what does not fit a control message."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.core.vaspace import GRANULE, VaSpace, align_up

if TYPE_CHECKING:
    from firmware.link.words import Words


@final
class PayloadArea:
    """Gives out parts of the payload area.

    Owner: the control channel, under its lock. Invariant: parts given out do not overlap.
    """

    __slots__ = ("_offset", "_space", "_words", "size")

    def __init__(self, words: Words, offset: int, size: int) -> None:
        self._words = words
        self._offset = offset
        self.size = size - size % GRANULE
        """Largest part in bytes."""
        self._space = VaSpace(0, max(self.size, GRANULE))

    def take(self, size: int) -> int | None:
        """Return the place of `size` bytes, counted from the area's start; None while it is full.

        Raises:
            ValueError: the area never has as much.
        """
        if size > self.size:
            raise ValueError(f"a payload of {size:#x} bytes, the area has {self.size:#x}")
        return self._space.reserve(align_up(size, GRANULE))

    def give_back(self, place: int) -> None:
        """Give back what `take` returned."""
        self._space.free(place)

    def store(self, place: int, data: bytes) -> None:
        """Copy bytes in."""
        at = self._offset + place
        self._words.u8[at : at + len(data)] = data

    def load(self, place: int, size: int) -> bytes:
        """Return a copy of bytes."""
        at = self._offset + place
        return self._words.u8[at : at + size].tobytes()
