"""The first bytes of a transfer, as transfers of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from firmware.abi.work import Copy, CopyRegion, Fill

if TYPE_CHECKING:
    from collections.abc import Iterator

Transfer: TypeAlias = Copy | Fill | CopyRegion
"""A command that moves bytes."""


def size_of(command: Transfer) -> int:
    """Return the bytes that a command moves."""
    if isinstance(command, CopyRegion):
        return command.width * command.height * command.depth
    return command.size_bytes


def begin(command: Transfer, size: int) -> tuple[list[Transfer], int]:
    """Return commands that move the first `size` bytes of one that has more, in their order.

    Returns:
        The commands, none of them empty; and the address of the first byte that they do not write.
    """
    if isinstance(command, CopyRegion):
        return _begin_region(command, size)
    part = msgspec.structs.replace(command, size_bytes=size)
    return [part] if size else [], command.destination + size


def _begin_region(command: CopyRegion, size: int) -> tuple[list[Transfer], int]:
    """Return whole slices, then whole rows of the next one, then part of a row."""
    slices, rest = divmod(size, command.width * command.height)
    rows, bytes_left = divmod(rest, command.width)
    parts: list[Transfer] = list(_boxes(command, slices, rows, bytes_left))
    end = (
        command.destination
        + slices * command.destination_slice_pitch
        + rows * command.destination_row_pitch
        + bytes_left
    )
    return parts, end


def _boxes(command: CopyRegion, slices: int, rows: int, rest: int) -> Iterator[CopyRegion]:
    source, destination = command.source, command.destination
    if slices:
        yield msgspec.structs.replace(command, depth=slices)
    source += slices * command.source_slice_pitch
    destination += slices * command.destination_slice_pitch
    if rows:
        yield msgspec.structs.replace(
            command, source=source, destination=destination, height=rows, depth=1
        )
    source += rows * command.source_row_pitch
    destination += rows * command.destination_row_pitch
    if rest:
        yield msgspec.structs.replace(
            command, source=source, destination=destination, width=rest, height=1, depth=1
        )
