"""What has to wait until engines are done with it: replies, memory, ring areas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Acknowledgement:
    """The engines' word that they use something no more.

    Owner: whoever waits, and `Acknowledgements` until it has passed. Once passed it stays so.
    """

    __slots__ = ("_release", "passed")

    def __init__(self, *, passed: bool, release: Callable[[], None] | None = None) -> None:
        self.passed = passed
        """Whether the engines are done; what had to wait was then released."""
        self._release = release

    def settle(self) -> None:
        """Note that the engines are done and release what waited."""
        self.passed = True
        release, self._release = self._release, None
        if release is not None:
            release()


AT_ONCE: Final = Acknowledgement(passed=True)
"""No engine used it when the question was asked."""


@final
class Acknowledgements:
    """Questions to the engines that are not answered yet, oldest first.

    Owner: the device, which calls `poll` when a chunk is done or the scheduler has worked.
    Invariant: no entry has passed. They survive a device reset: a chunk in flight still moves bytes
    then, and the frames it uses are free only when it is done.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], bool], Acknowledgement]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(
        self, idle: Callable[[], bool], release: Callable[[], None] | None = None
    ) -> Acknowledgement:
        """Release at once when engines are idle there, else when `poll` finds them so."""
        if idle():
            if release is not None:
                release()
            return AT_ONCE
        acknowledgement = Acknowledgement(passed=False, release=release)
        self._waiting.append((idle, acknowledgement))
        return acknowledgement

    def poll(self) -> bool:
        """Settle what has passed meanwhile; return whether anything did."""
        waiting, self._waiting = self._waiting, []
        still: list[tuple[Callable[[], bool], Acknowledgement]] = []
        for idle, acknowledgement in waiting:
            if idle():
                acknowledgement.settle()
            else:
                still.append((idle, acknowledgement))
        # What `settle` released may have asked new questions.
        self._waiting = still + self._waiting
        return len(still) < len(waiting)
