"""Interrupts (SIGINT, Ctrl-C) during a call: held back until nothing can be lost any more.

Python raises KeyboardInterrupt between any two steps of the main thread. In the middle of a driver
coroutine that would be between an action and the note of it: memory that nobody knows of, a mapping
that is neither there nor gone. So a call notes the interrupt, and raises it when it is over, or
where it waits for something that may never come.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from signal import SIGINT
from typing import TYPE_CHECKING, Final, cast, final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Self, TypeAlias

    Handler: TypeAlias = Callable[[int, FrameType | None], object]
    SetHandler: TypeAlias = Callable[[int, Handler], Handler | int | None]

ALL: Final = sys.maxsize
"""Patience that no number of interrupts exhausts."""
# `signal` wraps these, to make enumerations of what they take and return; that takes longer than
# all the rest of a call that asks the device nothing.
_signal: Final = import_module("_signal")
_set_handler = cast("SetHandler", _signal.signal)
_handler_of = cast("Callable[[int], Handler | int | None]", _signal.getsignal)


@final
class Interrupts:
    """Holds interrupts back for the time of a `with`; the application's handler runs afterwards.

    Owner: one call. Invariant: between the ends of the `with` the handler of the application runs
    only inside `Patience`, which says where that does no harm. Threads other than the main one get
    no interrupts, and a program that ignores SIGINT, or leaves it to the system, stays as it is.
    """

    __slots__ = ("_before", "_came", "_patience")

    def __init__(self) -> None:
        self._before: Handler | None = None
        self._came = 0
        self._patience = ALL

    def __enter__(self) -> Self:
        if threading.get_ident() == threading.main_thread().ident and callable(_handler_of(SIGINT)):
            self._before = cast("Handler", _set_handler(SIGINT, self._note))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._before = self._before, None
        if before is not None:
            _set_handler(SIGINT, before)
            if self._came:
                before(SIGINT, None)

    def endure(self, count: int) -> None:
        """Let the application's handler run when more than `count` interrupts have come.

        It runs at once if they have already. `ALL` ends that; it also ends by itself when the
        handler runs.
        """
        self._patience = count
        if self._came > count:
            self._tell(None)

    def _note(self, _: int, frame: FrameType | None) -> None:
        self._came += 1
        if self._came > self._patience:
            self._tell(frame)

    def _tell(self, frame: FrameType | None) -> None:
        self._patience, self._came = ALL, 0
        if self._before is not None:
            self._before(SIGINT, frame)
