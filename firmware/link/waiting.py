"""Waiting until a word of shared memory reaches a value.

`FutexWaiter` waits for another process: it spins for a moment, then sleeps on the word.
`StepWaiter` waits in the thread that runs the device too: it steps it until the word is there.

How spinning adapts: a spin that succeeds costs less than sleeping and waking (2 against 140 us),
one that fails costs its whole length, on a busy machine to the very process that is waited for. So
each spin that fails doubles the number of waits that sleep at once before the next one spins, up to
64; one that succeeds sets it to zero. That a sleep was short says nothing: between two processes on
one processor each is short, and no spin succeeds.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from firmware.abi.rings import U32_MASK
from firmware.link.errors import Stalled
from firmware.link.linux import fence, futex_wait
from firmware.link.sleepers import Sleepers

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.link.segment import Segment
    from firmware.link.sleepers import SleeperCounts
    from firmware.link.words import Words

SPIN_SECONDS: Final = 150e-6
"""Longest spin; about what it costs when both sides of a command have to be woken (140 us), so that
one in vain costs no more than the sleep that it could have spared. Most calls of the driver are
answered within that time, and followed by the next one."""
NAP_SECONDS: Final = 0.1
"""Longest sleep without a look at the device: every wait ends this soon after any death."""
MOST_SLEEPS_BETWEEN_SPINS: Final = 64
_HALF: Final = 1 << 31


class WordWait(NamedTuple):
    """What is waited for; offsets are bytes in the segment."""

    word: int
    """The word: a u64 that reaches `target`, or (not `wide`) a free-running u32 index."""
    target: int
    sleepers: int
    """The u32 that counts sleepers on `word`."""
    wide: bool = True
    status: int = 0
    """A u32 that ends the wait when it is not zero (a `Status`); 0 for none."""


@dataclass(frozen=True, slots=True)
class WaitStatistics:
    """How the waits of one waiter went; spins and sleeps are not exact with many threads."""

    spins: int
    """Waits that spun first."""
    sleeps: int
    """Waits that slept."""
    sleeps_ahead: int
    """Waits that will sleep at once before the next one spins."""
    sleepers: int
    """Threads asleep now."""


class Waiter(Protocol):
    """How one end of a link waits."""

    def wait(self, wait: WordWait, timeout_seconds: float | None = None) -> bool:
        """Return True when the word has reached its target, False when the status ended the wait.

        Args:
            wait: what to wait for.
            timeout_seconds: longest time; 0 only looks, None waits for ever.

        Raises:
            TimeoutError: the time is up.
            LinkLost: the peer is gone.
            Stalled: nothing can raise the word any more (in process only).
        """
        ...

    def spin(self, wait: WordWait) -> bool:
        """Return whether the word reaches its target while it is looked at for a moment.

        It never sleeps, and does not look at all when spinning does not pay now: `wait` does.
        """
        ...


def outcome(words: Words, wait: WordWait, value: int) -> bool | None:
    """Return how a wait ends whose word holds `value`: reached, status, or None for not yet."""
    if wait.wide:
        if value >= wait.target:
            return True
    elif (value - wait.target) & U32_MASK < _HALF:
        return True
    if wait.status and words.u32[wait.status >> 2]:
        return False
    return None


def _load(words: Words, wait: WordWait) -> int:
    return words.u64[wait.word >> 3] if wait.wide else words.u32[wait.word >> 2]


@final
class FutexWaiter:
    """Waits for another process; threads may share it.

    Owner: a driver's session. Invariant: the count of sleepers of every word is exact whenever no
    thread is inside `wait`.
    """

    __slots__ = (
        "_address",
        "_alive",
        "_fence",
        "_futex_wait",
        "_may_spin",
        "_sleep_next",
        "_sleepers",
        "_sleeps",
        "_sleeps_after_failure",
        "_spins",
        "_words",
    )

    def __init__(
        self,
        segment: Segment,
        alive: Callable[[], None],
        may_spin: Callable[[], bool] | None = None,
        *,
        sleepers: SleeperCounts | None = None,
        sleep: Callable[[int, int, float], bool] = futex_wait,
        fence: Callable[[], None] = fence,
    ) -> None:
        """Wait on the words of `segment`.

        Args:
            segment: the segment.
            alive: called after each nap; raises LinkLost when waiting has become useless.
            may_spin: whether spinning is worth while now; None for never.
            sleepers: how sleepers are counted; None where all are threads of one process.
            sleep: what tests replace, as they do `fence`.
            fence: see `sleep`.
        """
        self._words = segment.words
        self._address = segment.address
        self._alive = alive
        self._futex_wait = sleep
        self._fence = fence
        self._may_spin = may_spin if has_two_processors() else None
        self._sleepers = Sleepers(segment.words) if sleepers is None else sleepers
        self._sleeps_after_failure = 0
        self._sleep_next = 0
        self._spins = 0
        self._sleeps = 0

    def wait(self, wait: WordWait, timeout_seconds: float | None = None) -> bool:
        """Wait (see `Waiter`)."""
        words = self._words
        ended = outcome(words, wait, _load(words, wait))
        if ended is not None:
            return ended
        if timeout_seconds is not None and timeout_seconds <= 0:
            raise _too_late(wait, _load(words, wait))
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        if self._spins_now():
            ended = self._spin(wait)
            if ended is not None:
                return ended
        return self._sleep(wait, deadline)

    def spin(self, wait: WordWait) -> bool:
        """Spin (see `Waiter`); a spin that is left out is not counted: `wait` comes after it."""
        if self._sleep_next or self._may_spin is None or not self._may_spin():
            return False
        return self._spin(wait) is True

    def _spins_now(self) -> bool:
        """Return whether this wait spins before it sleeps."""
        if self._sleep_next:
            self._sleep_next -= 1
            return False
        return self._may_spin is not None and self._may_spin()

    def _spin(self, wait: WordWait) -> bool | None:
        """Look at the word for `SPIN_SECONDS`; learn from the outcome."""
        self._spins += 1
        words = self._words
        array, index = (words.u64, wait.word >> 3) if wait.wide else (words.u32, wait.word >> 2)
        status = wait.status >> 2
        found = -1  # no word holds it: the first look asks what the value means
        now = time.perf_counter
        end = now() + SPIN_SECONDS
        while now() < end:
            value = array[index]
            if value == found and not (status and words.u32[status]):
                continue
            found = value
            ended = outcome(words, wait, value)
            if ended is not None:
                self._sleeps_after_failure = 0
                return ended
        longer = min(MOST_SLEEPS_BETWEEN_SPINS, max(1, 2 * self._sleeps_after_failure))
        self._sleeps_after_failure = self._sleep_next = longer
        return None

    def _sleep(self, wait: WordWait, deadline: float | None) -> bool:
        """Sleep on the word until it moves, again and again."""
        self._sleeps += 1
        words = self._words
        address = self._address + wait.word
        # 1. Say that we sleep, before the word is looked at: whoever raises the word later sees it.
        self._sleepers.add(wait.sleepers, 1)
        try:
            # 2. The count must be visible before the word is loaded.
            self._fence()
            while True:
                # 3. Load once: what is found wanting here is what the kernel compares with. Loaded
                #    a second time for the kernel, it could be the value that is waited for.
                value = _load(words, wait)
                ended = outcome(words, wait, value)
                if ended is not None:
                    return ended
                nap = NAP_SECONDS
                if deadline is not None:
                    nap = min(nap, deadline - time.monotonic())
                    if nap <= 0:
                        raise _too_late(wait, value)
                # 4. Sleep only if the low half still is what was found.
                if not self._futex_wait(address, value & U32_MASK, nap):
                    self._alive()
        finally:
            self._sleepers.add(wait.sleepers, -1)

    def statistics(self) -> WaitStatistics:
        """Return how the waits so far went."""
        return WaitStatistics(self._spins, self._sleeps, self._sleep_next, self._sleepers.total())

    def check(self) -> None:
        """Raise InvariantError unless every published count is that of this process's threads."""
        self._sleepers.check()


