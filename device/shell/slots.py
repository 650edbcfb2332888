"""Waking who sleeps on slots of fence pools, in whatever process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.shell.hostmemory import MemoryFile
from firmware.link.linux import fence, futex_wake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.effects import WakeSlot


def wake_slots(effects: Sequence[WakeSlot]) -> None:
    """Wake the sleepers of slots whose values were all stored before this call.

    The other half of this protocol is `firmware.link.waiting`: a sleeper counts itself, fences, and
    looks at the value; here the value was stored, then comes the fence, then the look at the count.
    """
    if not effects:
        return
    fence()
    for effect in effects:
        file = effect.file
        # A file that was closed meanwhile: no client has the pool any more.
        if not isinstance(file, MemoryFile) or not file.address:
            continue
        at = effect.sleepers
        if any(file.view[at : at + 4]):
            futex_wake(file.address + effect.word)
