"""The doorbell words of one client: which rings may have something new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.errors import InvariantError
from firmware.abi.rings import CONTROL_QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import WorkQueue
    from firmware.abi.segment import Superblock
    from firmware.link.words import Words

_WORD_SHIFT: Final = 5
_number: Final = int.from_bytes


@final
class Doorbells:
    """Watches the doorbell page and knows which word belongs to which queue.

    Owner: the client. A doorbell is a hint: what counts is that it changed. Invariant: a queue has
    one word, no word has two queues, and word 0 is the control ring's.
    """

    __slots__ = ("_count", "_first", "_page", "_queues", "_u32", "changes", "seen", "view")

    def __init__(self, words: Words, layout: Superblock) -> None:
        self._first = layout.doorbells_offset >> 2
        self._count = layout.doorbell_count
        self._u32 = words.u32
        start = layout.doorbells_offset
        self._page = words.u8[start : start + 4 * layout.doorbell_count]
        self._queues: dict[int, WorkQueue] = {}
        self.view = self._page[:4]
        """The words up to the last one that a queue has. Hot paths compare `view.tobytes()` with
        `seen` themselves."""
        self.seen = bytes(4)
        """What `view` held when `take` looked last."""
        self.changes = 0
        """Doorbell words seen to change."""

    def free_index(self) -> int | None:
        """Return the lowest word that no queue has, or None."""
        for index in range(CONTROL_QUEUE + 1, self._count):
            if index not in self._queues:
                return index
        return None

    def join(self, index: int, queue: WorkQueue) -> None:
        """Give a word to a queue."""
        self._queues[index] = queue
        self._fit()
        self._store_zero(index)

    def leave(self, queue: WorkQueue) -> None:
        """Take a queue's word from it."""
        del self._queues[self._index(queue)]
        self._fit()

    def clear(self, queue: WorkQueue) -> None:
        """Begin again at zero with the queue's ring, or the next tail might equal the last one."""
        self._store_zero(self._index(queue))

    def take(self, now: bytes, kick: Callable[[WorkQueue], None]) -> bool:
        """Kick the queues whose words changed; return whether the control ring's did.

        `now` is what `view` held a moment ago.
        """
        seen, self.seen = self.seen, now
        # One difference of all words, so that only those that changed cost more: 0.4 us in all
        # for one of 32 queues, where looking at each word took 4 us.
        changed = _number(now, "little") ^ _number(seen, "little")
        control = False
        while changed:
            index = (changed.bit_length() - 1) >> _WORD_SHIFT
            changed &= (1 << (index << _WORD_SHIFT)) - 1
            self.changes += 1
            queue = self._queues.get(index)
            if queue is not None:
                kick(queue)
            elif index == CONTROL_QUEUE:
                control = True
        return control

    def kick_all(self, kick: Callable[[WorkQueue], None]) -> bool:
        """Kick every queue with a new tail: the client rang its bell, whatever the words say.

        Returns:
            True: the control ring is to be looked at.
        """
        self.take(self.view.tobytes(), kick)
        # A client may have a thousand queues, and each turn that finds nothing costs 2 us.
        for queue in self._queues.values():
            if queue.is_rung:
                kick(queue)
        return True

    def check(self, queues: list[WorkQueue]) -> None:
        """Raise InvariantError unless exactly these queues have words."""
        own = sorted(queue.queue_id for queue in self._queues.values())
        if own != sorted(queue.queue_id for queue in queues):
            raise InvariantError(f"doorbells of queues {own}, not of the client's queues")

    def _index(self, queue: WorkQueue) -> int:
        return next(index for index, other in self._queues.items() if other is queue)

    def _fit(self) -> None:
        """Let `view` reach as far as queues have words: few queues are looked at faster."""
        end = (max(self._queues, default=CONTROL_QUEUE) + 1) << 2
        self.view = self._page[:end]
        self.seen = self.seen[:end].ljust(end, b"\0")

    def _store_zero(self, index: int) -> None:
        """Store zero; the host does not store there: it waits for the reply."""
        self._u32[self._first + index] = 0
        at = index << 2
        self.seen = self.seen[:at] + bytes(4) + self.seen[at + 4 :]
