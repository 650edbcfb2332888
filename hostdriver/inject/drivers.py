"""Taps for the driver of a Python program, in its own process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, final

from hostdriver.core.questions import Answer, Beside, Clock, Control, OnThread, Pause
from hostdriver.inject.calls import INSIDE, Calls, call_taps, name_of_call
from hostdriver.inject.lost import without_descriptors
from hostdriver.inject.programs import QUESTION_POINTS
from hostdriver.inject.system import RECEIVE, SEND, error_of, place_of, point_of, switch
from hostdriver.runtime.requests import not_sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.inject import Hit, Injector, Tap
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.runtime.interrupts import Interrupts
    from hostdriver.runtime.runner import Answering, Runner

_OWN: Final = (Pause, Clock, Beside, OnThread)
"""What concerns whoever runs the call, and neither system nor device."""


def runner_taps(
    runner: Runner, injector: Injector, halt: Callable[[Hit, float], None], process: str = ""
) -> tuple[Tap, ...]:
    """Return the taps of one driver of this process, which is called `process`.

    `halt` has this process stopped, and returns when it goes on.
    """
    calls = Calls(injector, process, threading.RLock(), lambda other: other is runner, halt)
    return (*call_taps(calls, QUESTION_POINTS), QuestionTap(runner, calls))


@final
class QuestionTap:
    """Answers the questions of calls, or lets the system calls fail that answer them."""

    points = QUESTION_POINTS

    def __init__(self, runner: Runner, calls: Calls) -> None:
        """Come in between a runner's questions, which are those of some calls."""
        self._runner = runner
        self._calls = calls
        self._before: Answering | None = None

    def install(self) -> None:
        """Answer in the place of the runner."""
        self._before, self._runner.answering = self._runner.answering, self._answer
        switch.install()

    def remove(self) -> None:
        """Let the runner answer again."""
        if self._before is not None:
            self._runner.answering, self._before = self._before, None
        switch.remove()

    def _answer(self, runner: Runner, question: AnyQuestion, interrupts: Interrupts) -> object:
        before = self._before or type(runner).answer
        if name_of_call() and not isinstance(question, _OWN):
            self._calls.act_at(INSIDE, self._calls.site(*place_of(question)))
        if isinstance(question, Control):
            return self._exchange(before, question, interrupts)
        point = point_of(question)
        error = self._ask(point, question) if point else None
        if error is None:
            return before(runner, question, interrupts)
        with switch.system.failing(point, error):
            return before(runner, question, interrupts)

    def _exchange(self, before: Answering, question: Control, interrupts: Interrupts) -> object:
        """Send a command; its descriptors may not leave, those of the reply may not arrive."""
        if question.descriptors and (error := self._ask(SEND, question)) is not None:
            raise not_sent(question.descriptors, error)
        answer = before(self._runner, question, interrupts)
        if isinstance(answer, Answer) and answer.descriptors:
            error = self._ask(RECEIVE, question)
            if error is not None:
                return without_descriptors(answer, error)
        return answer

    def _ask(self, point: str, question: AnyQuestion) -> OSError | None:
        """Return the error with which a system call is to fail; None: it is to be made."""
        hit = self._calls.ask(point, self._calls.site(*place_of(question)))
        return None if hit is None else error_of(hit)
