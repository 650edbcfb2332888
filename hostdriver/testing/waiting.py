"""Waiting without sleeping: whoever waits lets the devices work and time pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, final

from firmware.link.waiting import WordWait, outcome

if TYPE_CHECKING:
    from firmware.link.peer import Liveness
    from firmware.link.words import Words

NANOSECONDS: Final = 1_000_000_000


class Stuck(AssertionError):
    """A wait without a time limit for what nothing can bring about any more."""


class Stepped(Protocol):
    """Devices that work when they are told to, and their clock."""

    @property
    def now(self) -> int:
        """Device time in nanoseconds."""
        ...

    def run(self) -> bool:
        """Let the devices work until they come to rest; return whether one did anything."""
        ...

    def carry_on(self) -> bool:
        """Let programs do what their work asks of them; return whether one did anything."""
        ...

    def glance(self) -> None:
        """Let a moment pass, as a look at a word takes one; a program that polls gets somewhere."""
        ...

    def pass_time(self, until: int | None) -> bool:
        """Move the clock to when a device wants to work again, or to `until`.

        Returns:
            Whether it moved; False when there is neither.
        """
        ...


@final
class StepWaiter:
    """Waits on the words of one segment (see `firmware.link.waiting.Waiter`).

    Owner: a session of a pair. While it waits, devices work, and when they are at rest the clock
    moves to whatever comes next; so a wait takes no time but that of the work.
    """

    __slots__ = ("_liveness", "_words", "_world")

    def __init__(self, words: Words, liveness: Liveness, world: Stepped) -> None:
        self._words = words
        self._liveness = liveness
        self._world = world

    def wait(self, wait: WordWait, timeout_seconds: float | None = None) -> bool:
        """Wait (see `Waiter`).

        Raises:
            TimeoutError: the time is up.
            LinkLost: the device ended the session.
            Stuck: there is no time limit, and nothing that could raise the word.
        """
        if timeout_seconds is not None and timeout_seconds <= 0:
            return self._look(wait)
        world = self._world
        limit = None if timeout_seconds is None else world.now + int(timeout_seconds * NANOSECONDS)
        while (ended := self._outcome(wait)) is None:
            if world.run() or world.carry_on():
                continue
            self._liveness.check()
            if limit is not None and world.now >= limit:
                raise TimeoutError(self._text(wait))
            if not world.pass_time(limit):
                raise Stuck(f"{self._text(wait)}, and no device has anything to do")
        return ended

    def spin(self, wait: WordWait) -> bool:
        """Return False (see `Waiter`): nobody changes the word meanwhile."""
        del wait
        return False

    def _look(self, wait: WordWait) -> bool:
        ended = self._outcome(wait)
        if ended is None:
            self._world.glance()
            ended = self._outcome(wait)
        if ended is None:
            self._liveness.check()
            raise TimeoutError(self._text(wait))
        return ended

    def _outcome(self, wait: WordWait) -> bool | None:
        return outcome(self._words, wait, self._load(wait))

    def _load(self, wait: WordWait) -> int:
        words = self._words
        return words.load64(wait.word) if wait.wide else words.load32(wait.word)

    def _text(self, wait: WordWait) -> str:
        return (
            f"the word at {wait.word:#x} holds {self._load(wait):#x},"
            f" {wait.target:#x} is waited for"
        )
