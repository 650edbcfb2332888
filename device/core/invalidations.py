"""How translations are forgotten, and how engines acknowledge it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from device.core.paging import AddressSpace

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import Scheduler
    from firmware.abi.control import InvalidateScope


@final
class Invalidations:
    """What whoever changed page tables has done before memory is used again.

    Owner: the device. It keeps nothing. Both functions may be exchanged for others that pass calls
    on.
    """

    __slots__ = ("_scheduler", "acknowledged", "forget")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.forget: Callable[[AddressSpace, InvalidateScope, int, int], int] = (
            AddressSpace.invalidate
        )
        """Forgets a range of a space; returns how many translations there were."""
        self.acknowledged: Callable[[int, int, int], Callable[[], bool]] = self._question
        """Returns the question whether no engine uses a range (vmid, va, size) any more, by a
        translation from before the last `forget`. Once it was answered with yes it stays so."""

    def _question(self, vmid: int, va: int, size: int) -> Callable[[], bool]:
        return partial(self._scheduler.quiesced, vmid, va, size)
