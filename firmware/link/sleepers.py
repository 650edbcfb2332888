"""The published counts of this process's sleepers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, final

from firmware.link.errors import InvariantError

if TYPE_CHECKING:
    from firmware.link.words import Words


@final
class Sleepers:
    """Counts the sleepers of this process, word by word.

    Python cannot add to shared memory atomically, so the counts are kept here, under a lock, and
    only published. Invariant: all sleepers of one counter are threads of one process; fence slots
    that several processes sleep on are counted by the C library.
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
