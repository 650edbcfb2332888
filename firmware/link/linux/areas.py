"""What is mapped where in a process.

One query per mapping, or the whole table where the kernel has no such query.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import Final, NamedTuple

_QUERY: Final = 0xC068_6611
"""PROCMAP_QUERY: _IOWR('f', 17, 104 bytes), Linux 6.11."""
_ARGUMENTS: Final = struct.Struct("<9Q4I2Q")
_READABLE: Final = 0x01
_WRITABLE: Final = 0x02
_SHARED: Final = 0x08
_COVERING_OR_NEXT: Final = 0x10
_UNKNOWN_TO_KERNEL: Final = {errno.ENOTTY, errno.EINVAL}
EVERY_AREA: Final = 1 << 32
"""More mappings than a process can have."""


class Area(NamedTuple):
    """One mapping of a process, from `start` to before `end`."""

    start: int
    end: int
    readable: bool
    writable: bool
    shared: bool


def areas_of(pid: int | None, address: int, size: int, most: int = EVERY_AREA) -> list[Area]:
    """Return the mappings that touch a range, in order; ranges between them are holes.

    Args:
        pid: process; None for this one.
        address: first address of the range.
        size: bytes.
        most: mappings that are enough; a process may have very many.

    Raises:
        OSError: the process has ended or may not be looked into.
    """
    path = maps_path(pid)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return query_areas(descriptor, address, size, most)
    except OSError as error:
        if error.errno not in _UNKNOWN_TO_KERNEL:
            raise
        return read_areas(descriptor, address, size)[:most]
    finally:
        os.close(descriptor)


def maps_path(pid: int | None) -> str:
    """Return the path of a process's table of mappings."""
    return f"/proc/{'self' if pid is None else pid}/maps"


def query_areas(descriptor: int, address: int, size: int, most: int = EVERY_AREA) -> list[Area]:
    """Ask the kernel for each mapping that touches a range (1.4 us each, whatever the process has).

    Raises:
        OSError: ENOTTY when the kernel has no such query.
    """
    end = address + size
    found: list[Area] = []
    while address < end and len(found) < most:
        area = _query(descriptor, address)
        if area is None or area.start >= end:
            break
        found.append(area)
        address = area.end
    return found


def _query(descriptor: int, address: int) -> Area | None:
    """Return the mapping that covers an address, else the next one, else None."""
    arguments = bytearray(_ARGUMENTS.pack(_ARGUMENTS.size, _COVERING_OR_NEXT, address, *(0,) * 12))
    try:
        fcntl.ioctl(descriptor, _QUERY, arguments)
    except FileNotFoundError:
        return None
    start, end, flags = _ARGUMENTS.unpack(arguments)[3:6]
    return Area(start, end, bool(flags & _READABLE), bool(flags & _WRITABLE), bool(flags & _SHARED))


def read_areas(descriptor: int, address: int, size: int) -> list[Area]:
    """Read the whole table of mappings and return those that touch a range (0.3 ms and more).

    Raises:
        OSError: the process has ended.
    """
    end = address + size
    with open(descriptor, encoding="utf-8", errors="replace", closefd=False) as table:
        return [area for area in map(_parse, table) if area.start < end and area.end > address]


def _parse(line: str) -> Area:
    """Return the mapping of a line such as `7f00-7f10 rw-s 00000000 00:01 42 /memfd:x`."""
    span, rights = line.split(maxsplit=2)[:2]
    start, end = span.split("-")
    return Area(int(start, 16), int(end, 16), rights[0] == "r", rights[1] == "w", rights[3] == "s")
