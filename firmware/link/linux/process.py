"""Other processes: who they are, whether they live, their descriptors and their memory."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import socket
import struct
from typing import Final, NamedTuple

from firmware.link.linux._libc import LIBC, SYS_PIDFD_GETFD, address_of, raise_errno

_SO_PEERPIDFD: Final = 77
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_PTRACER: Final = 0x59616D61
_PR_SET_PTRACER_ANY: Final = (1 << 64) - 1
_UCRED: Final = struct.Struct("iII")


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


_VM_ARGUMENTS: Final = (
    ctypes.c_int,
    ctypes.POINTER(_Iovec),
    ctypes.c_ulong,
    ctypes.POINTER(_Iovec),
    ctypes.c_ulong,
    ctypes.c_ulong,
)
_readv = LIBC.process_vm_readv
_readv.restype = ctypes.c_ssize_t
_readv.argtypes = _VM_ARGUMENTS
_writev = LIBC.process_vm_writev
_writev.restype = ctypes.c_ssize_t
_writev.argtypes = _VM_ARGUMENTS
_syscall = LIBC.syscall
_syscall.restype = ctypes.c_long
_prctl = LIBC.prctl
_prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)


class Credentials(NamedTuple):
    """Who was at the other end of a Unix socket when it was connected."""

    pid: int
    """0 when the process is in another PID namespace."""
    uid: int
    gid: int


def peer_credentials(connection: socket.socket) -> Credentials:
    """Return who connected, or who listens.

    Raises:
        OSError: not a connected Unix socket.
    """
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return Credentials(*_UCRED.unpack(data))


def peer_pidfd(connection: socket.socket) -> int | None:
    """Return a new pidfd of the process at the other end; None when it cannot be had.

    It cannot when the process has ended already, or when the kernel lacks SO_PEERPIDFD (before
    6.5) and the process is in another PID namespace.

    Raises:
        OSError: no descriptors left, or not a connected Unix socket.
    """
    try:
        return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno in {errno.ESRCH, errno.EINVAL, errno.ENODATA}:
            return None
        if error.errno != errno.ENOPROTOOPT:
            raise
    pid = peer_credentials(connection).pid
    try:
        return os.pidfd_open(pid) if pid else None
    except ProcessLookupError:
        return None


def has_ended(pidfd: int) -> bool:
    """Return whether the process of a pidfd has ended (its parent may not have noticed yet)."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def has_hung_up(connection: socket.socket) -> bool:
    """Return whether the other end of a socket is closed, or will send nothing more."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


def take_descriptor(pidfd: int, number: int) -> int:
    """Return a duplicate of descriptor `number` of another process.

    Raises:
        OSError: it has none such (EBADF), has ended (ESRCH), or may not be looked into (EPERM).
    """
    found: int = _syscall(
        ctypes.c_long(SYS_PIDFD_GETFD),
        ctypes.c_int(pidfd),
        ctypes.c_int(number),
        ctypes.c_uint(0),
    )
    if found < 0:
        raise raise_errno(f"descriptor {number} of the process behind pidfd {pidfd}")
    return found


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process get a signal when the thread that began it ends, and its process with it.

    To be called by a child of process `parent`, which may have ended before: then the signal comes
    now. Programs that it executes later keep to it, but not its own children.
    """
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def permit_tracing() -> bool:
    """Let every process of this user reach this process's memory, where Yama would forbid it.

    Returns:
        False when the kernel has no Yama, so that there is nothing to permit.
    """
    return bool(_prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY, 0, 0, 0) == 0)


def read_process(pid: int, address: int, into: memoryview) -> int:
    """Read memory of another process; return the bytes moved.

    Fewer than `into` holds means that the first byte not moved cannot be read (0: the first).

    Raises:
        PermissionError: this process may not look into the other.
        ProcessLookupError: it has ended.
    """
    return _move(pid, address, into, writing=False)


def write_process(pid: int, address: int, data: memoryview) -> int:
    """Write memory of another process; return the bytes moved, as `read_process` does.

    Raises:
        PermissionError: this process may not look into the other.
        ProcessLookupError: it has ended.
    """
    if data.readonly:  # there is no address to be had of read-only memory without a copy
        data = memoryview(bytearray(data))
    return _move(pid, address, data, writing=True)


def _move(pid: int, address: int, memory: memoryview, *, writing: bool) -> int:
    size = memory.nbytes
    if not size:
        return 0
    local = _Iovec(address_of(memory), size)
    remote = _Iovec(address, size)
    call = _writev if writing else _readv
    moved: int = call(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    if moved >= 0:
        return moved
    if ctypes.get_errno() == errno.EFAULT:
        return 0
    raise raise_errno(f"memory of process {pid} at {address:#x}, {size:#x} bytes")
