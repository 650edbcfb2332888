"""Taps for the driver of a Python program, in its own process."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final, final

from firmware.inject import Site
from hostdriver.core.questions import Answer, Control
from hostdriver.inject.faces import FaceTap
from hostdriver.inject.lost import without_descriptors
from hostdriver.inject.programs import QUESTION_POINTS
from hostdriver.inject.system import RECEIVE, SEND, error_of, place_of, point_of, switch
from hostdriver.runtime.requests import not_sent

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from firmware.inject import Injector, Tap
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.runtime.interrupts import Interrupts
    from hostdriver.runtime.runner import Answering, Runner

POINTS: Final = QUESTION_POINTS - {"peer.inside"}
"""What the driver in a program's own process asks of its system."""


def runner_taps(runner: Runner, injector: Injector, process: str = "") -> tuple[Tap, ...]:
    """Return the taps of the driver of this process, which is called `process`."""
    lock = threading.RLock()
    return (FaceTap(injector, process, lock), QuestionTap(runner, injector, process, lock))


@final
class QuestionTap:
    """Answers the questions of calls, or lets the system calls fail that answer them."""

    points = POINTS

    def __init__(
        self,
        runner: Runner,
        injector: Injector,
        process: str,
        lock: AbstractContextManager[object],
    ) -> None:
        """Come in between a runner's questions; `lock` is held while the injector is asked."""
        self._runner = runner
        self._injector = injector
        self._process = process
        self._lock = lock
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
        address, size = place_of(question)
        site = Site(
            pid=os.getpid(),
            process=self._process,
            address=address,
            size=size,
            thread=threading.get_native_id(),
        )
        with self._lock:
            hit = self._injector.ask(point, site)
        return None if hit is None else error_of(hit)
