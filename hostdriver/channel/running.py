"""What a session carries out: calls of the program, and operations beside them."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hostdriver.channel.items import MalformedMessageError
from hostdriver.core.failures import device_lost, unknown
from hostdriver.core.questions import CloseDescriptor
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.questions import RemoteQuestion
    from hostdriver.core.questions import AnyQuestion, Beside, Operation, Submit
    from hostdriver.core.state import DriverState

_LOG: Final = logging.getLogger(__name__)
_MOST_TEXT: Final = 1000
"""Bytes of an error description."""
_MOST_LAST_QUESTIONS: Final = 1000
"""Questions of an operation that ends; only a broken one has so many."""


@final
@dataclass(slots=True, eq=False)
class Running:
    """A call, or an operation beside calls, that has not ended."""

    slot: int
    """Where its reply goes; below zero for an operation beside."""
    name: str
    operation: Operation[bytes]
    asked: RemoteQuestion | None = None
    """The question that the program's thread is to answer."""
    call: int = 0
    """Its number in a trace; of an operation beside calls, that of the call which began it."""
    thread: int = 0
    """The program's thread, where calls are marked."""
    arguments: Arguments | None = None
    """What it was called with."""


class Ended(NamedTuple):
    """How a call ended."""

    error: ZeError | None
    data: bytes = b""
    """Its outputs."""


def step(running: Running, answer: object) -> AnyQuestion | Ended:
    """Carry a call on; return what it asks next, or how it ended, a bug of ours included."""
    try:
        if isinstance(answer, Exception):
            return running.operation.throw(answer)
        return running.operation.send(answer)
    except StopIteration as end:
        return Ended(None, end.value)
    except ZeError as error:
        return Ended(error)
    except MalformedMessageError as error:
        return Ended(nonsense(error))
    except Exception as bug:  # noqa: BLE001 - the program is told, and goes on
        _LOG.exception("the driver failed in %s", running.name)
        return Ended(unknown(f"the driver failed in {running.name}: {bug!r}"))


def beside(slot: int, question: Beside, of: Running) -> Running:
    """Return an operation that is to be carried out beside calls, at its begin."""
    operation = without_outputs(question.make)
    return Running(slot, "work beside", operation, call=of.call, thread=of.thread)


def submit(
    device: ProgramDevice, question: Submit, go_on: Callable[[object], None]
) -> tuple[bool, object]:
    """Submit commands: answered at once when there is room, else `go_on` gets the answer."""
    found: list[object] = []
    is_inside = True

    def submitted(answer: object) -> None:
        if is_inside:
            found.append(answer)
        else:
            go_on(answer)

    device.submit(question.queue, question.commands, submitted)
    is_inside = False
    return (True, found[0]) if found else (False, None)


def outcome_of(state: DriverState | None, error: ZeError | None, what: str) -> tuple[ZeResult, str]:
    """Return result and description of a call that has ended, and forget what it noted.

    The log tells them where anybody wants to know; `what` says whose call it was.
    """
    result, text = ZeResult.ZE_RESULT_SUCCESS, ""
    if error is not None:
        result, text = error.result, error.description
    elif state is not None:
        text = state.note
    if state is not None:
        state.note = ""
    if _LOG.isEnabledFor(logging.DEBUG):
        _LOG.debug("%s = %s %s", what, result.name, text)
    return result, text.encode()[:_MOST_TEXT].decode(errors="ignore")


def abandon(operation: Operation[bytes]) -> None:
    """End an operation that nobody can answer any more.

    It closes the descriptors that it holds. Whatever else it asks fails: the devices take back what
    the program had.

    Raises:
        RuntimeError: it does not end.
    """
    lost: Final = device_lost("the program's session has ended")
    try:
        question = operation.throw(lost)
        for _ in range(_MOST_LAST_QUESTIONS):
            if isinstance(question, CloseDescriptor):
                os.close(question.descriptor)
                question = operation.send(None)
            else:
                question = operation.throw(lost)
    except (StopIteration, ZeError):
        return
    raise RuntimeError(f"an operation goes on asking: {question}")


def nonsense(error: MalformedMessageError) -> ZeError:
    """Return what a program is told whose library does not speak as it should."""
    return unknown(f"the program's library sent nonsense: {error}")


async def without_outputs(make: Callable[[], Operation[None]]) -> bytes:
    """Carry out an operation that has nothing to reply."""
    await make()
    return b""
