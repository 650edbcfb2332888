"""IPC handles that change on their way to whoever opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from firmware.abi.ipc import IpcHandle, check_word
from firmware.inject.actions import Flip, Replay, Set

if TYPE_CHECKING:
    from firmware.inject import Hit, Injector, Site

POINT: Final = "peer.handle"
OPENING: Final = frozenset(
    {"zeMemOpenIpcHandle", "zeEventPoolOpenIpcHandle", "zeEventCounterBasedOpenIpcHandle"}
)
"""Functions that open a handle."""
PUTTING: Final = frozenset({"zeMemPutIpcHandle", "zeEventPoolPutIpcHandle"})
"""Functions that put one."""
_PLACES: Final = {field.name: (field.offset, field.size) for field in IpcHandle.FIELDS}
_TOKEN: Final = _PLACES["token"]


@final
class HandlesUnderWay:
    """The handles that programs of this process open and put.

    Owner: a tap. `_put` is the one that was put last.
    """

    __slots__ = ("_injector", "_put")

    def __init__(self, injector: Injector) -> None:
        self._injector = injector
        self._put = b""

    def note_put(self, handle: bytes) -> None:
        """Take note of a handle that was put."""
        self._put = handle

    def arrived(self, handle: bytes, site: Site) -> bytes:
        """Return a handle as it arrives where it is opened."""
        hit = self._injector.ask(POINT, site)
        if hit is None or len(handle) != IpcHandle.SIZE:
            return handle
        match hit.action:
            case Flip():
                return flipped(handle, hit.action, hit)
            case Set():
                return with_field(handle, hit.action)
            case Replay():
                # Where none was put since the rule was added: one that nobody knows any more.
                return self._put or with_dead_token(handle, hit)
            case _:
                return handle


def flipped(handle: bytes, action: Flip, hit: Hit) -> bytes:
    """Return a handle some bits of which are the other way round."""
    start, size = _PLACES.get(action.field, (0, IpcHandle.SIZE))
    mask = action.mask
    if not mask:
        for number in range(min(action.bits, 8 * size)):
            mask |= 1 << _bit(hit, number, 8 * size, mask)
    part = int.from_bytes(handle[start : start + size], "little")
    return _with_bytes(handle, start, part ^ mask & (1 << 8 * size) - 1, size)


def with_field(handle: bytes, action: Set) -> bytes:
    """Return a handle one field of which has another value."""
    start, size = _PLACES[action.field]
    return _with_bytes(handle, start, action.value & (1 << 8 * size) - 1, size)


def with_dead_token(handle: bytes, hit: Hit) -> bytes:
    """Return a handle that is intact and whose token nobody knows."""
    start, size = _TOKEN
    number = int.from_bytes(handle[start : start + size], "little") ^ (hit.bits | 1)
    changed = _with_bytes(handle, start, number, size)
    return changed[: _PLACES["check"][0]] + check_word(changed).to_bytes(4, "little")


def _bit(hit: Hit, number: int, count: int, taken: int) -> int:
    """Return one of so many bits that is not taken yet, chosen by a hit."""
    at = (hit.bits >> 8 * (number % 8)) % count
    while taken >> at & 1:
        at = (at + 1) % count
    return at


def _with_bytes(handle: bytes, start: int, value: int, size: int) -> bytes:
    return handle[:start] + value.to_bytes(size, "little") + handle[start + size :]
