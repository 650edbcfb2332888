"""Memory errors: what ECC corrects, and what it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from device.core.errors import InvariantError
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

WORD: Final = 8
"""Bytes that one check code protects."""
_WATCHED: Final = -1
"""Among the marked frames while somebody watches: no frame, so that no access meets it."""


def _nobody(address: int, size: int) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True)
class EccStatistics:
    """Errors since the device was made."""

    corrected: int
    """Single-bit errors that an access met and corrected."""
    uncorrected: int
    """Errors that poisoned a frame."""
    poisoned_frames: int
    """Frames poisoned now, and in use."""


@final
class Ecc:
    """The error state of VRAM; almost always empty, which is all that fast paths look at.

    Owner: the memory controller. A device reset keeps it: errors are in the cells.

    A correctable error sits in one word until an access meets it: the access sees the right data,
    the error is counted and gone; a write over the whole word removes it unseen. Poison sits in a
    frame until the frame is freed, whatever is written there. Without ECC an injected error changes
    the data and nobody is told.

    Invariants: `marked` holds exactly the frames with an error of either kind; and something else
    while somebody watches, so that no access takes a way that does not look at errors.
    """

    def __init__(self, view: memoryview, *, enabled: bool) -> None:
        self._view = view
        self._enabled = enabled
        self._weak: dict[int, set[int]] = {}
        self._poisoned = set[int]()
        self._corrected = self._uncorrected = 0
        self._watch: Callable[[int, int], None] = _nobody
        self.marked = set[int]()
        """Frames with errors. Always the same set, so that others may hold on to it."""

    @property
    def uncorrected(self) -> int:
        """Errors that poisoned a frame, since the device was made."""
        return self._uncorrected

    def watch(self, watch: Callable[[int, int], None]) -> None:
        """Tell `watch` address and size of every access: before a read, when a write begins.

        It may inject errors, which the read then meets, and retire frames. One watches at a time.
        """
        self._watch = watch
        self.marked.add(_WATCHED)

    def unwatch(self) -> None:
        """Tell nobody any more."""
        self._watch = _nobody
        self.marked.discard(_WATCHED)

    def inject_correctable(self, address: int) -> bool:
        """Weaken the word at `address`; False: without ECC, its byte changed instead."""
        if not self._enabled:
            self._view[address] ^= 1
            return False
        frame = address >> PAGE_SHIFT
        self._weak.setdefault(frame, set()).add(address // WORD)
        self.marked.add(frame)
        return True

    def inject_poison(self, address: int) -> bool:
        """Poison the frame of `address`; False: without ECC, its byte changed instead."""
        if not self._enabled:
            self._view[address] ^= 3
            return False
        frame = address >> PAGE_SHIFT
        self._uncorrected += frame not in self._poisoned
        self._poisoned.add(frame)
        self.marked.add(frame)
        return True

    def before_read(self, address: int, size: int) -> int | None:
        """Return the first poisoned address of a range that is going to be read, or None."""
        self._watch(address, size)
        frames = [frame for frame in self._frames_in(address, size) if frame in self._poisoned]
        return max(min(frames) << PAGE_SHIFT, address) if frames else None

    def met(self, address: int, size: int, *, writing: bool) -> None:
        """Correct, count and remove the correctable errors in a range that is being accessed."""
        first, last = address // WORD, (address + size - 1) // WORD
        for frame in self._frames_in(address, size):
            weak = self._weak.get(frame, set())
            for word in [word for word in weak if first <= word <= last]:
                weak.discard(word)
                covered = address <= word * WORD and (word + 1) * WORD <= address + size
                self._corrected += not (writing and covered)
            self._settle(frame)
        if writing:
            self._watch(address, size)

    def freed(self, first: int, count: int) -> list[int]:
        """Forget poison in these frames, which are being freed; return those that had it."""
        frames = [frame for frame in self._poisoned if first <= frame < first + count]
        for frame in frames:
            self._poisoned.discard(frame)
            self._weak.pop(frame, None)
            self._settle(frame)
        return frames

    def statistics(self) -> EccStatistics:
        """Return the errors so far."""
        return EccStatistics(
            corrected=self._corrected,
            uncorrected=self._uncorrected,
            poisoned_frames=len(self._poisoned),
        )

    def check(self) -> None:
        """Raise InvariantError unless the marks tell exactly where errors are."""
        if self.marked - {_WATCHED} != self._poisoned | self._weak.keys():
            raise InvariantError(f"ECC marks {sorted(self.marked)} differ from the errors")
        for frame, words in self._weak.items():
            if {word * WORD >> PAGE_SHIFT for word in words} != {frame}:
                raise InvariantError(f"ECC errors of frame {frame} lie elsewhere or nowhere")

    def _frames_in(self, address: int, size: int) -> list[int]:
        stop = address + size
        return [
            frame
            for frame in self.marked
            if frame << PAGE_SHIFT < stop and (frame << PAGE_SHIFT) + PAGE_SIZE > address
        ]

    def _settle(self, frame: int) -> None:
        if not self._weak.get(frame):
            self._weak.pop(frame, None)
            if frame not in self._poisoned:
                self.marked.discard(frame)
