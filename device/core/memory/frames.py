"""Which VRAM frames are free: a buddy allocator that needs no contiguity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from device.core.errors import DeviceError, InternalError, InvariantError
from device.core.memory.blocks import FreeBlocks, Run
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_SHORT: Final = 512
_USED: Final = tuple(b"\1" * count for count in range(_SHORT + 1))
_FREE: Final = tuple(bytes(count) for count in range(_SHORT + 1))


@dataclass(frozen=True, slots=True)
class FrameStatistics:
    """What is handed out now; all numbers but the last two count frames."""

    frame_count: int
    free: int
    used: int
    retired: int
    largest_block: int
    """Frames of the largest free block."""
    block_count: int
    """Free blocks: many small ones mean fragmentation."""


@final
class BuddyAllocator:
    """Hands out frames 0 to `frame_count - 1`, in as few runs as it can.

    Owner: the memory controller. A device reset frees what clients held; retired frames stay
    retired for the life of the device.

    Invariants: every frame is exactly one of free, used and retired; the free blocks hold the free
    frames and nothing else; `free_count` is exact after every call.
    """

    def __init__(self, frame_count: int) -> None:
        if frame_count < 1:
            raise InternalError(f"a memory of {frame_count} frames cannot be managed")
        self.frame_count = frame_count
        self._blocks = FreeBlocks(frame_count)
        self._used = bytearray(frame_count)
        self._free_count = frame_count
        self._retired = set[int]()
        # Frames in use that go out of service when they are freed.
        self._leaving = set[int]()
        self._blocks.insert(0, frame_count)

    @property
    def free_count(self) -> int:
        """Frames that can be allocated now."""
        return self._free_count

    @property
    def retired_count(self) -> int:
        """Frames out of service; those still in use are not counted."""
        return len(self._retired)

    @property
    def used_map(self) -> bytearray:
        """One byte per frame: 1 while it is handed out. To be read only, and not kept."""
        return self._used

    def allocate(self, count: int, align_frames: int = 1) -> list[Run]:
        """Take `count` frames and return them as runs, neighbours joined.

        The answer is one run that begins at a multiple of `align_frames` (a power of two) where a
        large enough block is free. Else it is gathered from the largest free blocks downward, so
        that each block's offset in the answer is a multiple of its size and large leaves fit.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY (detail: free bytes). Nothing changed.
            InternalError: `count` is not positive. Nothing changed.
        """
        if count > self._free_count:
            raise DeviceError(Status.OUT_OF_DEVICE_MEMORY, detail=self._free_count * PAGE_SIZE)
        if count < 1:
            raise InternalError(f"{count} frames asked for")
        blocks = self._blocks
        # The larger of both orders, since `align_frames` is a power of two.
        order = (count - 1 | align_frames - 1).bit_length()
        first = blocks.take(order)
        if first < 0:
            runs = blocks.gather(count)
        else:
            runs = [Run(first, count)]
            if rest := (1 << order) - count:
                blocks.insert(first + count, rest)
        for first, length in runs:
            self._used[first : first + length] = (
                _USED[length] if length <= _SHORT else b"\1" * length
            )
        self._free_count -= count
        return runs

    def free(self, runs: Iterable[Run]) -> list[int]:
        """Give frames back: any parts of allocations, cut in any way.

        Returns:
            Frames that waited for this to be retired, and are now.

        Raises:
            InternalError: a frame that is not in use. Runs before its run are free then, the others
                are as they were.
        """
        used = self._used
        retired: list[int] = []
        for first, count in runs:
            end = first + count
            if first < 0 or count < 1 or end > self.frame_count:
                raise InternalError(f"frames {first} to {end} freed; there are {self.frame_count}")
            if (hole := used.find(0, first, end)) >= 0:
                raise InternalError(f"frame {hole} freed, which is not in use")
            used[first:end] = _FREE[count] if count <= _SHORT else bytes(count)
            self._free_count += count
            if self._leaving:
                retired += self._release_all_but_leaving(first, end)
            else:
                self._blocks.release(first, count)
        return retired

    def retire(self, frame: int) -> bool:
        """Take a frame out of service for ever: at once when it is free, else when it is freed.

        Returns:
            Whether it is out of service now.
        """
        if not 0 <= frame < self.frame_count:
            raise InternalError(f"frame {frame} retired; there are {self.frame_count}")
        if frame in self._retired:
            return True
        if self._used[frame]:
            self._leaving.add(frame)
            return False
        self._blocks.carve(frame)
        self._retired.add(frame)
        self._free_count -= 1
        return True

    def statistics(self) -> FrameStatistics:
        """Return what is handed out now."""
        return FrameStatistics(
            frame_count=self.frame_count,
            free=self._free_count,
            used=self.frame_count - self._free_count - len(self._retired),
            retired=len(self._retired),
            largest_block=self._blocks.largest,
            block_count=len(self._blocks),
        )

    def check(self) -> None:
        """Raise InvariantError unless each frame is exactly one of free, used and retired."""
        seen: NDArray[np.uint8] = np.frombuffer(bytes(self._used), np.uint8).copy()
        self._blocks.check(seen)
        for frame in self._retired:
            if seen[frame]:
                raise InvariantError(f"retired frame {frame} is free or in use")
            seen[frame] = 1
        if not seen.all():
            lost = int(np.flatnonzero(seen == 0)[0])
            raise InvariantError(f"frame {lost} is neither free nor used nor retired")
        free = self.frame_count - self._used.count(1) - len(self._retired)
        if free != self._free_count:
            raise InvariantError(f"{self._free_count} frames counted as free, found {free}")
        if stray := [frame for frame in self._leaving if not self._used[frame]]:
            raise InvariantError(f"frame {stray[0]} waits for a free that has happened")

    def _release_all_but_leaving(self, first: int, end: int) -> list[int]:
        leaving = sorted(frame for frame in self._leaving if first <= frame < end)
        self._leaving.difference_update(leaving)
        self._retired.update(leaving)
        self._free_count -= len(leaving)
        for frame in leaving:
            self._blocks.release(first, frame - first)
            first = frame + 1
        self._blocks.release(first, end - first)
        return leaving
