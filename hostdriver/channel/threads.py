"""Threads of a program that its driver asked for, until they make their one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.channel.items import MalformedMessageError, Reader
from hostdriver.channel.questions import StartThread
from hostdriver.channel.running import Running, without_outputs
from hostdriver.channel.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.channel.questions import RemoteQuestion
    from hostdriver.channel.slots import Incoming
    from hostdriver.core.questions import OnThread


@final
class Threads:
    """Operations for threads that the program was asked to begin.

    Owner: a program's session. Invariant: each is here until its thread calls, or cannot be had.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting = Waits()

    def __iter__(self) -> Iterator[Running]:
        return iter(self._waiting)

    def want(self, question: OnThread) -> StartThread:
        """Keep an operation until its thread calls; return what asks for the thread.

        Raises:
            ZeError: too many wait.
        """
        return StartThread(
            self._waiting.put(Running(-1, "a thread", without_outputs(question.make)))
        )

    def take(self, message: Incoming) -> Running:
        """Return the operation of a thread that makes its call.

        Raises:
            MalformedMessageError: nobody asked for it.
        """
        number = Reader(message.data).number()
        found = self._waiting.take(number)
        if found is None:
            raise MalformedMessageError(f"a thread {number}, for which nobody asked")
        found.slot = message.slot
        return found

    def answered(self, question: RemoteQuestion, answer: object) -> None:
        """Forget the operation of a thread that cannot be had, if that is what was answered."""
        if not isinstance(question, StartThread) or answer is None:
            return
        if (found := self._waiting.take(question.number)) is not None:
            found.operation.close()
