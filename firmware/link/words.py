"""Words of shared memory: loaded and stored by single aligned accesses.

A store through a cast memoryview compiles to one machine store, so that a process that polls the
word sees the old value or the new one. `struct.pack_into` clears the bytes first: a poller would
see zeros. Records and entries that nobody polls may be copied in as bytes.

The hot paths index `u32` and `u64` themselves (`words.u32[offset >> 2]`); the methods are for
everywhere else.
"""

from __future__ import annotations

from typing import final


@final
class Words:
    """A writable view of shared memory as bytes, u32 words and u64 words.

    Owner: whoever made it; it keeps the memory mapped as long as it lives. All offsets are bytes
    from the start of the view.
    """

    __slots__ = ("u8", "u32", "u64")

    def __init__(self, view: memoryview) -> None:
        """Cast `view`, whose size is a multiple of 8 bytes and whose start is aligned to 8.

        Raises:
            ValueError: another size, or memory that cannot be written.
        """
        if view.readonly:
            raise ValueError("shared words need writable memory, got a read-only view")
        if view.nbytes % 8:
            raise ValueError(f"shared words need a multiple of 8 bytes, got {view.nbytes:#x}")
        self.u8 = view.cast("B")
        self.u32 = self.u8.cast("I")
        self.u64 = self.u8.cast("Q")

    def load32(self, offset: int) -> int:
        """Return the u32 at `offset`, a multiple of 4."""
        return self.u32[offset >> 2]

    def store32(self, offset: int, value: int) -> None:
        """Store the u32 at `offset`, a multiple of 4."""
        self.u32[offset >> 2] = value

    def load64(self, offset: int) -> int:
        """Return the u64 at `offset`, a multiple of 8."""
        return self.u64[offset >> 3]

    def store64(self, offset: int, value: int) -> None:
        """Store the u64 at `offset`, a multiple of 8."""
        self.u64[offset >> 3] = value
