"""Items of messages: eight bytes each, bytes padded to as many."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from typing_extensions import Buffer

ITEM: Final = 8
_NUMBER: Final = Struct("<Q")


@final
class MalformedMessageError(Exception):
    """A message of the program that is shorter than its items, or tells nonsense."""


@final
class Reader:
    """Takes items out of one message, front to back."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data).cast("B")
        self._position = 0

    def number(self) -> int:
        """Return the next item.

        Raises:
            MalformedMessageError: there is none.
        """
        start = self._position
        if start + ITEM > len(self._data):
            raise MalformedMessageError(f"{ITEM:#x} bytes at {start:#x} of the message")
        self._position = start + ITEM
        found: int = _NUMBER.unpack_from(self._data, start)[0]
        return found

    def numbers(self, shape: Struct) -> tuple[int, ...]:
        """Return the next numbers; `shape` tells how they stand there, padding included.

        Raises:
            MalformedMessageError: there are fewer.
        """
        start = self._position
        if start + shape.size > len(self._data):
            raise MalformedMessageError(f"{shape.size:#x} bytes at {start:#x} of the message")
        self._position = start + shape.size
        return shape.unpack_from(self._data, start)

    def raw(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            MalformedMessageError: there are fewer.
        """
        end = self._position + size
        if end > len(self._data):
            raise MalformedMessageError(f"{size:#x} bytes at {self._position:#x} of the message")
        found = self._data[self._position : end].tobytes()
        self._position += (size + ITEM - 1) & -ITEM
        return found


@final
class Writer:
    """Collects items of one message."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, value: int) -> None:
        """Put one item; negative numbers as two's complement."""
        self._parts.append((value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(ITEM, "little"))

    def raw(self, data: bytes) -> None:
        """Put bytes."""
        self._parts.append(data + bytes(-len(data) % ITEM))

    def message(self) -> bytes:
        """Return all of it."""
        return b"".join(self._parts)
