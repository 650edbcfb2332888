"""Memory files that cannot shrink under whoever maps them.

A process that touches a mapped page behind the end of its file is killed by SIGBUS. So whoever maps
a file that another process holds too looks first: a memory file, sealed against shrinking, large
enough, and of ordinary pages. In a file of huge pages whoever holds it can punch a hole, and no
page may be left in the system's pool when the hole is touched: that is SIGBUS again.
"""

from __future__ import annotations

import fcntl
import os
from typing import final

from firmware.link.errors import LinkError
from firmware.link.linux import create_memory, seal, seals_of


@final
class NotSealed(LinkError):
    """A descriptor that must not be mapped; the text says why."""


def create_sealed(name: str, size: int) -> int:
    """Return a descriptor of a new zeroed memory file that always has `size` bytes.

    Raises:
        OSError: no descriptors or no memory; nothing is left.
    """
    descriptor = create_memory(name, size)
    try:
        seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_sealed(descriptor: int, least_size: int = 1) -> int:
    """Return the size in bytes of a memory file that may be mapped; the descriptor stays open.

    Raises:
        NotSealed: it is something else, could shrink, has huge pages, or is smaller than
            `least_size`.
        OSError: not an open descriptor.
    """
    seals = seals_of(descriptor)
    if seals is None:
        raise NotSealed("the descriptor is no memory file, expected a sealed memfd")
    if not seals & fcntl.F_SEAL_SHRINK:
        raise NotSealed(
            f"the memory file has seals {seals:#x}, expected F_SEAL_SHRINK"
            f" ({fcntl.F_SEAL_SHRINK:#x}) among them"
        )
    page, ordinary = os.fstatvfs(descriptor).f_bsize, os.sysconf("SC_PAGE_SIZE")
    if page != ordinary:
        raise NotSealed(f"the memory file has pages of {page:#x} bytes, expected {ordinary:#x}")
    size = os.fstat(descriptor).st_size
    if size < least_size:
        raise NotSealed(f"the memory file has {size:#x} bytes, expected at least {least_size:#x}")
    return size
