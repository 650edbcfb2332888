"""Where work rings stand in a client's segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.errors import DeviceError, InternalError, InvariantError
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIGNMENT: Final = 64


@final
class RingPool:
    """Gives out areas of the ring pool, first fit.

    Owner: the client whose segment it is. Invariant: areas given out lie in the pool and share no
    byte. An area is given back only when no engine uses its ring any more.
    """

    __slots__ = ("_areas", "_end", "_start")

    def __init__(self, start: int, size: int) -> None:
        """Manage `size` bytes from byte `start` of the segment on."""
        self._start = start
        self._end = start + size
        self._areas: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Return where an area of `size` bytes begins.

        Raises:
            DeviceError: LIMIT (detail: bytes of the pool) when no gap is large enough.
        """
        at = self._start
        for start in sorted(self._areas):
            if at + size <= start:
                break
            at = self._areas[start]
        if at + size > self._end:
            raise DeviceError(Status.LIMIT, self._end - self._start)
        self._areas[at] = (at + size + _ALIGNMENT - 1) & -_ALIGNMENT
        return at

    def give_back(self, start: int) -> None:
        """Give back the area that begins at `start`.

        Raises:
            InternalError: none does.
        """
        if self._areas.pop(start, None) is None:
            raise InternalError(f"no area of the ring pool begins at {start:#x}")

    def check(self, used: Iterable[int]) -> None:
        """Raise InvariantError unless areas are disjoint and are those that begin at `used`."""
        at = self._start
        for start in sorted(self._areas):
            if start < at:
                raise InvariantError(f"ring area {start:#x} begins before {at:#x}")
            at = self._areas[start]
        if at > self._end + _ALIGNMENT:
            raise InvariantError(f"ring area ends at {at:#x}, the pool at {self._end:#x}")
        if sorted(used) != sorted(self._areas):
            raise InvariantError("ring areas and rings differ")
