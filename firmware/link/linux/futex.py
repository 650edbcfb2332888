"""Sleeping on a word of shared memory, across processes."""

from __future__ import annotations

import ctypes
import errno
from typing import Final

from firmware.link.linux._libc import LIBC, LIBC_HELD, SYS_FUTEX, raise_errno

# Without FUTEX_PRIVATE_FLAG: sleeper and waker are different processes.
_FUTEX_WAIT: Final = 0
_FUTEX_WAKE: Final = 1
_FUTEX_WAKE_OP: Final = 5
_OP_ADD: Final = 1 << 28
"""Of FUTEX_WAKE_OP: add bits 12 to 23 (signed) to the second word."""
EVERYBODY: Final = 0x7FFF_FFFF
_LOOK_AGAIN: Final = {errno.EAGAIN, errno.EINTR}


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


_wait = ctypes.CFUNCTYPE(
    ctypes.c_long,
    ctypes.c_long,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_uint32,
    ctypes.POINTER(_Timespec),
    use_errno=True,
)(("syscall", LIBC))
_wake = ctypes.PYFUNCTYPE(
    ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_int
)(("syscall", LIBC_HELD))

_add = ctypes.PYFUNCTYPE(
    ctypes.c_long,
    ctypes.c_long,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_uint32,
)(("syscall", LIBC_HELD))


def futex_wait(address: int, expected: int, timeout_seconds: float) -> bool:
    """Sleep while the u32 at `address` is `expected`, until somebody wakes it.

    Returns:
        False when the time is up; True when the caller should look again (woken, another value,
        or a signal).

    Raises:
        OSError: the address is not mapped or not aligned.
    """
    whole = int(timeout_seconds)
    rest = _Timespec(whole, int((timeout_seconds - whole) * 1e9))
    result: int = _wait(SYS_FUTEX, address, _FUTEX_WAIT, expected, ctypes.byref(rest))
    if result == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ETIMEDOUT:
        return False
    if number in _LOOK_AGAIN:
        return True
    raise raise_errno(f"futex wait at {address:#x}")


def futex_wake(address: int, count: int = EVERYBODY) -> int:
    """Wake up to `count` sleepers of the u32 at `address`; return how many there were.

    Raises:
        OSError: the address is not mapped or not aligned.
    """
    woken: int = _wake(SYS_FUTEX, address, _FUTEX_WAKE, count)
    if woken < 0:
        raise OSError(errno.EFAULT, f"futex wake at {address:#x} failed")
    return woken


def futex_add(address: int, change: int) -> None:
    """Add to the u32 at `address` atomically, whoever else adds to it in whatever process.

    Python has no atomic addition; the kernel's FUTEX_WAKE_OP has one. Nobody sleeps on that word,
    so nobody is woken.

    Raises:
        OSError: the address is not mapped or not aligned.
    """
    operation = _OP_ADD | (change & 0xFFF) << 12
    if _add(SYS_FUTEX, address, _FUTEX_WAKE_OP, 0, None, address, operation) < 0:
        raise OSError(errno.EFAULT, f"futex addition at {address:#x} failed")
