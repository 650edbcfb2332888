"""Calling functions of a Python program, among the work of a queue."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from hostdriver.core.failures import unsupported_feature
from hostdriver.core.streamquestions import ProgramFunction

if TYPE_CHECKING:
    from hostdriver.core.streamquestions import HostFunction


def call_here(function: HostFunction) -> None:
    """Call a function in this thread; what it raises goes where threads' exceptions go.

    The queue goes on then: a function that fails has returned all the same.

    Raises:
        ZeError: it is a program's elsewhere.
    """
    if isinstance(function, ProgramFunction):
        raise unsupported_feature(f"{function} is a function of another process")
    try:
        function()
    except BaseException:  # noqa: BLE001 - told of, not passed on
        threading.excepthook(
            threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
        )
