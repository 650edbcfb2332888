"""Signals that end a command as Ctrl-C does: what it started ends with it."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
SIGNALS: Final = (signal.SIGINT, *ENDING)
"""All by which people end a command."""


@contextlib.contextmanager
def ended_by_signals() -> Generator[None]:
    """Have SIGTERM and SIGHUP unwind the stack in the block, as Ctrl-C does.

    What was ignored before stays ignored, as `nohup` wants it. Afterwards all three have the
    handlers that they had.

    Raises:
        SystemExit: one came; its code is that of shells, 128 and the number.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