@final
class StepWaiter:
    """Waits in the thread that runs the device too, by stepping it.

    Owner: a driver's session on the in-process link.
    """

    __slots__ = ("_step", "_words")

    def __init__(self, words: Words, step: Callable[[], bool]) -> None:
        """Wait on `words`; `step` returns False when it could do nothing."""
        self._words = words
        self._step = step

    def wait(self, wait: WordWait, timeout_seconds: float | None = None) -> bool:
        """Wait (see `Waiter`)."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            value = _load(self._words, wait)
            ended = outcome(self._words, wait, value)
            if ended is not None:
                return ended
            if deadline is not None and time.monotonic() >= deadline:
                raise _too_late(wait, value)
            if not self._step():
                raise Stalled(
                    f"word at {wait.word:#x} holds {value:#x}, {wait.target:#x} is waited for, and"
                    " the device has nothing to do"
                )

    def spin(self, wait: WordWait) -> bool:
        """Return False (see `Waiter`): nobody changes the word meanwhile."""
        del wait
        return False


def has_two_processors() -> bool:
    """Return whether another process can run while this one spins."""
    return len(os.sched_getaffinity(0)) > 1


def _too_late(wait: WordWait, value: int) -> TimeoutError:
    return TimeoutError(
        f"word at {wait.word:#x} holds {value:#x}, expected {wait.target:#x} by now"
    )
