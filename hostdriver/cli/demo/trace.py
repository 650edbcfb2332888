"""What one process does, seen from inside: its API calls, and what they put on the rings."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from firmware.abi.describe import describe, describe_work
from hostdriver.cli.demo.events import Call, Command
from hostdriver.cli.records import short_of
from hostdriver.core.questions import Answer, Control, Submit
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from firmware.abi.describe import Description
    from hostdriver.cli.demo.events import Event
    from hostdriver.core.questions import AnyQuestion

MOST_COMMANDS: Final = 64
"""Commands that are told of one call."""


@final
@dataclass(slots=True)
class Outcome:
    """What a call came to, to be filled in by whoever makes it."""

    result: str = ""


@final
class Trace:
    """Tells of every call as it returns.

    Owner: one process of the demo, with one thread. `observe` is the observer of its runner.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._commands: list[Command] = []
        self._count = 0

    @contextlib.contextmanager
    def call(self, function: str, **arguments: str) -> Generator[Outcome]:
        """Tell of the call that is made inside; also when it fails."""
        self._commands, self._count = [], 0
        outcome = Outcome(ZeResult.ZE_RESULT_SUCCESS.name)
        try:
            yield outcome
        except ZeError as error:
            outcome.result = error.result.name
            raise
        finally:
            more = self._count - len(self._commands)
            self._tell(Call(function, arguments, outcome.result, self._commands, more))

    def observe(self, question: AnyQuestion, answer: object) -> None:
        """Note what a question put on a ring, and what came back."""
        match question:
            case Control() if isinstance(answer, Answer):
                self._note(
                    "control ring", short_of(describe(question.command)), describe(answer.reply)
                )
            case Submit():
                for command in question.commands:
                    self._note(f"copy ring {question.queue}", short_of(describe_work(command)))
            case _:
                pass

    def _note(self, ring: str, text: str, reply: Description | None = None) -> None:
        self._count += 1
        if len(self._commands) < MOST_COMMANDS:
            answered = "" if reply is None else short_of(reply)
            self._commands.append(Command(ring, text, answered))
