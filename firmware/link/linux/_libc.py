"""The C library as ctypes sees it: the only place that names its functions."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

LIBC: Final = ctypes.CDLL(None, use_errno=True)
"""Calls give up the interpreter's lock: for calls that may sleep or take long."""
LIBC_HELD: Final = ctypes.PyDLL(None, use_errno=True)
"""Calls keep the interpreter's lock: for calls shorter than handing the lock over."""

MACHINE: Final = platform.machine()
SYS_FUTEX: Final = 202 if MACHINE == "x86_64" else 98
"""98 on every machine with the generic table of system calls."""
SYS_PIDFD_GETFD: Final = 438


def raise_errno(what: str) -> OSError:
    """Return the exception for the C library's errno, naming what was tried."""
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def address_of(memory: memoryview) -> int:
    """Return the address of the first byte of writable contiguous memory.

    Raises:
        TypeError: the memory is read only.
        ValueError: it is empty.
    """
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
