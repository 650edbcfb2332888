"""A segment as one side has it mapped.

Shared: a memory file that the device makes and seals and the client maps. In process: plain memory,
the same object on both sides. The bytes in it are the same.
"""

from __future__ import annotations

import contextlib
import os
import platform
from typing import TYPE_CHECKING, final

from firmware.link.errors import AttachError
from firmware.link.linux import ORDERS_STORES, Mapping, map_anonymous, map_file
from firmware.link.sealed import NotSealed, check_sealed, create_sealed
from firmware.link.words import Words

if TYPE_CHECKING:
    from typing import Self


@final
class Segment:
    """The memory that device and client share.

    Owner: one end of a link. Invariant: nothing of it is unmapped while a view of it lives; after
    `close` its own views raise ValueError.
    """

    __slots__ = ("_mapping", "words")

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self.words = Words(mapping.view)
        """Its words, for loads and stores."""

    @classmethod
    def in_process(cls, size: int) -> Self:
        """Make a zeroed segment of this process alone.

        Raises:
            OSError: no memory or mappings left.
        """
        return cls(map_anonymous(size))

    @classmethod
    def create(cls, size: int) -> tuple[Self, int]:
        """Make a zeroed sealed segment that can be shared; return it and its descriptor.

        Raises:
            AttachError: this machine cannot share rings.
            OSError: no memory, descriptors or mappings left; nothing is left open.
        """
        require_ordered_stores()
        descriptor = create_sealed("emuzero-segment", size)
        try:
            return cls(map_file(descriptor, size)), descriptor
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def adopt(cls, descriptor: int, size: int) -> Self:
        """Map a memory file that a peer sent, if nobody can shrink it; the descriptor stays open.

        Raises:
            AttachError: not sealed, not of `size` bytes, or it cannot be mapped; or this machine
                cannot share rings.
        """
        require_ordered_stores()
        try:
            found = check_sealed(descriptor, size)
        except NotSealed as error:
            raise AttachError(f"segment: {error}") from error
        if found != size:
            raise AttachError(f"segment: the file has {found:#x} bytes, expected {size:#x}")
        try:
            return cls(map_file(descriptor, size))
        except OSError as error:
            raise AttachError(f"segment of {size:#x} bytes cannot be mapped: {error}") from error

    def again(self) -> Segment:
        """Return the same memory as another segment, to be closed for itself."""
        return Segment(self._mapping.again())

    @property
    def view(self) -> memoryview:
        """Its bytes."""
        return self._mapping.view

    @property
    def address(self) -> int:
        """Address of its first byte in this process: futexes need it."""
        return self._mapping.address

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._mapping.size

    def close(self) -> None:
        """Give up the segment; a second call does nothing."""
        for view in (self.words.u64, self.words.u32, self.words.u8):
            # An array over the segment keeps it mapped for as long as the array lives.
            with contextlib.suppress(BufferError):
                view.release()
        self._mapping.close()


def require_ordered_stores() -> None:
    """Do nothing on a machine whose processors see each other's stores in program order.

    Raises:
        AttachError: elsewhere: an entry could become visible after the tail that announces it, and
            Python has no store that keeps them in order.
    """
    if not ORDERS_STORES:
        raise AttachError(
            f"{platform.machine()} processors may reorder stores: links between processes need"
            " x86_64; in-process links work everywhere"
        )
