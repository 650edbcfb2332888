"""Operations that are carried out beside others: in threads, or in the one thread there is."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Protocol, final

from hostdriver.core.questions import AwaitRoom, CallHost, Pause, WaitSlot
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.core.questions import AnyQuestion, Operation


class Beside(Protocol):
    """How operations are carried out beside the one that begins them."""

    @property
    def is_waiting(self) -> bool:
        """Whether `advance` may have something to do."""
        ...

    def begin(
        self, operation: Operation[None], drive: Callable[[Operation[None]], None]
    ) -> str | None:
        """Begin an operation; `drive` carries one out to its end. Return why it cannot begin."""
        ...

    def advance(self, answer: Callable[[AnyQuestion], object]) -> None:
        """Go on with what need not wait; to be called before anything waits."""
        ...

    def end(self) -> None:
        """Let nothing go on: the driver is closing, its memory is still there."""
        ...


@final
class Threads:
    """A thread for each operation, which ends with it, or with the driver."""

    __slots__ = ()
    is_waiting = False

    def begin(
        self, operation: Operation[None], drive: Callable[[Operation[None]], None]
    ) -> str | None:
        """Begin a thread; None, or why the system gives none."""

        def carry_out() -> None:
            # What the operation raises, it has noted itself.
            with contextlib.suppress(ZeError):
                drive(operation)

        try:
            threading.Thread(target=carry_out, name="emuzero", daemon=True).start()
        except RuntimeError as error:
            operation.close()
            return str(error)
        return None

    def advance(self, answer: Callable[[AnyQuestion], object]) -> None:
        """Do nothing: threads go on by themselves."""

    def end(self) -> None:
        """Do nothing: threads leave by themselves when their sessions hang up."""


@final
class Alone:
    """No threads: whoever asks a question lets the operations beside go on as far as they can.

    Owner: the runner of a program that shares its thread with the devices. Invariant: each
    operation stands at a question that waits.
    """

    __slots__ = ("_answer", "_has_room", "_is_advancing", "_waiting")

    def __init__(self, has_room: Callable[[AwaitRoom], bool]) -> None:
        """Ask `has_room` whether a wait for room would end at once."""
        self._has_room = has_room
        self._answer: Callable[[AnyQuestion], object] | None = None
        self._waiting: list[tuple[Operation[None], AnyQuestion | None]] = []
        self._is_advancing = False

    @property
    def is_waiting(self) -> bool:
        """Whether an operation stands somewhere."""
        return bool(self._waiting)

    def begin(
        self,
        operation: Operation[None],
        drive: Callable[[Operation[None]], None],  # noqa: ARG002 - of the protocol
    ) -> str | None:
        """Note an operation."""
        self._waiting.append((operation, None))
        return None

    def advance(self, answer: Callable[[AnyQuestion], object]) -> None:
        """Go on with every operation until each waits for something that is not there yet."""
        self._answer = answer
        self.carry_on()

    def carry_on(self) -> bool:
        """Go on once more, while somebody waits; return whether a function was called."""
        if self._is_advancing or not self._waiting or self._answer is None:
            return False
        self._is_advancing = True
        has_called = False
        try:
            while self._go_on_with_all(self._answer):
                # What waited for that may go on now.
                has_called = True
        finally:
            self._is_advancing = False
        return has_called

    def end(self) -> None:
        """Interrupt every operation where it stands."""
        waiting, self._waiting = self._waiting, []
        for operation, _ in waiting:
            operation.close()

    def _go_on_with_all(self, answer: Callable[[AnyQuestion], object]) -> bool:
        waiting, self._waiting = self._waiting, []
        has_called = False
        for operation, question in waiting:
            has_called |= self._go_on(operation, question, answer)
        return has_called

    def _go_on(
        self,
        operation: Operation[None],
        question: AnyQuestion | None,
        answer: Callable[[AnyQuestion], object],
    ) -> bool:
        """Go on with an operation, at a question; return whether it called a function."""
        reply: object = None
        has_called = False
        is_first = True
        while self._is_over(question, is_first=is_first):
            try:
                if question is not None and not isinstance(question, AwaitRoom | Pause):
                    reply = answer(question)
                has_called |= isinstance(question, CallHost)
                question = operation.send(reply)
            except StopIteration:
                return has_called
            except ZeError as error:
                with contextlib.suppress(ZeError, StopIteration):
                    operation.throw(error)
                return has_called
            reply, is_first = None, False
        self._waiting.append((operation, question))
        return has_called

    def _is_over(self, question: AnyQuestion | None, *, is_first: bool) -> bool:
        """Return whether a question can be answered without waiting."""
        match question:
            case AwaitRoom():
                return self._has_room(question)
            case WaitSlot():
                found = question.memory.load(question.slot)
                return found.value >= question.value or found.status != 0
            case Pause():
                return is_first
            case _:
                return True
