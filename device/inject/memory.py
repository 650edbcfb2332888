"""Device memory: frames that run out, and errors in those that engines read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError
from firmware.abi.ids import PAGE_SHIFT
from firmware.abi.status import Status
from firmware.inject.actions import Correctable, Retire, Uncorrectable

if TYPE_CHECKING:
    from device.core.memory import Run
    from device.inject.rounds import InjectedRounds


@final
class AllocateTap:
    """Reaches `memory.allocate` whenever frames are given out, page tables' own included."""

    points = frozenset({"memory.allocate"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        self._memory = rounds.inside.blocks.memory
        self._take = self._memory.take_frames

    def install(self) -> None:
        """Come in between the memory controller and its allocator."""
        self._take, self._memory.take_frames = self._memory.take_frames, self._allocate

    def remove(self) -> None:
        """Go out."""
        self._memory.take_frames = self._take

    def _allocate(self, count: int, align_frames: int) -> list[Run]:
        site = self._rounds.site(size=count << PAGE_SHIFT)
        if self._rounds.ask("memory.allocate", site) is not None:
            raise DeviceError(Status.OUT_OF_DEVICE_MEMORY, self._memory.free_bytes)
        return self._take(count, align_frames)


@final
class AccessTap:
    """Reaches `memory.access` at each read or write of consecutive bytes of VRAM.

    An error is at the address that the rule names, or anywhere in the bytes. One that comes with a
    write is met by the next read; without ECC the write covers it.
    """

    points = frozenset({"memory.access"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        self._memory = rounds.inside.blocks.memory

    def install(self) -> None:
        """Watch every access; from now on none takes a short way."""
        self._memory.local.ecc.watch(self._accessed)

    def remove(self) -> None:
        """Watch no more; errors stay in their cells."""
        self._memory.local.ecc.unwatch()

    def _accessed(self, address: int, size: int) -> None:
        hit = self._rounds.ask("memory.access", self._rounds.site(address=address, size=size))
        if hit is None:
            return
        place = address + hit.bits % size if hit.address < 0 else hit.address
        match hit.action:
            case Correctable():
                self._memory.inject_correctable(place)
            case Uncorrectable():
                self._memory.inject_poison(place)
            case Retire():
                self._memory.retire(place >> PAGE_SHIFT)
            case _:
                pass
