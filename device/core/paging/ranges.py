"""Checking ranges of virtual pages before anything else is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from device.core.errors import DeviceError, InternalError
from device.core.paging.bits import APERTURE, CONTIGUOUS, NULL, RESERVED, VALID_LEAF
from firmware.abi.ids import BUS_LIMIT, PAGE_SHIFT, PAGE_SIZE, VA_LIMIT
from firmware.abi.paging import FRAME_MASK
from firmware.abi.status import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.paging.bits import Entries, Numbers

_OFFSET = PAGE_SIZE - 1
_ENTRY_BITS = RESERVED | CONTIGUOUS | VALID_LEAF


def check_range(va: int, size: int) -> None:
    """Check that a range is whole pages that exist.

    Raises:
        DeviceError: BAD_ALIGNMENT; BAD_RANGE if it is empty or leaves the address space.
    """
    if (va | size) & _OFFSET:
        raise DeviceError(Status.BAD_ALIGNMENT, va)
    if size <= 0 or not 0 <= va < VA_LIMIT or size > VA_LIMIT - va:
        raise DeviceError(Status.BAD_RANGE, va)


def check_entry(va: int, size: int, entry: int, vram_size: int) -> None:
    """Check the entry that is to map the first page of a range.

    Raises:
        DeviceError: BAD_RANGE if the memory behind it would run over the end of its aperture.
        InternalError: it is no entry of a 4 KiB page.
    """
    if entry & _ENTRY_BITS != VALID_LEAF:
        raise InternalError(f"entry {entry:#018x} for va {va:#x} is no 4 KiB leaf")
    limit = BUS_LIMIT if entry & APERTURE else vram_size
    if (entry & FRAME_MASK) + size > limit and not entry & NULL:
        raise DeviceError(Status.BAD_RANGE, va)


def check_ranges(va: NDArray[np.uint64], size: NDArray[np.uint64]) -> tuple[Numbers, Numbers]:
    """Check many ranges; return their first pages and the pages behind their last.

    Raises:
        DeviceError: as `check_range`, for the first range that is wrong.
        InternalError: there are more addresses than sizes, or fewer.
    """
    if len(va) != len(size):
        raise InternalError(f"{len(va)} addresses for {len(size)} sizes")
    crooked = ((va | size) & _OFFSET) != 0
    outside = (size == 0) | (size > VA_LIMIT) | (va > VA_LIMIT - np.minimum(size, VA_LIMIT))
    wrong = crooked | outside
    if wrong.any():
        first = int(np.argmax(wrong))
        status = Status.BAD_ALIGNMENT if crooked[first] else Status.BAD_RANGE
        raise DeviceError(status, int(va[first]))
    start = (va >> np.uint64(PAGE_SHIFT)).view(np.int64)
    return start, start + (size >> np.uint64(PAGE_SHIFT)).view(np.int64)


def check_entries(start: Numbers, stop: Numbers, entry: Entries, vram_size: int) -> None:
    """`check_entry` for pages `start[i]` to `stop[i]`, with the same errors."""
    if len(start) != len(entry):
        raise InternalError(f"{len(start)} ranges for {len(entry)} entries")
    wrong = (entry & _ENTRY_BITS) != VALID_LEAF
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InternalError(
            f"entry {int(entry[first]):#018x} for va {int(start[first]) << PAGE_SHIFT:#x} is no "
            "4 KiB leaf"
        )
    end = (entry & FRAME_MASK).view(np.int64) + (stop - start << PAGE_SHIFT)
    limit = np.where((entry & APERTURE) != 0, BUS_LIMIT, vram_size)
    beyond = (end > limit) & ((entry & NULL) == 0)
    if beyond.any():
        raise DeviceError(Status.BAD_RANGE, int(start[np.argmax(beyond)]) << PAGE_SHIFT)


def sort_disjoint(start: Numbers, stop: Numbers) -> Numbers | None:
    """Return the order in which ranges ascend; None if they do already.

    Raises:
        DeviceError: OVERLAP, at the first page that two of them share.
    """
    if (start[1:] >= stop[:-1]).all():
        return None
    order = np.argsort(start, kind="stable")
    start, stop = start[order], stop[order]
    shared = start[1:] < stop[:-1]
    if shared.any():
        raise DeviceError(Status.OVERLAP, int(start[1:][shared][0]) << PAGE_SHIFT)
    return order


def merge(start: Numbers, stop: Numbers) -> list[tuple[int, int]]:
    """Return the pages of all ranges as few ascending ranges that do not touch."""
    order = np.argsort(start, kind="stable")
    start, stop = start[order], np.maximum.accumulate(stop[order])
    begins = np.flatnonzero(start[1:] > stop[:-1]) + 1
    begins = np.concatenate((np.zeros(1, np.int64), begins))
    ends = np.append(begins[1:], len(start)) - 1
    return list(zip(start[begins].tolist(), stop[ends].tolist(), strict=True))
