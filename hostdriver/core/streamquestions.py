"""Questions of streams: commands that are offered to a ring, and what goes on beside a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import msgspec

from hostdriver.core.questionbase import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.core.questions import Operation


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
class Clock(Question[float], frozen=True):
    """Seconds of a clock that only goes forward."""
