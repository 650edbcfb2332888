"""Commands about memory, encoded: copies, boxes, fills of any pattern, hints.

A pointer that the driver gave out, or that lies in its own addresses, goes through the device's
page tables, also when nothing is there any more: then the command faults. Any other pointer is the
application's own memory, which the device reaches in the application's process, where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.work import (
    Advice,
    Advise,
    Copy,
    CopyRegion,
    Fill,
    Prefetch,
    TimestampWrite,
    WorkFlags,
)
from hostdriver.core.allocations import holder_of

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState

_NONE: Final = WorkFlags.NONE
_SOURCE: Final = WorkFlags.CLIENT_SOURCE
_DESTINATION: Final = WorkFlags.CLIENT_DESTINATION
_DEVICE_PATTERN: Final = 16
"""Bytes of the longest pattern that one FILL takes."""


class Pointer(NamedTuple):
    """What a pointer of the application means to the device."""

    address: int
    is_client: bool
    """Whether it is the application's own memory."""
    uses: tuple[int, ...]
    """Numbers of the allocation that holds it, if one does."""


class Box(NamedTuple):
    """A region of memory: where it begins, and its pitches."""

    pointer: Pointer
    offset: int
    row_pitch: int
    slice_pitch: int


def pointer_of(state: DriverState, pointer: int) -> Pointer:
    """Return what a pointer means to the device."""
    holder = holder_of(state, pointer)
    if holder is not None:
        return Pointer(pointer, is_client=False, uses=(holder.id,))
    arena = state.facts.arena
    known = (
        (arena is not None and arena[0] <= pointer < arena[0] + arena[1])
        or state.reservations.at(pointer) is not None
        or state.imports.at(pointer) is not None
    )
    return Pointer(pointer, is_client=not known, uses=())


def copy_commands(destination: Pointer, source: Pointer, size: int) -> bytes:
    """Return the commands that copy bytes as memmove does; none for no bytes."""
    if not size:
        return b""
    return Copy(
        flags=_flags(destination, source),
        tag=0,
        source=source.address,
        destination=destination.address,
        size_bytes=size,
    ).pack()


def box_commands(destination: Box, source: Box, shape: tuple[int, int, int]) -> bytes:
    """Return the commands that copy a box of (bytes, rows, slices); none for an empty one."""
    width, height, depth = shape
    if not width or not height:
        return b""
    return CopyRegion(
        flags=_flags(destination.pointer, source.pointer),
        tag=0,
        source=source.pointer.address + source.offset,
        destination=destination.pointer.address + destination.offset,
        width=width,
        height=height,
        depth=depth,
        source_row_pitch=source.row_pitch,
        source_slice_pitch=source.slice_pitch,
        destination_slice_pitch=destination.slice_pitch,
        destination_row_pitch=destination.row_pitch,
    ).pack()


def fill_commands(destination: Pointer, pattern: bytes, size: int) -> bytes:
    """Return the commands that fill `size` bytes, a multiple of the pattern's; none for no bytes.

    A pattern that one command does not take is written once, piece by piece; then what is filled
    is copied behind itself, doubling it each time.
    """
    if not size:
        return b""
    flags = _DESTINATION if destination.is_client else _NONE
    if len(pattern) <= _DEVICE_PATTERN:
        return _fill(flags, destination.address, pattern, size)
    parts = [
        _fill(
            flags,
            destination.address + at,
            pattern[at : at + _DEVICE_PATTERN],
            _DEVICE_PATTERN,
        )
        for at in range(0, len(pattern), _DEVICE_PATTERN)
    ]
    filled = len(pattern)
    while filled < size:
        more = min(filled, size - filled)
        behind = destination._replace(address=destination.address + filled)
        parts.append(copy_commands(behind, destination, more))
        filled += more
    return b"".join(parts)


def prefetch_commands(pointer: Pointer, size: int) -> bytes:
    """Return the command that brings the translations of a range near."""
    return Prefetch(flags=_NONE, tag=0, address=pointer.address, size_bytes=size).pack()


def advise_commands(pointer: Pointer, size: int, advice: int) -> bytes:
    """Return the command that tells how a range is going to be used."""
    return Advise(
        flags=_NONE, tag=0, address=pointer.address, size_bytes=size, advice=Advice(advice)
    ).pack()


def timestamp_commands(destination: Pointer) -> bytes:
    """Return the command that stores the device's clock."""
    flags = _DESTINATION if destination.is_client else _NONE
    return TimestampWrite(flags=flags, tag=0, destination=destination.address).pack()


def _fill(flags: WorkFlags, address: int, pattern: bytes, size: int) -> bytes:
    return Fill(
        flags=flags,
        tag=0,
        destination=address,
        size_bytes=size,
        pattern=pattern.ljust(_DEVICE_PATTERN, b"\0"),
        pattern_size=len(pattern),
    ).pack()


def _flags(destination: Pointer, source: Pointer) -> WorkFlags:
    if not (destination.is_client or source.is_client):
        return _NONE
    return (_DESTINATION if destination.is_client else _NONE) | (
        _SOURCE if source.is_client else _NONE
    )
