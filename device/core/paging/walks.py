"""How address spaces look addresses up: the walker, where something may come in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from device.core.paging.large import translate_large
from device.core.paging.walker import walk, walk_run
from device.core.paging.wide import walk_many, walk_pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.ports import Vram
    from device.core.paging.tlb import Tlb
    from device.core.paging.walker import Walk

    One: TypeAlias = Callable[[Vram, int, int], Walk]
    Run: TypeAlias = Callable[[Vram, int, int, int], list[int]]
    Many: TypeAlias = Callable[[Vram, int, Numbers], Entries]
    Pages: TypeAlias = Callable[[Vram, int, int, int], tuple[Entries, int]]
    Large: TypeAlias = Callable[[Vram, int, Tlb, int, int, int], int]


@final
class Walks:
    """The functions by which engines look addresses up, the same for all spaces of a device.

    Owner: the device. Each may be exchanged for one that passes calls on; of a page that any other
    does not translate, `one` has to say why.
    """

    __slots__ = ("large", "many", "one", "pages", "run")

    def __init__(self) -> None:
        self.one: One = walk
        self.run: Run = walk_run
        self.many: Many = walk_many
        self.pages: Pages = walk_pages
        self.large: Large = translate_large

    def take_over(self, other: Walks) -> None:
        """Use the functions that another one has now."""
        self.one, self.run, self.large = other.one, other.run, other.large
        self.many, self.pages = other.many, other.pages
