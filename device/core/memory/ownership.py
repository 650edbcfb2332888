"""Whose bytes a frame may still hold, and wiping them before anybody else gets it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, final

import numpy as np

from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from device.core.memory.blocks import Run

DEVICE: Final = 0
"""Owner of page tables: gets zeroed frames only, its own included."""
SHARED: Final = 0xFFFF_FFFF
"""Owner of frames that several processes could write: nobody gets them back unscrubbed."""
_SCAN: Final = 1 << 16
"""Frames looked at in one step of the background scrub."""
_SHORT: Final = 512
_FEW: Final = 8
"""Frames, or runs, up to which numpy does not pay."""
_WRITTEN: Final = tuple(b"\1" * count for count in range(_SHORT + 1))


@final
class FrameOwners:
    """Last owner of each frame, and whether it was written since it was last zero.

    Owner: the memory controller. A device reset keeps it: old bytes are in the cells.

    Frames never written are zero, need no scrubbing and are never touched, so that a sparse memory
    stays sparse. That holds only while every store is told of: `note` and `note_many`, or the fast
    paths that set `written` themselves.

    Invariants: a frame that is not marked in `written` holds zeros; `claim` leaves no frame whose
    bytes another owner wrote.
    """

    def __init__(self, array: NDArray[np.uint8], used: bytearray) -> None:
        count = len(used)
        self._array = array
        self._used: NDArray[np.uint8] = np.frombuffer(used, np.uint8)
        self._writers = np.zeros(count, np.uint32)
        self._writer = self._writers.data
        self.written = bytearray(count)
        """One byte per frame: 1 once it may hold anything but zeros."""
        self._marks: NDArray[np.uint8] = np.frombuffer(self.written, np.uint8)
        self._cursor = 0
        self.pending = False
        """Whether free frames may wait for the background scrub."""
        self.scrubbed_bytes = 0
        """Bytes zeroed because a frame changed its owner."""

    def claim(self, runs: Iterable[Run], owner: int) -> None:
        """Give frames to `owner`: zero those that hold what it did not write itself.

        The device's frames count as written from now on, since it stores without telling.
        """
        for first, count in runs:
            if owner == DEVICE and count <= _FEW:
                for frame in range(first, first + count):
                    self.claim_table(frame)
                continue
            end = first + count
            if self.written.find(1, first, end) >= 0:
                dirty = self._marks[first:end] != 0
                if owner != DEVICE:
                    dirty &= self._writers[first:end] != owner
                self._scrub(np.flatnonzero(dirty) + first)
            self._writers[first:end] = owner
            if owner == DEVICE:
                self.note(first << PAGE_SHIFT, count << PAGE_SHIFT)

    def claim_table(self, frame: int) -> None:
        """Give one frame to the device, as `claim` does."""
        if self.written[frame]:
            self._array[frame << PAGE_SHIFT : frame + 1 << PAGE_SHIFT] = 0
            self.scrubbed_bytes += PAGE_SIZE
        else:
            self.written[frame] = 1
        self._writer[frame] = DEVICE

    def disown(self, runs: Sequence[Run]) -> None:
        """Note that others than the owner may write these frames from now on."""
        if len(runs) > _FEW:
            flat = np.fromiter(chain.from_iterable(runs), np.int64, 2 * len(runs))
            self._writers[_frames_of(flat[::2], flat[1::2])] = SHARED
            return
        for first, count in runs:
            self._writers[first : first + count] = SHARED

    def released(self, runs: Iterable[Run]) -> None:
        """Note that frames were freed: the background scrub may have work."""
        for first, count in runs:
            if self.written.find(1, first, first + count) >= 0:
                self.pending = True
                return

    def forget(self, frame: int) -> None:
        """Leave a frame alone for ever: it is out of service."""
        self.written[frame] = 0

    def note(self, address: int, size: int) -> None:
        """Note a store to these bytes of VRAM, at least one."""
        first = address >> PAGE_SHIFT
        end = (address + size - 1 >> PAGE_SHIFT) + 1
        count = end - first
        self.written[first:end] = _WRITTEN[count] if count <= _SHORT else b"\1" * count

    def note_many(self, addresses: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> None:
        """Note stores to many ranges of VRAM, each at least one byte."""
        first = (addresses >> np.uint64(PAGE_SHIFT)).astype(np.int64)
        last = (addresses + sizes - np.uint64(1) >> np.uint64(PAGE_SHIFT)).astype(np.int64)
        self._marks[_frames_of(first, last - first + 1)] = 1

    def scrub_some(self, budget_bytes: int) -> int:
        """Zero free frames that hold old bytes, at most `budget_bytes`; return the bytes zeroed.

        Costs nothing when there is nothing to do.
        """
        room = budget_bytes >> PAGE_SHIFT
        steps = -(-len(self.written) // _SCAN) + 1
        before = self.scrubbed_bytes
        while self.pending and room > 0:
            frames = self._dirty_free_frames()[:room]
            self._scrub(frames)
            room -= len(frames)
            if room == 0:
                self._cursor = int(frames[-1]) + 1
                break
            self._cursor = (self._cursor // _SCAN + 1) * _SCAN
            if self._cursor >= len(self.written):
                self._cursor = 0
            steps -= 1
            self.pending = steps > 0
        return self.scrubbed_bytes - before

    def _dirty_free_frames(self) -> NDArray[np.int64]:
        """Return such frames from the cursor to the end of its step."""
        start = self._cursor
        stop = (start // _SCAN + 1) * _SCAN
        return np.flatnonzero(self._marks[start:stop] > self._used[start:stop]) + start

    def _scrub(self, frames: NDArray[np.int64]) -> None:
        for first, end in _runs_of(frames):
            self._array[first << PAGE_SHIFT : end << PAGE_SHIFT] = 0
            self._marks[first:end] = 0
        self.scrubbed_bytes += len(frames) * PAGE_SIZE


def _frames_of(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the frames of all runs, one after another: first, first + 1 ..."""
    before = np.cumsum(counts) - counts
    starts: NDArray[np.int64] = np.repeat(first - before, counts)
    return starts + np.arange(len(starts), dtype=np.int64)


def _runs_of(frames: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of each run of consecutive numbers."""
    if len(frames):
        breaks = np.flatnonzero(np.diff(frames) != 1)
        firsts = frames[np.concatenate(([0], breaks + 1))]
        lasts = frames[np.concatenate((breaks, [len(frames) - 1]))]
        yield from zip(firsts.tolist(), (lasts + 1).tolist(), strict=True)
