"""Memory files and mappings."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
from typing import Final, final

from firmware.link.linux._libc import LIBC, address_of, raise_errno

SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
"""The size can never change again, and neither can the seals."""
_MFD_NOEXEC_SEAL: Final = 0x8
_MAP_FIXED: Final = 0x10
_MAP_FIXED_NOREPLACE: Final = 0x10_0000
_MAP_NORESERVE: Final = 0x4000
_PROT_NONE: Final = 0
_PYBUF_READ: Final = 0x100
_PYBUF_WRITE: Final = 0x200
_FAILED: Final = (1 << 64) - 1

_mmap = LIBC.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int64,
)
_munmap = LIBC.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_mprotect = LIBC.mprotect
_mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_madvise = LIBC.madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_view_of = ctypes.pythonapi.PyMemoryView_FromMemory
_view_of.restype = ctypes.py_object
_view_of.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def create_memory(name: str, size: int) -> int:
    """Return a descriptor of a new zeroed memory file of exactly `size` bytes; not yet sealed.

    Raises:
        OSError: no descriptors or no memory; nothing is left.
    """
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        descriptor = os.memfd_create(name, flags | _MFD_NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        descriptor = os.memfd_create(name, flags)  # kernels before 6.3
    try:
        os.ftruncate(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def seal(descriptor: int, seals: int = SEALS) -> None:
    """Add seals to a memory file.

    Raises:
        OSError: not a memory file, or its seals are sealed.
    """
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)


def seals_of(descriptor: int) -> int | None:
    """Return the seals of a memory file, None for anything else.

    Raises:
        OSError: not an open descriptor.
    """
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None


@final
class Mapping:
    """A range of this process's address space that holds a file or anonymous memory.

    Owner: whoever made it. Invariant: the memory stays mapped as long as any view of it lives, so
    that no use of a view can crash; `close` makes `view` unusable and unmaps once the others are
    gone.
    """

    __slots__ = ("address", "size", "view")

    def __init__(self, view: memoryview, address: int) -> None:
        self.address = address
        """Address of the first byte."""
        self.size = view.nbytes
        # The view alone keeps the range; see the invariant.
        self.view = view
        """The bytes; released by `close`."""

    def again(self) -> Mapping:
        """Return the same memory as another mapping, to be closed for itself."""
        return Mapping(memoryview(self.view), self.address)

    def close(self) -> None:
        """Give up the view; a second call does nothing."""
        # An array made over the view keeps the memory for as long as it lives.
        with contextlib.suppress(BufferError):
            self.view.release()


def map_anonymous(size: int) -> Mapping:
    """Map `size` bytes of zeroed memory of this process.

    Raises:
        OSError: no memory or mappings left.
    """
    view = _anonymous(size)
    return Mapping(view, address_of(view))


def map_apart(size: int) -> Mapping:
    """Map `size` bytes of zeroed memory that the system never joins to a mapping beside it.

    Raises:
        OSError: no memory or mappings left.
    """
    # Shared memory of its own; nothing is taken for it before it is used.
    view = memoryview(mmap.mmap(-1, size, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_NORESERVE))
    return Mapping(view, address_of(view))


def _anonymous(size: int) -> memoryview:
    return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE))


def map_file(descriptor: int, size: int, *, offset: int = 0, writable: bool = True) -> Mapping:
    """Map `size` bytes of a file, shared; the descriptor may be closed afterwards.

    Raises:
        OSError: no mappings left, or the file does not permit it.
    """
    # mmap.mmap would keep a duplicate of the descriptor for each mapping. So it owns an anonymous
    # range only, and the file is laid over it.
    view = _anonymous(size)
    address = address_of(view)
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    map_at(address, size, descriptor, offset=offset, protection=protection)
    return Mapping(view if writable else view.toreadonly(), address)


def map_at(
    address: int,
    size: int,
    descriptor: int,
    *,
    offset: int = 0,
    protection: int = mmap.PROT_READ | mmap.PROT_WRITE,
) -> None:
    """Map a file, shared, over whatever is at `address`.

    Raises:
        OSError: no mappings left, or the file does not permit it; the range is as before.
    """
    _map(address, size, protection, mmap.MAP_SHARED | _MAP_FIXED, descriptor, offset)


def reserve(size: int, *, address: int = 0) -> int:
    """Take a range that can be neither read nor written; return where it begins.

    Args:
        size: bytes, whole pages.
        address: where; 0 lets the kernel choose.

    Raises:
        OSError: no such range is free (EEXIST when something is at `address`).
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    if address:
        flags |= _MAP_FIXED_NOREPLACE
    found = _map(address, size, _PROT_NONE, flags, -1, 0)
    if address and found != address:  # kernels before 4.17 take the flag for a hint
        unmap(found, size)
        raise OSError(errno.EEXIST, f"the range at {address:#x} is taken")
    return found


def reserve_again(address: int, size: int) -> None:
    """Replace what is mapped in a reserved range by the bare reservation, without a gap in time.

    Raises:
        OSError: no mappings left; the range is as before.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED
    _map(address, size, _PROT_NONE, flags, -1, 0)


def _map(address: int, size: int, protection: int, flags: int, file: int, offset: int) -> int:
    found: int | None = _mmap(address or None, size, protection, flags, file, offset)
    if found is None or found == _FAILED:
        raise raise_errno(f"mmap of {size:#x} bytes at {address:#x}")
    return found


def unmap(address: int, size: int) -> None:
    """Give a range back to the kernel.

    Raises:
        OSError: the address is not on a page, or splitting a mapping exceeds the limit.
    """
    if _munmap(address, size):
        raise raise_errno(f"munmap of {size:#x} bytes at {address:#x}")


def protect(address: int, size: int, protection: int) -> None:
    """Change what may be done with mapped pages (`mmap.PROT_*`, 0 for nothing).

    Raises:
        OSError: part of the range is not mapped, or the file does not permit it.
    """
    if _mprotect(address, size, protection):
        raise raise_errno(f"mprotect of {size:#x} bytes at {address:#x}")


def view_at(address: int, size: int, *, writable: bool = True) -> memoryview:
    """Return the bytes at an address; nothing keeps them mapped."""
    flags = _PYBUF_WRITE if writable else _PYBUF_READ
    view: memoryview = _view_of(address, size, flags)
    return view
