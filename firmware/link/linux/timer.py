"""Timers that are descriptors, for whoever sleeps on descriptors."""

from __future__ import annotations

import ctypes
import os
from typing import Final

from firmware.link.linux._libc import LIBC, raise_errno

_CLOCK_MONOTONIC: Final = 1
_NANOSECONDS: Final = 1_000_000_000


class _Timerspec(ctypes.Structure):
    _fields_ = (
        ("interval_seconds", ctypes.c_int64),
        ("interval_nanoseconds", ctypes.c_int64),
        ("seconds", ctypes.c_int64),
        ("nanoseconds", ctypes.c_int64),
    )


_create = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, use_errno=True)(
    ("timerfd_create", LIBC)
)
_settime = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(_Timerspec),
    ctypes.c_void_p,
    use_errno=True,
)(("timerfd_settime", LIBC))


def create_timer() -> int:
    """Return the descriptor of a timer that is not set.

    Raises:
        OSError: no descriptor is left.
    """
    found: int = _create(_CLOCK_MONOTONIC, os.O_CLOEXEC | os.O_NONBLOCK)
    if found < 0:
        raise raise_errno("timerfd_create")
    return found


def set_timer(timer: int, seconds: float) -> None:
    """Make a timer readable, until it is set again, once so much time has passed.

    Raises:
        OSError: it is no timer.
    """
    # Zero would stop it.
    nanoseconds = max(1, round(seconds * _NANOSECONDS))
    spec = _Timerspec(0, 0, *divmod(nanoseconds, _NANOSECONDS))
    if _settime(timer, 0, ctypes.byref(spec), None) < 0:
        raise raise_errno(f"timerfd_settime({timer})")
