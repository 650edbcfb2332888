"""What processes, addresses, handles and memory are to each other, in plain Python.

The oracle knows nothing of commands, page tables or descriptors. It says what each call has to
answer (`why_not_...`: the error, or None), what bytes each address shows, and how many things of
each kind there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.model.stores import Piece, Store, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GRANULE = 4096
PAGE = 64 << 10
LARGE = 2 << 20
NONE, READWRITE, READONLY = 0, 1, 2
"""Access attributes."""
INVALID = "INVALID_ARGUMENT"
NOT_FOUND = "ADDRESS_NOT_FOUND"
IN_USE = "HANDLE_OBJECT_IN_USE"


@dataclass(eq=False)
class Object:
    """A physical memory object that its process has not destroyed."""

    number: int
    """Place in the process's list."""
    store: Store

    def page_for(self, size: int) -> int:
        """Return what address and size of a mapping are multiples of."""
        if self.store.is_host:
            return GRANULE
        return LARGE if size >= LARGE else PAGE


@dataclass(eq=False)
class Mapping:
    """Part of an object at reserved addresses."""

    start: int
    size: int
    object: Object
    offset: int

    @property
    def end(self) -> int:
        return self.start + self.size

    @property
    def piece(self) -> Piece:
        return Piece(self.object.store, self.offset, self.size)


