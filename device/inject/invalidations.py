"""TLBs that keep what they were told to forget, and acknowledgements that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.inject.rounds import AroundRounds
from firmware.abi.control import InvalidateScope
from firmware.inject.actions import Drop, KeepStale

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.paging import AddressSpace
    from device.inject.rounds import InjectedRounds


@final
class InvalidateTap(AroundRounds):
    """Reaches `mmu.invalidate` when translations are to be forgotten: by unmap, protect, command.

    Stale translations are forgotten when their rule goes, as by any later invalidation. An
    acknowledgement that was lost comes when its rule goes, or the address space: then the reply
    that waits for it comes, and the memory that it holds may be used again.
    """

    points = frozenset({"mmu.invalidate"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._invalidations = rounds.inside.blocks.invalidations
        self._forget = self._invalidations.forget
        self._acknowledged = self._invalidations.acknowledged
        self._stale: dict[AddressSpace, str] = {}
        """Spaces whose TLB kept something, by the rule."""
        self._losing: dict[int, str] = {}
        """Spaces whose next acknowledgement gets lost, by the rule."""
        self._is_in = False

    def install(self) -> None:
        """Come in between page tables and TLBs."""
        parts = self._invalidations
        self._forget, parts.forget = parts.forget, self._invalidate
        self._acknowledged, parts.acknowledged = parts.acknowledged, self._question
        self._is_in = True
        super().install()

    def remove(self) -> None:
        """Go out; what was kept is forgotten, what was lost comes."""
        self._invalidations.forget = self._forget
        self._invalidations.acknowledged = self._acknowledged
        self._is_in = False
        self._let_go()
        super().remove()

    def before(self, now: int) -> None:
        """Let go of what rules did that are gone."""
        del now
        self._let_go()

    def _let_go(self) -> None:
        for space, rule in list(self._stale.items()):
            if not self._holds(rule, space.vmid):
                del self._stale[space]
                self._forget(space, InvalidateScope.SPACE, 0, 0)

    def _invalidate(self, space: AddressSpace, scope: InvalidateScope, va: int, size: int) -> int:
        client = self.rounds.state.clients.get(space.owner)
        hit = self.rounds.ask("mmu.invalidate", self.rounds.site(client, address=va, size=size))
        match None if hit is None else hit.action:
            case KeepStale() if hit is not None:
                self._stale[space] = hit.rule
                return 0
            case Drop() if hit is not None:
                self._losing[space.vmid] = hit.rule
            case _:
                pass
        return self._forget(space, scope, va, size)

    def _question(self, vmid: int, va: int, size: int) -> Callable[[], bool]:
        """Return whether engines acknowledge what was forgotten last."""
        question = self._acknowledged(vmid, va, size)
        rule = self._losing.pop(vmid, None)
        if rule is None:
            return question
        return lambda: not self._holds(rule, vmid) and question()

    def _holds(self, rule: str, vmid: int) -> bool:
        """Whether a rule is still there, and so is the space that it did something to."""
        if not self._is_in or not self.rounds.injector.has(rule):
            return False
        return any(vmid in client.spaces for client in self.rounds.state.clients.values())
