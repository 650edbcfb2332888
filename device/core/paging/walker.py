"""The walker: reads the bits in VRAM and says what they mean, or why they mean nothing.

Whatever stands in VRAM, a walk ends with an answer: bits are data, never a reason to raise.

An entry is malformed when `bits.is_malformed` says so; when it is a directory entry whose table
lies outside VRAM, or stands where none may (level 0); or when it has the contiguous bit and its
group is torn, which means that the sixteen entries are not what one 64 KiB leaf would be. An entry
without the bit is a 4 KiB page of its own, whatever its neighbours are. A leaf of which any part
lies beyond VRAM has a bad aperture as a whole.

`walk` looks at one address and says everything; `wide` has the same for many pages at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from device.core.paging.bits import (
    APERTURE,
    BUS,
    CONTIGUOUS,
    DIRECTORY,
    GROUP_BYTES,
    GROUP_MASK,
    LEAF_BYTES,
    NOT_FRAME,
    NULL,
    SLOT_MASK,
    UNUSUAL,
    VALID_LEAF,
    is_malformed,
    page_entry,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE, VA_LIMIT
from firmware.abi.paging import (
    CONTIGUOUS_ENTRIES,
    FRAME_MASK,
    LEVELS,
    ROOT_LEVEL,
    TABLE_ENTRIES,
    TABLE_SIZE,
)

if TYPE_CHECKING:
    from device.core.paging.ports import Vram

_DESCENT: Final = tuple((level.number, level.shift) for level in reversed(LEVELS))
_OFFSET: Final = PAGE_SIZE - 1


class Walk(NamedTuple):
    """What a walk found."""

    entry: int
    """Entry that ended the walk, as read; zero if there was none."""
    level: int
    """Its level."""
    size: int
    """Bytes that the leaf covers: 4 KiB, 64 KiB, 2 MiB or 1 GiB; zero with a fault."""
    address: int
    """Physical byte address; zero with a fault and for null pages."""
    fault: FaultReason | None
    """NOT_PRESENT, MALFORMED_ENTRY or BAD_APERTURE; None if the address translates."""
    page: int
    """`Pte` of the 4 KiB page alone, without the contiguous bit; zero with a fault."""


def walk(memory: Vram, root: int, va: int) -> Walk:
    """Translate one address with the tables whose root is at VRAM byte `root`."""
    if not 0 <= va < VA_LIMIT:
        return Walk(0, ROOT_LEVEL, 0, 0, FaultReason.NOT_PRESENT, 0)
    words = memory.words
    word, level = _descend(words, root, va)
    entry: int = words[word]
    if not level and entry & UNUSUAL == VALID_LEAF:
        frame = entry & FRAME_MASK
        if entry & BUS or frame < len(words) << 3:
            return Walk(entry, 0, PAGE_SIZE, frame | (va & _OFFSET), None, entry)
    return _judge(words, word, level, va)


def walk_run(memory: Vram, root: int, vpn: int, count: int) -> list[int]:
    """Translate some of `count` consecutive pages: as many as one descent shows to be sound.

    Returns:
        The `Pte` of each page from `vpn` on; none if the first one does not translate. That there
        are no more than these says nothing about the page behind them.
    """
    found = walk(memory, root, vpn << PAGE_SHIFT)
    page = found.page
    if not page:
        return []
    words = memory.words
    limit = len(words) << 3
    if found.size > PAGE_SIZE:
        count = min(count, (found.size >> PAGE_SHIFT) - (vpn & (found.size >> PAGE_SHIFT) - 1))
        if page & NULL:
            return [page] * count
        if not page & APERTURE:
            # Sixteen entries can reach beyond VRAM though the first of them do not.
            count = min(count, (limit - (page & FRAME_MASK)) >> PAGE_SHIFT)
        return list(range(page, page + (count << PAGE_SHIFT), PAGE_SIZE))
    word, _ = _descend(words, root, vpn << PAGE_SHIFT)
    count = min(count, TABLE_ENTRIES - (vpn & SLOT_MASK))
    pages = [page]
    for entry in words[word + 1 : word + count].tolist():
        if entry & UNUSUAL != VALID_LEAF or not (entry & BUS or entry & FRAME_MASK < limit):
            break
        pages.append(entry)
    return pages


def find_leaf(words: memoryview, root: int, va: int) -> int:
    """Return the index of the entry that ends the walk to an address."""
    word, _ = _descend(words, root, va)
    return word


def _descend(words: memoryview, root: int, va: int) -> tuple[int, int]:
    """Return index and level of the entry that ends the walk to an address."""
    last = (len(words) << 3) - TABLE_SIZE
    table = root
    word = 0
    level = ROOT_LEVEL
    for level, shift in _DESCENT:  # noqa: B007 - the level at which the walk ended is wanted
        word = (table >> 3) + ((va >> shift) & SLOT_MASK)
        entry = words[word]
        table = entry & FRAME_MASK
        if entry & NOT_FRAME != DIRECTORY or table > last:
            break
    return word, level


def _judge(words: memoryview, word: int, level: int, va: int) -> Walk:
    """Return the result of a walk that ended at `word`, whatever is there."""
    entry: int = words[word]
    if not entry:
        return Walk(0, level, 0, 0, FaultReason.NOT_PRESENT, 0)
    if is_malformed(entry, level) or (entry & CONTIGUOUS and _is_torn(words, word)):
        return Walk(entry, level, 0, 0, FaultReason.MALFORMED_ENTRY, 0)
    leaf = LEAF_BYTES[level]
    if not entry & (APERTURE | NULL) and entry & FRAME_MASK > (len(words) << 3) - leaf:
        return Walk(entry, level, 0, 0, FaultReason.BAD_APERTURE, 0)
    page = page_entry(entry, (va & (leaf - 1)) >> PAGE_SHIFT)
    address = 0 if entry & NULL else (page & FRAME_MASK) | (va & _OFFSET)
    return Walk(entry, level, GROUP_BYTES if entry & CONTIGUOUS else leaf, address, None, page)


def _is_torn(words: memoryview, word: int) -> bool:
    """Whether the group of the entry at `word` is not one 64 KiB leaf."""
    start = word & ~GROUP_MASK
    group: list[int] = words[start : start + CONTIGUOUS_ENTRIES].tolist()
    first = group[0]
    if not first & CONTIGUOUS:
        return True
    if first & NULL:
        return any((entry ^ first) & NOT_FRAME for entry in group)
    if first & (GROUP_BYTES - PAGE_SIZE):
        return True
    return group != list(range(first, first + GROUP_BYTES, PAGE_SIZE))
