"""Operands: virtual ranges of commands, and where they stand in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np

from device.core.engine.arguments import check_range
from device.core.errors import EngineFault, MemoryFault
from device.core.memory import Extents
from device.core.paging import walk
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, Access
from firmware.abi.paging import FRAME_MASK, Pte
from firmware.abi.work import WorkFlags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.engine.client import EngineClient
    from device.core.engine.queue import WorkQueue
    from device.core.memory import MemoryController
    from device.core.paging import AddressSpace
    from firmware.abi.work import WorkCommand

READ_BIT: Final = Pte.read.mask
WRITE_BIT: Final = Pte.write.mask
SPECIAL: Final = Pte.aperture.mask | Pte.null.mask
"""Bits of an entry of which one is set when the page is anything but a frame of our VRAM."""
_CLIENT_FLAG: Final = {
    "source": int(WorkFlags.CLIENT_SOURCE),
    "destination": int(WorkFlags.CLIENT_DESTINATION),
}
_OFFSET_MASK: Final = PAGE_SIZE - 1
_PLACE: Final = FRAME_MASK | SPECIAL
"""Bits of an entry that say where its page is: plain VRAM's grow by a page from page to page."""


def plain_address(space: AddressSpace, va: int, size: int, need: int) -> int:
    """Return the VRAM address where a few pages stand in one piece, or -1 when they do not.

    `need` is the right that is needed (`READ_BIT` or `WRITE_BIT`); `size` is at least one and the
    range lies in the address space.

    Raises:
        EngineFault: at a page that cannot be accessed; after -1, pages further on were not looked
            at.
    """
    entry = space.translate_page(va, need)
    if entry & SPECIAL:
        return -1
    place = entry & FRAME_MASK
    offset = va & _OFFSET_MASK
    expected = place
    for page in range((va | _OFFSET_MASK) + 1, va + size, PAGE_SIZE):
        expected += PAGE_SIZE
        if space.translate_page(page, need) & _PLACE != expected:
            return -1
    return place + offset


class Located(NamedTuple):
    """Where many ranges stand."""

    address: NDArray[np.uint64]
    """VRAM address of each."""
    plain: NDArray[np.bool_]
    """Whether it stands there in one piece; else its address means nothing."""
    fault: NDArray[np.bool_]
    """Whether one of its pages cannot be accessed."""


def locate(
    space: AddressSpace, va: NDArray[np.uint64], size: NDArray[np.uint64], need: int
) -> Located:
    """Find many ranges at once, each at least one byte long and inside the address space."""
    first = (va >> np.uint64(PAGE_SHIFT)).astype(np.int64)
    extra = ((va + size - np.uint64(1)) >> np.uint64(PAGE_SHIFT)).astype(np.int64) - first
    entries = space.translate_pages(first, need)
    fault = entries == 0
    plain = ~fault & (entries & np.uint64(SPECIAL) == 0)
    longer = np.flatnonzero(extra)
    if len(longer):
        counts = extra[longer]
        owner = np.repeat(longer, counts)
        starts = np.cumsum(counts) - counts
        step = np.arange(len(owner)) - np.repeat(starts, counts) + 1
        more = space.translate_pages(first[owner] + step, need)
        expected = (entries[owner] & np.uint64(_PLACE)) + (step << PAGE_SHIFT).astype(np.uint64)
        plain[owner[more & np.uint64(_PLACE) != expected]] = False
        broken = owner[more == 0]
        fault[broken] = True
        plain[broken] = False
    address = (entries & np.uint64(FRAME_MASK)) + (va & np.uint64(_OFFSET_MASK))
    return Located(address, plain, fault)


@final
class Operand:
    """One side of a command: a range of the address space, or of the client's own memory.

    Lives for one command. Nothing is remembered: every call translates anew, so that a command
    that gives way between two calls never uses what was unmapped in between.
    """

    __slots__ = ("_client", "_space", "access", "address", "size")

    def __init__(
        self, queue: WorkQueue, command: WorkCommand, field: str, size: int, access: Access
    ) -> None:
        """Take `size` bytes from the address in `field` ("source" or "destination") of a command.

        Raises:
            EngineFault: BAD_COMMAND for a range that leaves the addresses there are.
        """
        client = bool(int(command.flags) & _CLIENT_FLAG[field])
        address: int = getattr(command, field)
        check_range(command, field, address, size, access, client=client)
        self.address = address
        self.size = size
        self.access = access
        self._space = queue.space
        self._client: EngineClient | None = queue.client if client else None

    @property
    def space(self) -> AddressSpace | None:
        """The address space, or None for client memory."""
        return None if self._client is not None else self._space

    def extents(self, offset: int, size: int) -> Extents:
        """Return where a part of it stands.

        Raises:
            EngineFault: at the first page that cannot be accessed.
        """
        address = self.address + offset
        if self._client is not None:
            return Extents.through(self._client.window, address, size)
        return self._space.translate(address, size, self.access)

    def span(self, offset: int, size: int) -> range:
        """Return the virtual addresses of a part of it; none for client memory."""
        if self._client is not None:
            return range(0)
        return range(self.address + offset, self.address + offset + size)

    def overlaps(self, other: Operand) -> bool:
        """Whether both count in the same addresses and share some."""
        return (
            (self._client is None) == (other._client is None)
            and self.address < other.address + other.size
            and other.address < self.address + self.size
        )


def engine_fault(
    memory: MemoryController, space: AddressSpace | None, error: MemoryFault
) -> EngineFault:
    """Return the fault record's view of an access that failed behind translation.

    The page-table entry is read again, for the record; without a space (client memory took part,
    and the address may be the client's) there is none.
    """
    va = error.va or 0
    if space is not None:
        found = walk(memory, space.tables.root, va)
        if found.fault is None:
            return EngineFault(error.reason, va, error.access, found.level, found.entry)
    return EngineFault(error.reason, va, error.access)
