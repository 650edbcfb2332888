"""Page tables: four levels of 512 entries of 64 bits, 48-bit virtual addresses.

Tables live in VRAM and the walker reads these very bits. Level 3 is the root. A leaf may stand at
level 2 (1 GiB), level 1 (2 MiB) or level 0 (4 KiB); a 64 KiB leaf is sixteen level-0 entries with
the `contiguous` bit, all sixteen or none (anything else is a malformed entry).
"""

from enum import IntEnum
from typing import Final, NamedTuple

from firmware.abi._word import Word, bit, bits, choice
from firmware.abi.ids import PAGE_SHIFT, Rights


class Aperture(IntEnum):
    """Which memory a frame number counts in."""

    LOCAL = 0
    """This device's VRAM."""
    BUS = 1
    """Bus addresses: system memory that the device gave a bus address at registration."""
    PEER = 2
    """VRAM of the device named by `peer`."""


class Pte(Word):
    """Leaf page-table entry: one page of device, system or peer memory."""

    valid = bit(0, "Entry takes part in translation; when clear, all other bits must be zero.")
    leaf = bit(1, "Set: this entry ends the walk.")
    read = bit(2, "Loads permitted.")
    write = bit(3, "Stores permitted.")
    atomic = bit(4, "Atomic operations permitted.")
    aperture = choice(6, 5, Aperture, "Which memory the frame number counts in.")
    contiguous = bit(7, "One of sixteen entries that form a 64 KiB page (level 0 only).")
    null = bit(8, "No memory behind the page: loads give zero, stores are dropped.")
    frame = bits(47, 12, "Frame number: address of the page divided by 4 KiB.")
    peer = bits(53, 48, "Peer device, for the peer aperture; else zero.")


class Pde(Word):
    """Page-directory entry: points to the table of the next level, always in local VRAM."""

    valid = bit(0, "Entry takes part in translation; when clear, all other bits must be zero.")
    leaf = bit(1, "Clear: the walk goes on.")
    frame = bits(47, 12, "VRAM frame of the next table.")


class Level(NamedTuple):
    """Geometry of one table level."""

    number: int
    shift: int
    """Bytes covered by one entry, as a power of two."""
    leaf_allowed: bool


ENTRY_SIZE: Final = 8
"""Size of a page-table entry in bytes."""
TABLE_SHIFT: Final = 9
"""Bits of an address that choose an entry of one page table."""
TABLE_ENTRIES: Final = 1 << TABLE_SHIFT
"""Entries of a page table."""
TABLE_SIZE: Final = TABLE_ENTRIES * ENTRY_SIZE
"""Size of a page table in bytes."""
LEVELS: Final = tuple(
    Level(number, PAGE_SHIFT + TABLE_SHIFT * number, number < 3) for number in range(4)
)
"""Levels 0 (page table) to 3 (root)."""
ROOT_LEVEL: Final = 3
"""Level of the root page table."""

RIGHTS_SHIFT: Final = Pte.read.low
"""The three rights bits of a `Pte` are `Rights` shifted by this."""
RIGHTS_MASK: Final = Pte.read.mask | Pte.write.mask | Pte.atomic.mask
CONTIGUOUS_ENTRIES: Final = 16
"""Level-0 entries of one 64 KiB page."""
FRAME_MASK: Final = Pte.frame.mask
"""Mask of the frame bits; also the page's byte address, since frames are 4 KiB."""


def leaf_entry(
    address: int,
    rights: Rights,
    aperture: Aperture = Aperture.LOCAL,
    *,
    contiguous: bool = False,
    null: bool = False,
    peer: int = 0,
) -> Pte:
    """Return the leaf entry for the page at byte `address` of `aperture`.

    Raises:
        ValueError: an address that is not page aligned or does not fit.
    """
    if address & ~FRAME_MASK:
        message = f"page address {address:#x} does not fit a page-table entry"
        raise ValueError(message)
    value = (
        Pte.valid.mask
        | Pte.leaf.mask
        | (int(rights) << RIGHTS_SHIFT)
        | Pte.aperture.of(aperture)
        | address
        | Pte.peer.of(peer)
    )
    if contiguous:
        value |= Pte.contiguous.mask
    if null:
        value |= Pte.null.mask
    return Pte(value)


def directory_entry(table_address: int) -> Pde:
    """Return the entry that points to the table at VRAM byte `table_address`."""
    if table_address & ~FRAME_MASK:
        message = f"table address {table_address:#x} does not fit a page-directory entry"
        raise ValueError(message)
    return Pde(Pde.valid.mask | table_address)
