"""Physical memory objects of the application, and where they are mapped."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, final

from firmware.abi.ids import PAGE_SIZE
from hostdriver.core.allocations import PeerObject
from hostdriver.core.intervals import IntervalMap

if TYPE_CHECKING:
    from hostdriver.core.questions import TicketFile

MEDIUM_PAGE: Final = 64 << 10
LARGE_PAGE: Final = 2 << 20


class PhysicalKind(Enum):
    """Where the bytes are."""

    DEVICE = "device"
    HOST = "host"


def page_size_for(size: int) -> int:
    """Return the page size to which memory of `size` bytes on the device is aligned."""
    return LARGE_PAGE if size >= LARGE_PAGE else MEDIUM_PAGE


@final
@dataclass(slots=True, eq=False)
class PhysicalObject:
    """One physical memory object.

    Owner: the driver state of the process that made it. It may be destroyed while nothing maps it
    and no call is about to; exports keep its memory at the device, not this record.
    """

    id: int
    """Number that the process never uses again."""
    device: int
    kind: PhysicalKind
    object_id: int
    """Number by which the device knows it."""
    size: int
    descriptor: int | None = None
    """Its memory file: for mappings that the CPU sees (host memory), or to be passed on."""
    file: TicketFile | None = None
    """The application's descriptor of that file, once it was asked for."""
    peers: tuple[PeerObject, ...] = ()
    """The other devices that know it (host memory)."""
    is_exported: bool = False
    """Whether its descriptor can be passed on (external memory)."""
    is_given: bool = False
    """Whether it was made of a descriptor that the application was given."""
    mapping_count: int = 0
    """Mappings, those that a call is about to make or end included."""
    destroyed: bool = False

    @property
    def homes(self) -> tuple[PeerObject, ...]:
        """Every device that knows it, its own first, and by which number."""
        return PeerObject(self.device, self.object_id), *self.peers

    @property
    def smallest_page(self) -> int:
        """Granularity of its mappings."""
        return PAGE_SIZE if self.kind is PhysicalKind.HOST else MEDIUM_PAGE

    def page_for(self, size: int) -> int:
        """Return what address and size of a mapping of `size` bytes must be multiples of."""
        return PAGE_SIZE if self.kind is PhysicalKind.HOST else page_size_for(size)


class MappingPhase(Enum):
    """Where a mapping is in its life."""

    COMING = "coming"
    """The device was asked to make it."""
    THERE = "there"
    LEAVING = "leaving"
    """The device was asked to remove it."""


@final
@dataclass(slots=True, eq=False)
class Mapping:
    """One zeVirtualMemMap: part of a physical object at a virtual address."""

    start: int
    size: int
    physical: PhysicalObject
    offset: int
    """First byte of the object that it shows."""
    phase: MappingPhase = MappingPhase.COMING

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size


@final
@dataclass(slots=True, eq=False)
class Import:
    """Memory of another process that was opened from an IPC handle."""

    device: int
    import_id: int
    """Number by which the device knows it."""
    start: int
    """First address that was reserved for it."""
    reserved: int
    """Bytes reserved."""
    pointer: int
    """What the application got: where the exporter's window begins."""
    size: int
    """Bytes of the window."""
    in_arena: bool
    id: int = 0
    """Number that the process never uses again."""
    shown: IntervalMap[None] = field(default_factory=IntervalMap[None])
    """Addresses that the CPU may use: what stands in host memory."""
    leaving: bool = False

    @property
    def is_host_visible(self) -> bool:
        """Whether all of it stands in host memory."""
        return self.shown.first_gap(self.pointer, self.pointer + self.size) is None

    @property
    def end(self) -> int:
        """First address behind the reservation."""
        return self.start + self.reserved