@dataclass(eq=False)
class Reservation:
    """Addresses that a process reserved, with the access of each page."""

    start: int
    size: int
    access: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.access = [NONE] * (self.size // GRANULE)

    @property
    def end(self) -> int:
        return self.start + self.size

    def pages(self, start: int, size: int) -> slice:
        first = (start - self.start) // GRANULE
        return slice(first, first + size // GRANULE)

    def allow(self, start: int, size: int, access: int) -> None:
        self.access[self.pages(start, size)] = [access] * (size // GRANULE)


@dataclass(eq=False)
class Allocation:
    """Memory that a process allocated, whole pages of a store."""

    start: int
    size: int
    """Bytes that it asked for."""
    kind: str
    store: Store

    @property
    def end(self) -> int:
        """First address behind its pages."""
        return self.start + self.store.size


@dataclass(eq=False)
class Handle:
    """An IPC handle that some process got; `uses` gets without a put keep it alive."""

    raw: str
    """Its bytes in hexadecimal."""
    owner: Process
    pieces: list[Piece]
    source: Mapping | Allocation | None
    """The memory whose one handle it is; None for a window."""
    uses: int = 1


@dataclass(eq=False)
class Opening:
    """Memory that a process opened from a handle."""

    pointer: int
    size: int
    pieces: list[Piece]


class Shown(NamedTuple):
    """Consecutive addresses that show one piece, or nothing."""

    size: int
    piece: Piece | None
    access: int


@dataclass(eq=False)
class Process:
    """One process: everything in here ends with it, save what others opened."""

    number: int
    objects: list[Object] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    handles: list[Handle] = field(default_factory=list)
    """Those that open."""
    openings: list[Opening] = field(default_factory=list)

    # --- addresses -------------------------------------------------------------------------------

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Iterate over the addresses that are taken, as start and end."""
        for reservation in self.reservations:
            yield reservation.start, reservation.end
        for allocation in self.allocations:
            yield allocation.start, allocation.end
        for opening in self.openings:
            yield opening.pointer & -GRANULE, opening.pointer + opening.size

    def is_free(self, start: int, size: int) -> bool:
        return all(end <= start or start + size <= first for first, end in self.ranges())

    def mapping_at(self, address: int) -> Mapping | None:
        return next((m for m in self.mappings if m.start <= address < m.end), None)

    def mappings_in(self, start: int, size: int) -> list[Mapping]:
        """Return the mappings that share an address with a range, in order."""
        found = [m for m in self.mappings if m.start < start + size and start < m.end]
        return sorted(found, key=lambda mapping: mapping.start)

    def reservation_at(self, address: int) -> Reservation | None:
        return next((r for r in self.reservations if r.start <= address < r.end), None)

    def holder(self, start: int, size: int) -> Reservation | None:
        """Return the reservation that holds a whole range."""
        found = self.reservation_at(start)
        return found if found is not None and start + size <= found.end else None

    def opening_at(self, address: int) -> Opening | None:
        inside = (o for o in self.openings if o.pointer <= address < o.pointer + o.size)
        return next(inside, None)

    def allocation_at(self, address: int) -> Allocation | None:
        inside = (a for a in self.allocations if a.start <= address < a.start + a.size)
        return next(inside, None)

    def shown(self, start: int, size: int) -> Iterator[Shown]:
        """Iterate over what a device sees along a range that lies in one piece of memory."""
        end = start + size
        while start < end:
            allocation = self.allocation_at(start)
            if allocation is not None:
                length = min(end, allocation.start + allocation.size) - start
                piece = Piece(allocation.store, start - allocation.start, length)
                yield Shown(length, piece, READWRITE)
                start += length
                continue
            opening = self.opening_at(start)
            if opening is not None:
                length = min(end, opening.pointer + opening.size) - start
                for piece in cut(opening.pieces, start - opening.pointer, length):
                    yield Shown(piece.size, piece, READWRITE)
                start += length
                continue
            length = min(end, (start | (GRANULE - 1)) + 1) - start
            mapping, reservation = self.mapping_at(start), self.reservation_at(start)
            if mapping is not None and reservation is not None:
                offset = mapping.offset + start - mapping.start
                access = reservation.access[(start - reservation.start) // GRANULE]
                yield Shown(length, Piece(mapping.object.store, offset, length), access)
            else:
                yield Shown(length, None, NONE)
            start += length

    def pieces(self, start: int, size: int, *, writes: bool = False) -> list[Piece]:
        """Return what a device reads or writes from `start` on, until it faults or is done."""
        allowed = (READWRITE,) if writes else (READWRITE, READONLY)
        found: list[Piece] = []
        for part in self.shown(start, size):
            if part.piece is None or part.access not in allowed:
                break
            found.append(part.piece)
        return found

    # --- what each call has to answer ------------------------------------------------------------

    def why_not_map(self, start: int, size: int, source: Object, offset: int) -> str | None:
        page = source.page_for(size)
        if not size or size % page:
            return "UNSUPPORTED_SIZE"
        if start % page or offset % (GRANULE if source.store.is_host else PAGE):
            return "UNSUPPORTED_ALIGNMENT"
        if self.holder(start, size) is None or offset + size > source.store.size:
            return INVALID
        return INVALID if self.mappings_in(start, size) else None

    def why_not_set_access(self, start: int, size: int) -> str | None:
        """Return the error of setting or asking the access of a range."""
        page = self.page_along(start, size)
        if not size or size % page:
            return "UNSUPPORTED_SIZE"
        if start % page:
            return "UNSUPPORTED_ALIGNMENT"
        return INVALID if self.holder(start, size) is None else None

    def why_not_unmap(self, start: int, size: int) -> str | None:
        page = self.page_along(start, size)
        if not size or size % page:
            return "UNSUPPORTED_SIZE"
        if start % page:
            return "UNSUPPORTED_ALIGNMENT"
        return INVALID if self.reservation_at(start) is None else None

    def why_not_free(self, start: int, size: int) -> str | None:
        if not size or size % GRANULE:
            return "UNSUPPORTED_SIZE"
        if start % GRANULE:
            return "UNSUPPORTED_ALIGNMENT"
        whole = any((r.start, r.size) == (start, size) for r in self.reservations)
        return None if whole else INVALID

    def why_not_export(self, start: int, size: int) -> str | None:
        """Return the error of getting a handle for a window."""
        if not size:
            return "INVALID_SIZE"
        # Whole pages were opened, also where the window covers a part of the first and last.
        if any(
            o.pointer // GRANULE * GRANULE < start + size
            and start < -(-(o.pointer + o.size) // GRANULE) * GRANULE
            for o in self.openings
        ):
            return INVALID
        if any(a.start < start + size and start < a.end for a in self.allocations):
            return INVALID
        at = start
        while at < start + size:
            mapping = self.mapping_at(at)
            if mapping is None:
                return NOT_FOUND
            at = mapping.end
        return None

    def why_not_destroy(self, gone: Object) -> str | None:
        if gone not in self.objects:
            return INVALID
        return IN_USE if any(m.object is gone for m in self.mappings) else None

    def why_not_close(self, pointer: int) -> str | None:
        return None if any(o.pointer == pointer for o in self.openings) else INVALID

    def page_along(self, start: int, size: int) -> int:
        is_fine = any(m.object.store.is_host for m in self.mappings_in(start, max(size, 1)))
        return GRANULE if is_fine else PAGE

    # --- what each call does ---------------------------------------------------------------------

    def unmap(self, mappings: Iterable[Mapping]) -> None:
        """Take mappings away, and with them their plain handles."""
        for mapping in list(mappings):
            self.mappings.remove(mapping)
            self.handles = [h for h in self.handles if h.source is not mapping]
            reservation = self.reservation_at(mapping.start)
            assert reservation is not None
            reservation.allow(mapping.start, mapping.size, NONE)

    def free_allocation(self, allocation: Allocation) -> None:
        """Take an allocation away, and with it its handle."""
        self.allocations.remove(allocation)
        self.handles = [h for h in self.handles if h.source is not allocation]

    def window(self, start: int, size: int) -> list[Piece]:
        """Return what a range shows, whatever the access of mapped memory is now."""
        if self.opening_at(start) or self.allocation_at(start):
            return self.pieces(start, size)
        return [
            Piece(m.object.store, m.offset + low - m.start, high - low)
            for m in self.mappings_in(start, size)
            for low, high in [(max(start, m.start), min(start + size, m.end))]
        ]

    def plain_handle(self, source: Mapping | Allocation) -> Handle | None:
        return next((h for h in self.handles if h.source is source), None)


class World:
    """Everything there is, and every handle that there ever was (the last ones)."""

    def __init__(self) -> None:
        self.processes: list[Process] = []
        self.handles: list[Handle] = []

    def is_open_to_all(self, handle: Handle) -> bool:
        """Return whether a handle opens: neither put, nor is its exporter gone."""
        return handle.owner in self.processes and handle in handle.owner.handles

    def bury(self, process: Process) -> None:
        self.processes.remove(process)

    def stores(self) -> set[Store]:
        """Return the memory that somebody holds: an owner, a handle, or whoever opened one."""
        return {
            store
            for process in self.processes
            for stores in (
                [thing.store for thing in process.objects],
                [allocation.store for allocation in process.allocations],
                [piece.store for handle in process.handles for piece in handle.pieces],
                [piece.store for opening in process.openings for piece in opening.pieces],
            )
            for store in stores
        }
