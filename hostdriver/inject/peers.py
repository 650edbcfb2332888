"""Processes that die or stop at a point, and go on later."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Final

from firmware.inject.actions import Kill, Stop
from hostdriver.inject.holding import FOREVER

if TYPE_CHECKING:
    from firmware.inject import Hit
    from hostdriver.inject.holding import Holding

_INIT: Final = 1


def act_on(hit: Hit, pid: int, holding: Holding) -> None:
    """Kill or stop a process, as a hit says; one that is gone already is left alone.

    A stopped one goes on when its time is over, and at the latest when its rule is gone.
    """
    if pid <= _INIT:
        # It stands in another PID namespace: no number of ours is its own.
        return
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        if isinstance(hit.action, Stop):
            _send(process, signal.SIGSTOP)
            holding.hold(hit, hit.action.seconds or FOREVER, lambda: _let_go_on(process))
            return
        if isinstance(hit.action, Kill):
            _send(process, signal.SIGKILL)
        os.close(process)


def _let_go_on(process: int) -> None:
    _send(process, signal.SIGCONT)
    os.close(process)


def _send(process: int, number: signal.Signals) -> None:
    """Send a signal to a process by its pidfd, unless it is gone."""
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(process, number)
