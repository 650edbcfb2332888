"""Processes that die or stop at a point, and go on later."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Final

from firmware.inject.actions import Kill, Stop
from hostdriver.inject.holding import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.inject import Hit
    from hostdriver.inject.holding import Holding

_INIT: Final = 1


def act_on(hit: Hit, pid: int, holding: Holding) -> None:
    """Kill or stop a process, as a hit says; one that is gone already is left alone.

    A stopped one goes on when its time is over, and at the latest when its rule is gone.
    """
    match hit.action:
        case Stop(seconds=seconds):
            if (go_on := stop(pid)) is not None:
                holding.hold(hit, seconds or FOREVER, go_on)
        case Kill() if (process := _opened(pid)) >= 0:
            _send(process, signal.SIGKILL)
            os.close(process)
        case _:
            pass


def act_here(hit: Hit, halt: Callable[[Hit, float], None]) -> None:
    """Kill this very process, or have it stopped, as a hit says.

    A process cannot let itself go on: `halt` has somebody else stop it for so long, and returns
    when it goes on.
    """
    match hit.action:
        case Stop(seconds=seconds):
            halt(hit, seconds or FOREVER)
        case Kill():
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            pass


def stop(pid: int) -> Callable[[], None] | None:
    """Stop a process; return what lets it go on, once. None: it is gone, or this very one."""
    if pid == os.getpid() or (process := _opened(pid)) < 0:
        return None
    _send(process, signal.SIGSTOP)
    return partial(_let_go_on, process)


def _opened(pid: int) -> int:
    """Return a pidfd; -1: there is no such process."""
    if pid <= _INIT:
        # It stands in another PID namespace: no number of ours is its own.
        return -1
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return -1


def _let_go_on(process: int) -> None:
    _send(process, signal.SIGCONT)
    os.close(process)


def _send(process: int, number: signal.Signals) -> None:
    """Send a signal to a process by its pidfd, unless it is gone."""
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(process, number)
