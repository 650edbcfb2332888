"""What mappings are refused for, before anything changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from device.core.errors import DeviceError
from firmware.abi.ids import PAGE_SIZE, VA_LIMIT
from firmware.abi.status import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.clients import Client
    from device.core.mapping import Span
    from device.core.spaces import Backing, ClientSpace

OFFSET_MASK: Final = PAGE_SIZE - 1


def backings_of(client: Client, space: ClientSpace, ids: list[int]) -> list[Backing]:
    """Return what stands behind object numbers, 0 for null pages; refuse the first unknown."""
    find = client.objects.get
    found = [find(number) if number else space.null for number in ids]
    known: list[Backing] = [backing for backing in found if backing is not None]
    if len(known) < len(found):
        raise DeviceError(Status.BAD_OBJECT, ids[found.index(None)])
    return known


def check_parts(
    backings: list[Backing], extents: NDArray[np.void], offset: NDArray[np.uint64]
) -> None:
    """Check that each part lies in its backing and may have its rights; refuse the first."""
    sizes = np.array([backing.size for backing in backings], np.uint64)
    denied = np.array([backing.denied for backing in backings], np.uint32)
    size: NDArray[np.uint64] = extents["size_bytes"]
    # Written so that nothing wraps.
    outside = (size > sizes) | (offset > sizes - size)
    wrong = outside | ((extents["rights"] & denied) != 0)
    if wrong.any():
        first = int(np.argmax(wrong))
        end = int(offset[first]) + int(size[first])
        check_part(backings[first], int(extents["va"][first]), end, int(extents["rights"][first]))


def check_part(backing: Backing, va: int, end: int, rights: int) -> None:
    """Check that a part which ends at byte `end` of a backing can be mapped with these rights."""
    if end > backing.size:
        raise DeviceError(Status.BAD_RANGE, va, backing.size)
    if rights & backing.denied:
        raise DeviceError(Status.BAD_RIGHTS, va, rights & ~backing.denied)


def check_rights(space: ClientSpace, span: Span, rights: int) -> None:
    """Check that everything mapped in a range may have these rights."""
    for piece in space.mappings.inside(span.va, span.size):
        if rights & piece.backing.denied:
            raise DeviceError(Status.BAD_RIGHTS, piece.start, rights & ~piece.backing.denied)


def misaligned(*values: int) -> DeviceError:
    """Return the refusal of the first of these numbers that is no multiple of 4 KiB."""
    wrong = next(value for value in values if value & OFFSET_MASK)
    return DeviceError(Status.BAD_ALIGNMENT, wrong, PAGE_SIZE)


def check_columns(
    va: NDArray[np.uint64], size: NDArray[np.uint64], offset: NDArray[np.uint64] | None = None
) -> None:
    """Check alignment and range of every extent; refuse the first that is wrong."""
    joined = va | size if offset is None else va | size | offset
    crooked = (joined & np.uint64(OFFSET_MASK)) != 0
    # Written so that nothing wraps.
    limit = np.uint64(VA_LIMIT)
    outside = (size == 0) | (va > limit) | (size > limit) | (limit - va < size)
    wrong = crooked | outside
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    if crooked[first]:
        raise misaligned(*(int(c[first]) for c in (va, size, offset) if c is not None))
    raise DeviceError(Status.BAD_RANGE, int(va[first]), VA_LIMIT)
