"""This process's address space: the port by which the driver reserves, maps and protects."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never, final

from firmware.link.linux import areas_of, unmap, view_at
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.questions import (
    FindMissing,
    LoadBytes,
    MapDescriptor,
    ProtectNone,
    Release,
    Reserve,
    StoreBytes,
)
from hostdriver.core.vaspace import align_up
from hostdriver.runtime.spares import Spares
from hostdriver.runtime.system import current

if TYPE_CHECKING:
    from hostdriver.core.questions import SpaceQuestion

LARGEST_ARENA: Final = 8 << 40
SMALLEST_ARENA: Final = 64 << 30


@final
class AddressSpace:
    """What the driver holds of this process's address space.

    Owner: a runner. Invariant: everything reserved is either inaccessible or one of the mappings
    that the driver asked for; nobody else's memory is ever replaced. A child after fork inherits
    the ranges and leaves them alone.
    """

    __slots__ = ("_outside", "_spares", "arena")

    def __init__(self, largest: int = LARGEST_ARENA, smallest: int = SMALLEST_ARENA) -> None:
        """Reserve an arena: `largest` bytes, or half as many as often as the system refuses.

        Args:
            largest: bytes to begin with.
            smallest: fewer are not worth it: there is no arena then.
        """
        self._outside: dict[int, int] = {}
        self._spares = Spares()
        self.arena: tuple[int, int] | None = None
        """Start and size of the arena."""
        size = largest
        while size >= smallest and self.arena is None:
            try:
                self.arena = (current.system.reserve(size), size)
            except OSError:
                size //= 2

    def reserve(self, size: int, hint: int, alignment: int) -> int | None:
        """Reserve a range outside the arena: at `hint` and nowhere else, or aligned if it is 0.

        Returns:
            Its address, or None when the system has no such range.
        """
        try:
            va = current.system.reserve(size, hint) if hint else _reserve_aligned(size, alignment)
        except OSError:
            return None
        self._outside[va] = size
        return va

    def release(self, va: int, size: int) -> None:
        """Give a range back to the system that `reserve` took.

        Raises:
            ValueError: it is no such range.
        """
        if self._outside.get(va) != size:
            raise ValueError(f"{size:#x} bytes at {va:#x} were not reserved like this")
        unmap(va, size)
        del self._outside[va]

    def map_descriptor(self, descriptor: int, offset: int, va: int, size: int) -> str | None:
        """Lay a memory file over a reserved range; return None, or why it cannot be done."""
        try:
            current.system.map_at(va, size, descriptor, offset)
        except OSError as error:
            if error.errno == errno.ENOMEM:
                return f"{error}; a process may have {_map_limit()} mappings (vm.max_map_count)"
            return str(error)
        return None

    def protect_none(self, va: int, size: int) -> None:
        """Make a reserved range inaccessible again, without a moment in which it is free.

        Raises:
            ZeError: the process has no mappings left.
        """
        try:
            self._reserve_again(va, size)
        except OSError as error:
            raise out_of_host_memory(
                f"the mapping at {va:#x} cannot be removed: {error}"
            ) from error

    def _reserve_again(self, va: int, size: int) -> None:
        try:
            current.system.reserve_again(va, size)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            self._spares.spend(partial(current.system.reserve_again, va, size))

    def view(self, va: int, size: int) -> memoryview:
        """Return the bytes of a range that is mapped; using them after that ends the process."""
        return view_at(va, size)

    def store(self, va: int, data: memoryview) -> None:
        """Copy bytes into mapped memory."""
        view_at(va, data.nbytes)[:] = data

    def load(self, va: int, into: memoryview) -> None:
        """Copy bytes out of mapped memory."""
        into[:] = view_at(va, into.nbytes, writable=False)

    def close(self) -> None:
        """Give everything back to the system; a second call does nothing."""
        ranges = [*self._outside.items(), *([self.arena] if self.arena else [])]
        self._outside.clear()
        self._spares.close()
        self.arena = None
        for va, size in ranges:
            unmap(va, size)


def find_missing(pid: int | None, va: int, size: int) -> int | None:
    """Return the first address of a range that a process (None: this one) cannot read, or None.

    Raises:
        OSError: the process may not be looked into, or is gone.
    """
    position = va
    for area in areas_of(pid, va, size):
        if area.start > position or not area.readable:
            break
        position = area.end
    return position if position < va + size else None


def _reserve_aligned(size: int, alignment: int) -> int:
    """Reserve more than needed and give the ends back.

    Raises:
        OSError: the system has no such range.
    """
    whole = size + alignment
    start = current.system.reserve(whole)
    va = align_up(start, alignment)
    for end_start, end in ((start, va), (va + size, start + whole)):
        if end > end_start:
            unmap(end_start, end - end_start)
    return va


def _map_limit() -> str:
    """Return the most mappings that a process may have, as the system writes it."""
    try:
        return Path("/proc/sys/vm/max_map_count").read_text(encoding="ascii").strip()
    except OSError:
        return "too few"


def answer_about_space(
    space: AddressSpace, question: SpaceQuestion | StoreBytes | LoadBytes
) -> object:
    """Answer a question about this process's addresses, and the bytes there."""
    match question:
        case Reserve():
            return space.reserve(question.size, question.hint, question.alignment)
        case MapDescriptor():
            return space.map_descriptor(
                question.descriptor, question.offset, question.va, question.size
            )
        case FindMissing():
            return find_missing(None, question.va, question.size)
        case Release():
            space.release(question.va, question.size)
        case ProtectNone():
            space.protect_none(question.va, question.size)
        case StoreBytes():
            space.store(question.va, question.data)
        case LoadBytes():
            space.load(question.va, question.into)
        case _:
            assert_never(question)
    return None
