"""What both ends of a ring have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from firmware.abi.rings import HEAD, TAIL, RingHeader
from firmware.link.ringshape import read_shape
from firmware.link.words import Words

if TYPE_CHECKING:
    from firmware.link.ringshape import RingShape


@final
@dataclass(frozen=True, slots=True)
class RingStatistics:
    """Where one end of a ring stands."""

    entry_count: int
    index: int
    """Entries put or taken so far (u32)."""
    published: int
    """Entries that the peer has been told of (u32)."""


class RingEnd(ABC):
    """What both ends have: the ring's memory, and the numbers that hot paths need ready made."""

    __slots__ = (
        "_count",
        "_entries",
        "_head_at",
        "_mask",
        "_published",
        "_size",
        "_tail_at",
        "_u8",
        "_u32",
        "header",
        "shape",
        "words",
    )

    def __init__(
        self,
        view: memoryview | Words,
        header_offset: int,
        shape: RingShape | None = None,
        *,
        start: int = 0,
    ) -> None:
        """Join the ring whose header stands at `header_offset`.

        Args:
            view: the memory that holds it, or its words.
            header_offset: where the header stands, a multiple of 8.
            shape: entries and their size; None reads them from the header (drivers only).
            start: index at which both ends begin.

        Raises:
            ContractError: the header that was read is malformed.
        """
        self.words = Words(view) if isinstance(view, memoryview) else view
        self.header = header_offset
        self.shape = read_shape(self.words.u8, header_offset) if shape is None else shape
        self._u8 = self.words.u8
        self._u32 = self.words.u32
        self._count, self._size = self.shape
        self._mask = self._count - 1
        self._entries = header_offset + RingHeader.SIZE
        self._tail_at = (header_offset + TAIL) >> 2
        self._head_at = (header_offset + HEAD) >> 2
        self._begin(start)

    @abstractmethod
    def _begin(self, start: int) -> None:
        """Set every index of this end, without storing anything."""
