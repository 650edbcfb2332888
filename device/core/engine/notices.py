"""What was stored in segments and fence pools and must be told to who sleeps on it."""

from __future__ import annotations

from typing import final

from device.core.effects import Effect, Notify, WakeSlot


@final
class Notices:
    """Notices of one call of `Scheduler.work`, one for each word.

    Owner: the scheduler. Invariant: the stores that a notice tells of were made before it was
    added. Empty after `drain`; nothing survives a reset.
    """

    __slots__ = ("_by_word", "_told")

    def __init__(self) -> None:
        self._by_word: dict[tuple[int, int], Notify | WakeSlot] = {}
        self._told: list[Effect] = []

    def tell(self, completion: Notify, room: Notify) -> None:
        """Add the notices of a ring, whose words are stored once in a call, by its turn."""
        self._told += (completion, room)

    def add(self, notice: Notify | WakeSlot) -> None:
        """Add a notice; with an earlier one that was added for the same word it becomes one.

        The merged notice begins at the old index of the first and ends at the new one of the last.
        """
        if isinstance(notice, WakeSlot):
            self._by_word[id(notice.file), notice.word] = notice
            return
        key = (notice.client_id, notice.word)
        before = self._by_word.get(key)
        if isinstance(before, Notify):
            notice = Notify(
                notice.client_id,
                notice.word,
                notice.sleepers,
                notice.event,
                before.old,
                notice.new,
                before.force or notice.force,
            )
        self._by_word[key] = notice

    def drain(self) -> list[Effect]:
        """Return all notices and forget them: fences and faults first, then the rings."""
        told, self._told = self._told, []
        if not self._by_word:
            return told
        notices = [*self._by_word.values(), *told]
        self._by_word.clear()
        return notices
