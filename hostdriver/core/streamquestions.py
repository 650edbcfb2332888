"""Questions of streams: commands offered to a ring, what goes on beside a call, functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

import msgspec

from hostdriver.core.questionbase import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.core.questions import Operation


class ProgramFunction(NamedTuple):
    """A function of a program elsewhere, and what it is called with; both are addresses there."""

    address: int
    user_data: int


HostFunction: TypeAlias = "Callable[[], object] | ProgramFunction"
"""A function of the application that work calls: of this process, or of a program elsewhere."""


@final
class Offered(msgspec.Struct, frozen=True):
    """What a ring took of commands that were offered."""

    taken: int
    """Commands that fitted; all that wait behind them wait with the caller."""
    status: int
    """`Status` that stopped the ring, else 0; a ring that stopped takes nothing."""
    completed: int
    """Number of the last command that the queue has done."""


@final
class Offer(Question[Offered], frozen=True):
    """Put as many commands into a work ring as fit now, in order; never waits."""

    device: int
    queue: int
    commands: bytes | memoryview
    """Encoded, one after the other."""


@final
class AwaitRoom(Question[None], frozen=True):
    """Wait until a work ring has room for so many commands, or has stopped."""

    device: int
    queue: int
    count: int


@final
class Beside(Question["str | None"], frozen=True):
    """Carry another operation out beside the one that asks, which goes on at once.

    Whatever the other raises ends it alone. Answer: None, or why it cannot be begun.
    """

    make: Callable[[], Operation[None]]


@final
class OnThread(Question["str | None"], frozen=True):
    """Carry another operation out in a thread of the application's process, which goes on at once.

    That operation alone may ask `CallHost`. Answer: None, or why no thread can be had.
    """

    make: Callable[[], Operation[None]]


@final
class CallHost(Question[None], frozen=True):
    """Call a function of the application, in the thread whose operation asks.

    Whatever it raises is told to the application, and ends nothing.
    """

    function: HostFunction


@final
class Clock(Question[float], frozen=True):
    """Seconds of a clock that only goes forward."""


@final
class Pause(Question[None], frozen=True):
    """Give way: come back when another coroutine has ended, or after a moment."""
