"""The published counts of this process's sleepers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, final

from firmware.link.errors import InvariantError
from firmware.link.linux import futex_add

if TYPE_CHECKING:
    from firmware.link.words import Words


class SleeperCounts(Protocol):
    """How the sleepers of words are counted."""

    def add(self, counter: int, change: int) -> None:
        """Change the count of sleepers at an offset by one up or down, for all to see."""
        ...

    def total(self) -> int:
        """Return how many threads of this process sleep."""
        ...

    def check(self) -> None:
        """Raise InvariantError when what is published cannot be."""
        ...


@final
class Sleepers:
    """Counts the sleepers of this process, word by word.

    The counts are kept here, under a lock, and only published, which costs no system call.
    Invariant: all sleepers of one counter are threads of one process; for words that several
    processes sleep on there is `SharedSleepers`.
    """

    __slots__ = ("_counts", "_lock", "_words")

    def __init__(self, words: Words) -> None:
        self._words = words
        self._counts: dict[int, int] = {}
        self._lock = threading.Lock()

    def add(self, counter: int, change: int) -> None:
        """Change the count of sleepers at an offset by one up or down and publish it."""
        with self._lock:
            count = self._counts.get(counter, 0) + change
            if count:
                self._counts[counter] = count
            else:
                del self._counts[counter]
            self._words.u32[counter >> 2] = count

    def total(self) -> int:
        """Return how many threads sleep."""
        with self._lock:
            return sum(self._counts.values())

    def check(self) -> None:
        """Raise InvariantError unless what is published is what is counted."""
        with self._lock:
            for counter, count in self._counts.items():
                published = self._words.u32[counter >> 2]
                if published != count:
                    raise InvariantError(
                        f"counter at {counter:#x} holds {published}, {count} threads sleep"
                    )


@final
class SharedSleepers:
    """Counts sleepers of several processes together, word by word.

    Owner: whoever waits on the shared memory. Invariant: each counter is the number of threads that
    sleep, of all processes, and of those that were killed asleep: a count that is too high costs a
    needless wake-up, one that is too low would lose one, so that both sides add atomically and
    nobody ever stores.
    """

    __slots__ = ("_address", "_lock", "_total")

    def __init__(self, address: int) -> None:
        """Count in the memory that this process has at `address`."""
        self._address = address
        self._lock = threading.Lock()
        self._total = 0

    def add(self, counter: int, change: int) -> None:
        """Add to the count at an offset."""
        futex_add(self._address + counter, change)
        with self._lock:
            self._total += change

    def total(self) -> int:
        """Return how many threads of this process sleep."""
        with self._lock:
            return self._total

    def check(self) -> None:
        """Raise InvariantError when fewer than no threads sleep."""
        if self.total() < 0:
            raise InvariantError(f"{self.total()} threads sleep")
