"""Page-table entries whose bits flip after they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.paging import walk
from device.core.paging.bits import DIRECTORY, NOT_FRAME, SLOT_MASK
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import FRAME_MASK, LEVELS, ROOT_LEVEL, TABLE_SIZE, Pte
from firmware.inject.actions import Flip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from device.core.paging import AddressSpace
    from device.inject.rounds import InjectedRounds
    from firmware.inject import Hit

_WORD: Final = 64
_FROM_ROOT: Final = tuple((level.number, level.shift) for level in reversed(LEVELS))


@final
class EntryTap:
    """Reaches `mmu.entry` behind each range that was mapped, or got other rights.

    The leaf entries are asked for first, then the directories that lead to them, level by level,
    until a rule fires. Which page's entry it is says the rule's address, else the seed.
    """

    points = frozenset({"mmu.entry"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        self._mapper = rounds.inside.blocks.hardware.mapper
        self._memory = rounds.inside.blocks.memory
        self._inner = self._mapper.written

    def install(self) -> None:
        """Hear of what was written."""
        self._inner, self._mapper.written = self._mapper.written, self._written

    def remove(self) -> None:
        """Hear no more; bits that flipped stay so until the range is mapped anew, or a reset."""
        self._mapper.written = self._inner

    def _written(self, space: AddressSpace, spans: Iterable[tuple[int, int]]) -> None:
        for va, size in spans:
            self._ask(space, va, size)

    def _ask(self, space: AddressSpace, va: int, size: int) -> None:
        rounds = self._rounds
        client = rounds.state.clients.get(space.owner)
        site = rounds.site(client, address=va, size=size)
        leaf = walk(self._memory, space.tables.root, va).level
        for level in range(leaf, ROOT_LEVEL + 1):
            hit = rounds.ask("mmu.entry", site._replace(level=level))
            if hit is not None:
                self._flip(space, hit, level)
                return

    def _flip(self, space: AddressSpace, hit: Hit, level: int) -> None:
        if not isinstance(hit.action, Flip):
            return
        page = hit.bits % (hit.site.size >> PAGE_SHIFT) * PAGE_SIZE
        va = hit.site.address + page if hit.address < 0 else hit.address
        word = self._word_at(space.tables.root, va, level)
        self._memory.words[word] ^= mask_of(hit.action, hit.bits)

    def _word_at(self, root: int, va: int, level: int) -> int:
        """Return the index of the entry on the way to an address: of a level, or where it ends."""
        words = self._memory.words
        table, word = root, 0
        for number, shift in _FROM_ROOT:
            word = (table >> 3) + ((va >> shift) & SLOT_MASK)
            entry = words[word]
            table = entry & FRAME_MASK
            ends = entry & NOT_FRAME != DIRECTORY or table > self._memory.size - TABLE_SIZE
            if number == level or ends:
                break
        return word


def mask_of(action: Flip, bits: int) -> int:
    """Return the bits of an entry that an action flips; `bits` choose what it leaves open."""
    fields = {field.name: field for field in Pte.FIELDS}
    field = fields.get(action.field)
    low, width = (0, _WORD) if field is None else (field.low, field.width)
    if action.mask:
        return (action.mask & (1 << width) - 1) << low
    left = list(range(low, low + width))
    mask = 0
    for _ in range(min(max(action.bits, 0), width)):
        bits, index = divmod(bits, len(left))
        mask |= 1 << left.pop(index)
    return mask
