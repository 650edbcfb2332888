"""What the driver knows of one process: its devices, addresses, mappings, imports and exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, final

from firmware.abi.control import SpaceCreate
from firmware.abi.extensions import Extension
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import SpaceCreated
from hostdriver.core.addresses import Place
from hostdriver.core.allocations import Allocation
from hostdriver.core.calls import call
from hostdriver.core.commandlists import CommandList
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.eventpools import EventPool
from hostdriver.core.events import Event
from hostdriver.core.exports import ExportTable
from hostdriver.core.intervals import IntervalMap
from hostdriver.core.lanes import LanePool
from hostdriver.core.memoryfiles import close_files
from hostdriver.core.physical import Import, Mapping, PhysicalObject
from hostdriver.core.questions import DropTicket
from hostdriver.core.releasing import DeferredPlace
from hostdriver.core.reservations import Reservation
from hostdriver.core.slots import PrivateSlots
from hostdriver.core.vaspace import VaSpace
from hostdriver.core.visibility import EVERYTHING, Visibility

if TYPE_CHECKING:
    from collections.abc import Iterator

    from firmware.abi.segment import SpecBlock, Superblock


_NO_EXTENSIONS: Final = Extension(0)


class Profile(IntEnum):
    """Which behaviour the device asks of its driver where documents and drivers differ."""

    SPEC = 0
    INTEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """What a runner knows of a device once it is attached."""

    superblock: Superblock
    spec: SpecBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """What a runner knows of the application's process."""

    pid: int
    devices: tuple[DeviceFacts, ...]
    arena: tuple[int, int] | None
    """Start and size of the address space that was reserved at once, without access."""
    page_size: int = PAGE_SIZE
    """Page size of the operating system."""
    disabled_extensions: Extension = _NO_EXTENSIONS
    """Extensions that this process does without."""
    visibility: Visibility = EVERYTHING
    """Which devices the program sees; it is attached to all of them."""
    socket: str = ""
    """Where the emulator listens, for messages only."""


@final
@dataclass(slots=True, eq=False)
class DeviceState:
    """One device as this process uses it."""

    index: int
    spec: SpecBlock
    payload_size: int
    extensions: Extension
    """What the device offers and the process has not switched off."""
    vmid: int
    """The process's address space on it."""
    lanes: LanePool
    released: int = 0
    """Releases that wait behind work are done up to this number, as the device last told."""

    @property
    def is_range_export_on(self) -> bool:
        """Whether windows over several objects may be exported and opened."""
        return Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE in self.extensions


@final
@dataclass(slots=True, eq=False)
class DriverState:
    """Everything that one process has.

    Owner: whoever runs its coroutines; it begins anew after a fork. Invariants: mappings lie inside
    reservations; reservations, allocations, imports and the driver's own staging memory never
    overlap; an object's `mapping_count` is the number of mappings that name it.
    """

    facts: ProcessFacts
    devices: tuple[DeviceState, ...]
    arena: VaSpace | None
    reservations: IntervalMap[Reservation] = field(default_factory=IntervalMap[Reservation])
    mappings: IntervalMap[Mapping] = field(default_factory=IntervalMap[Mapping])
    allocations: IntervalMap[Allocation] = field(default_factory=IntervalMap[Allocation])
    overlaid: list[Allocation] = field(default_factory=list[Allocation])
    """Imports of the application's memory that overlap an allocation (profile `intel`)."""
    deferred: list[DeferredPlace] = field(default_factory=list[DeferredPlace])
    """Addresses of memory that was freed while work used it."""
    uncovered: list[Place] = field(default_factory=list[Place])
    """Addresses of memory that is gone, at which the CPU still sees it: out of use until then."""
    leaving: list[Allocation] = field(default_factory=list[Allocation])
    """Memory that was freed while a backlog named it; it goes when the devices have all of that."""
    host_pointers: IntervalMap[None] = field(default_factory=IntervalMap[None])
    """Memory of the application that it made known beforehand."""
    imports: IntervalMap[Import] = field(default_factory=IntervalMap[Import])
    exports: ExportTable = field(default_factory=ExportTable)
    physical: dict[int, PhysicalObject] = field(default_factory=dict[int, PhysicalObject])
    private_slots: PrivateSlots = field(default_factory=PrivateSlots)
    events: dict[int, Event] = field(default_factory=dict[int, Event])
    """Events that were not destroyed, by number."""
    event_pools: dict[int, EventPool] = field(default_factory=dict[int, EventPool])
    streams: dict[int, Stream] = field(default_factory=dict[int, Stream])
    lists: dict[int, CommandList] = field(default_factory=dict[int, CommandList])
    """Regular command lists; immediate ones are streams."""
    last_id: int = 0
    note: str = ""
    """What the last call ignored, in words."""

    @property
    def profile(self) -> Profile:
        """Behaviour where documents and drivers differ."""
        return Profile(self.devices[0].spec.profile)

    @property
    def faults_stop_contexts(self) -> bool:
        """Whether all work of a context stops when some of it fails."""
        return self.profile is Profile.INTEL

    @property
    def emulator_id(self) -> int:
        """Number of the emulator, part of every handle."""
        return self.facts.devices[0].superblock.emulator_id

    def memories(self) -> Iterator[Allocation | PhysicalObject]:
        """Iterate over all memory that this process made, as it is now."""
        yield from tuple(self.physical.values())
        yield from [entry.value for entry in self.allocations]

    def next_id(self) -> int:
        """Return a number that this process never had before."""
        self.last_id += 1
        return self.last_id

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        for intervals in (self.reservations, self.mappings, self.allocations, self.imports):
            intervals.check()
        self.exports.check()
        for stream in self.streams.values():
            stream.check()
        counts = dict.fromkeys(self.physical, 0)
        for entry in self.mappings:
            mapping = entry.value
            counts[mapping.physical.id] += 1
            reservation = self.reservations.at(mapping.start)
            if reservation is None or not reservation.value.holds(mapping.start, mapping.size):
                raise AssertionError(f"the mapping at {mapping.start:#x} is in no reservation")
        for entry_ in self.reservations:
            entry_.value.access.check()
        for number, physical in self.physical.items():
            if physical.mapping_count != counts[number]:
                raise AssertionError(
                    f"object {number} counts {physical.mapping_count} mappings, has"
                    f" {counts[number]}"
                )


async def finish(state: DriverState) -> None:
    """Close the descriptors that a process holds; its devices take the rest by themselves."""
    for memory in state.memories():
        await close_files(memory)
    for export in state.exports:
        state.exports.discard(export)
        if not export.carries_memory:
            await DropTicket(export.ticket)


async def begin(facts: ProcessFacts) -> DriverState:
    """Make the state of a process that has just attached: an address space on each device.

    Raises:
        Refusal: a device has no room for an address space.
        ZeError: a device is lost.
    """
    devices: list[DeviceState] = []
    for index, device in enumerate(facts.devices):
        created = await call(index, SpaceCreate(request=0), SpaceCreated)
        devices.append(
            DeviceState(
                index=index,
                spec=device.spec,
                payload_size=device.superblock.payload_size,
                extensions=Extension(device.spec.extensions) & ~facts.disabled_extensions,
                vmid=created.vmid,
                lanes=LanePool(),
            )
        )
    arena = None if facts.arena is None else VaSpace(*facts.arena)
    return DriverState(facts=facts, devices=tuple(devices), arena=arena)
