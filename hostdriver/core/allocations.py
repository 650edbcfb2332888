"""Memory that the application allocated: where each piece is, and what the device knows it by."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from hostdriver.core.questions import TicketFile
    from hostdriver.core.state import DriverState


class AllocationKind(Enum):
    """How an allocation was made."""

    DEVICE = "device"
    HOST = "host"
    SHARED = "shared"
    IMPORTED = "imported host"
    """The application's own pages."""


class PeerObject(NamedTuple):
    """What a device knows of memory that another one made."""

    device: int
    object_id: int


@final
@dataclass(slots=True, eq=False)
class Allocation:
    """One allocation.

    Owner: the driver state of the process that made it. From the moment in which a call is about to
    free it (`leaving`) no other call may use it. Exports keep its memory at the device, not this
    record.
    """

    id: int
    """Number that the process never uses again."""
    kind: AllocationKind
    start: int
    """The pointer."""
    size: int
    """Bytes that the application may use."""
    reserved: int
    """Bytes of address space and memory from `start` on, whole pages."""
    device: int
    """Number of the device that holds it; for host memory, that made it."""
    object_id: int
    """Number by which that device knows it."""
    page_size: int
    in_arena: bool = True
    """Whether its addresses come from the arena; never for the application's own pages."""
    descriptor: int | None = None
    """The driver's descriptor of its memory file, where that can be passed on (external memory)."""
    file: TicketFile | None = None
    """The application's descriptor of that file, once it was asked for."""
    owner: int | None = None
    """Device that the application named for it."""
    peers: tuple[PeerObject, ...] = ()
    """Objects of the other devices, which show the same memory at the same address."""
    is_read_only: bool = False
    """Whether devices may only read it."""
    atomics: dict[int, int] = field(default_factory=dict[int, int])
    """Atomic access attributes that were set, by device."""
    leaving: bool = False

    @property
    def end(self) -> int:
        """First address behind what is reserved."""
        return self.start + self.reserved

    @property
    def is_exported(self) -> bool:
        """Whether its descriptor can be passed on (external memory)."""
        return self.descriptor is not None

    @property
    def is_host_visible(self) -> bool:
        """Whether the CPU may use the pointer."""
        return self.kind is not AllocationKind.DEVICE


def allocation_at(state: DriverState, address: int) -> Allocation | None:
    """Return the allocation of which `address` is a byte, unless it is about to go."""
    found = holder_of(state, address)
    if found is None or found.leaving or address >= found.start + found.size:
        return None
    return found


def holder_of(state: DriverState, address: int) -> Allocation | None:
    """Return the allocation that takes `address`, also one that is about to go.

    Of imports that overlap it is one that begins there, if any does.
    """
    entry = state.allocations.at(address)
    found = None if entry is None else entry.value
    if not state.overlaid or (found is not None and found.start == address):
        return found
    below = [item for item in state.overlaid if item.start <= address < item.end]
    begins = next((item for item in below if item.start == address), None)
    return begins or found or next(iter(below), None)
