"""Walks of the page tables that find nothing, though all is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.paging import Walk
from device.core.paging.walks import Walks
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import ROOT_LEVEL
from firmware.inject.actions import FailWalk

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.paging import AddressSpace
    from device.core.paging.bits import Entries, Numbers
    from device.core.paging.ports import Vram
    from device.core.paging.tlb import Tlb
    from device.inject.rounds import InjectedRounds


@final
class WalkTap:
    """Reaches `mmu.walk` when an engine looks up what is not in its TLB.

    A few pages are asked for one by one, as are rows of boxes; consecutive pages of a large range
    together, and then the first one that the rule's address does not exclude fails. What looks at
    many pages at once says only that one is missing, and the walk of that page alone says why: it
    is told what was decided, and asks nobody.
    """

    points = frozenset({"mmu.walk"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        self._walks = rounds.inside.blocks.hardware.spaces.walks
        self._turns = rounds.inside.blocks.scheduler.runner
        self._plain = Walks()
        self._decided: dict[tuple[int, int], int] = {}
        """Pages that were found to be missing and not yet walked to: root and page, the level."""

    def install(self) -> None:
        """Come in between address spaces and the walker; commands are run one by one then."""
        self._plain.take_over(self._walks)
        walks = self._walks
        walks.one, walks.run, walks.large = self._one, self._run, self._large
        walks.many, walks.pages = self._many, self._pages
        self._turns.singly(wanted=True)

    def remove(self) -> None:
        """Go out."""
        self._walks.take_over(self._plain)
        self._decided.clear()
        self._turns.singly(wanted=False)

    def _one(self, memory: Vram, root: int, va: int) -> Walk:
        vpn = va >> PAGE_SHIFT
        level = self._decided.pop((root, vpn), None)
        found = self._plain.one(memory, root, va)
        if level is None and not self._fails(root, vpn, 1, found.level):
            return found
        level = self._decided.pop((root, vpn), level)
        return Walk(0, level or 0, 0, 0, FaultReason.NOT_PRESENT, 0)

    def _run(self, memory: Vram, root: int, vpn: int, count: int) -> list[int]:
        """Walk to the first page alone."""
        del count
        if (root, vpn) in self._decided:
            return []
        found = self._plain.one(memory, root, vpn << PAGE_SHIFT)
        if not found.page or self._fails(root, vpn, 1, found.level):
            return []
        return [found.page]

    def _many(self, memory: Vram, root: int, vpns: Numbers) -> Entries:
        pages = self._plain.many(memory, root, vpns)
        for vpn in dict.fromkeys(vpns[pages != 0].tolist()):
            known = (root, vpn) in self._decided
            if known or self._fails(root, vpn, 1, -1):
                pages[vpns == vpn] = 0
                if not known:
                    break
        return pages

    def _pages(self, memory: Vram, root: int, first_vpn: int, count: int) -> tuple[Entries, int]:
        pages, hole = self._plain.pages(memory, root, first_vpn, count)
        level = self._plain.one(memory, root, first_vpn << PAGE_SHIFT).level
        if self._fails(root, first_vpn, count, level):
            missing = [vpn for at, vpn in self._decided if at == root]
            for vpn in missing:
                if first_vpn <= vpn < first_vpn + count:
                    pages[vpn - first_vpn] = 0
        return pages, hole

    def _large(self, memory: Vram, root: int, tlb: Tlb, first: int, count: int, need: int) -> int:
        """Leave large leaves to `_pages`."""
        del memory, root, tlb, first, count, need
        return 0

    def _fails(self, root: int, vpn: int, count: int, level: int) -> bool:
        """Ask for consecutive pages; return whether one is decided to be missing."""
        client, space = self._space_of(root)
        site = self._rounds.site(client, address=vpn << PAGE_SHIFT, size=count * PAGE_SIZE)
        hit = self._rounds.ask("mmu.walk", site._replace(level=level))
        if hit is None or not isinstance(hit.action, FailWalk):
            return False
        page = self._first_missed(space, max(vpn, hit.address >> PAGE_SHIFT), vpn + count)
        if page < 0:
            return False
        self._decided[root, page] = min(max(hit.action.at_level, 0), ROOT_LEVEL)
        return True

    def _first_missed(self, space: AddressSpace | None, vpn: int, stop: int) -> int:
        """Return the first page from `vpn` on that the TLB does not know, or -1."""
        if space is None or stop - vpn == 1:
            return vpn
        tlb = space.tlb
        return next((page for page in range(vpn, stop) if tlb.tags[page & tlb.mask] != page), -1)

    def _space_of(self, root: int) -> tuple[Client | None, AddressSpace | None]:
        for client in self._rounds.state.clients.values():
            for space in client.spaces.values():
                if space.space.tables.root == root:
                    return client, space.space
        return None, None
