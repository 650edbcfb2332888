"""What this process's driver asks of the operating system, where that may fail.

All go through `current`, one for the process, so that a fault can be let happen where it would.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from firmware.link import client, linux
from firmware.link.segment import Segment

if TYPE_CHECKING:
    from pathlib import Path

    from firmware.link.ends import HostEnd


class System:
    """The operating system; each raises as the function of its name does."""

    __slots__ = ()

    def connect(self, path: Path, name: str, device_index: int = 0) -> HostEnd:
        """Attach to a device (`firmware.link.client.connect`)."""
        return client.connect(path, name, device_index=device_index)

    def reserve(self, size: int, address: int = 0) -> int:
        """Reserve addresses without access, at `address` unless that is 0."""
        return linux.reserve(size, address=address) if address else linux.reserve(size)

    def map_at(self, address: int, size: int, descriptor: int, offset: int) -> None:
        """Map a file over reserved addresses."""
        linux.map_at(address, size, descriptor, offset=offset)

    def adopt(self, descriptor: int, size: int) -> Segment:
        """Map a memory file anywhere; what cannot be mapped is an AttachError."""
        return Segment.adopt(descriptor, size)

    def reserve_again(self, address: int, size: int) -> None:
        """Make addresses inaccessible again."""
        linux.reserve_again(address, size)

    def create_memory(self, name: str, size: int) -> int:
        """Return the descriptor of a new memory file."""
        return linux.create_memory(name, size)

    def dup(self, descriptor: int) -> int:
        """Return one more descriptor of a file."""
        return os.dup(descriptor)

    def take_descriptor(self, process: int, descriptor: int) -> int:
        """Return a descriptor of a file that another process has open, by its pidfd."""
        return linux.take_descriptor(process, descriptor)


class _Current:
    """Holds the one that is used now."""

    __slots__ = ("system",)

    def __init__(self) -> None:
        self.system = System()


current = _Current()
"""What the driver uses."""
