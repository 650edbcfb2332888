"""Memory as an application has it (heap, stack, static, mapped), and how it is imported."""

from __future__ import annotations

import ctypes
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from firmware.abi.ids import PAGE_SIZE
from firmware.link.linux import protect, reserve, unmap
from hostdriver import levelzero as ze

if TYPE_CHECKING:
    from collections.abc import Generator

_LIBC = ctypes.CDLL(None)
_LIBC.aligned_alloc.restype = ctypes.c_void_p
_LIBC.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_LIBC.free.argtypes = (ctypes.c_void_p,)
_READ, _READ_WRITE = 1, 3
NO_FLAGS = ze.HostMemAllocFlags(0)


def peek(address: int, size: int) -> bytes:
    """Load bytes by the CPU."""
    return ctypes.string_at(address, size)


def poke(address: int, data: bytes) -> None:
    """Store bytes by the CPU."""
    ctypes.memmove(address, data, len(data))


@contextmanager
def heap(size: int) -> Generator[int]:
    """Memory of `aligned_alloc`."""
    address = _LIBC.aligned_alloc(PAGE_SIZE, size)
    try:
        yield address
    finally:
        _LIBC.free(address)


@contextmanager
def mapped(size: int, *, offset: int = 0, writable: bool = True) -> Generator[int]:
    """Memory of `mmap`, that far behind a multiple of 2 MiB; its own mapping, which may go."""
    whole = reserve(size + (2 << 20) + offset + PAGE_SIZE)
    address = -(-(whole + PAGE_SIZE) >> 21 << 21) + offset if offset else whole + PAGE_SIZE
    protect(address, size, _READ_WRITE)
    if not writable:
        poke(address, bytes(range(256)) * (size // 256))
        protect(address, size, _READ)
    try:
        yield address
    finally:
        unmap(whole, size + (2 << 20) + offset + PAGE_SIZE)


def take_away(address: int, size: int) -> None:
    """Unmap memory of `mapped`."""
    unmap(address, size)


def bring(
    context: ze.Context,
    address: int,
    size: int,
    *,
    asked: int | None = None,
    alignment: int = 0,
    flags: ze.HostMemAllocFlags = NO_FLAGS,
) -> int:
    """Make an allocation of application memory."""
    desc = ze.HostMemAllocDesc(flags, [ze.ExternalMemmapSysmemExtDesc(address, size)])
    return context.mem_alloc_host(size if asked is None else asked, alignment, desc)


@contextmanager
def brought(context: ze.Context, address: int, size: int) -> Generator[int]:
    """Make an allocation of application memory, and free it."""
    pointer = bring(context, address, size)
    yield pointer
    context.mem_free(pointer)


def stack_page() -> int:
    """Return the last page of the main thread's stack: the deepest one, which nothing uses now."""
    return _area("[stack]", "rw-p")[0]


def static_page() -> int:
    """Return a page of the interpreter's own variables."""
    name = str(Path(sys.executable).resolve())
    shared = next((line for line in _maps() if "libpython" in line), "")
    return _area(shared.split()[-1] if shared else name, "rw-p")[0]


def read_only_page() -> int:
    """Return a page of constants."""
    return _area("libc.so", "r--p")[0]


def _maps() -> list[str]:
    return Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()


def _area(name: str, rights: str) -> tuple[int, int]:
    line = next(x for x in _maps() if name in x and x.split()[1] == rights)
    start, end = line.split()[0].split("-")
    return int(start, 16), int(end, 16)
