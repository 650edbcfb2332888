"""The account of one program: what it called, moved and allocated, and what it did not free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import msgspec

from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.work import Copy, CopyRegion, Fill, decode_work
from hostdriver.channel.names import ContextRecord
from hostdriver.channel.structures import Structure
from hostdriver.channel.work import EventRecord, FenceRecord, ListRecord, PoolRecord, QueueRecord
from hostdriver.core.physical import PhysicalObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from firmware.abi.channel import CallCounts
    from firmware.abi.faults import FaultRecord
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState

MOST_TOLD: Final = 1000
"""Pieces of memory, handles and faults of each kind that are told one by one."""
_ALLOCATING: Final = {
    "zeMemAllocDevice": "device",
    "zeMemAllocHost": "host",
    "zeMemAllocShared": "shared",
    "zePhysicalMemCreate": "physical",
}
"""Functions that give memory, and its kind."""
_HANDLES: Final = {
    ContextRecord: "context",
    QueueRecord: "command queue",
    ListRecord: "command list",
    PoolRecord: "event pool",
    EventRecord: "event",
    FenceRecord: "fence",
}


@final
class FunctionCount(msgspec.Struct, frozen=True):
    """Calls of one function."""

    function: int
    """Its number in the interface."""
    calls: int
    errors: int
    nanoseconds: int
    """All calls together."""
    longest: int
    """Nanoseconds of the longest."""


@final
class Allocated(msgspec.Struct):
    """Memory of one kind that a program asked for and got."""

    kind: str
    count: int = 0
    size_bytes: int = 0


@final
class Left(msgspec.Struct, frozen=True):
    """Memory or address space that a program had when it ended."""

    what: str
    """What it is, and how it is given back."""
    pointer: int
    """0 where it has none."""
    size_bytes: int


@final
class LeftHandle(msgspec.Struct, frozen=True):
    """A handle that a program did not destroy."""

    kind: str
    number: int
    """As traces show it."""


@final
class MetFault(msgspec.Struct, frozen=True):
    """A fault that a command of the program met."""

    device: int
    reason: str
    va: int


@final
class Account(msgspec.Struct, frozen=True):
    """All of it."""

    pid: int
    name: str
    calls: list[FunctionCount]
    allocated: list[Allocated]
    copied_bytes: int
    """By commands that were given to a device."""
    filled_bytes: int
    commands: int
    faults: list[MetFault]
    fault_count: int
    left: list[Left]
    left_count: int
    left_bytes: int
    """Of memory; address space does not count."""
    handles: list[LeftHandle]
    handle_count: int


@final
@dataclass(slots=True)
class Tally:
    """What is counted while a program runs."""

    allocated: dict[str, Allocated] = field(default_factory=dict[str, Allocated])
    copied_bytes: int = 0
    filled_bytes: int = 0
    commands: int = 0
    faults: list[MetFault] = field(default_factory=list[MetFault])
    fault_count: int = 0

    def note_success(self, arguments: Arguments) -> None:
        """Count what a call gave that has ended well."""
        kind = _ALLOCATING.get(arguments.spec.name)
        if kind is None:
            return
        desc = arguments.values.get("desc")
        size = desc.number("size") if isinstance(desc, Structure) else arguments.number("size")
        row = self.allocated.setdefault(kind, Allocated(kind))
        row.count += 1
        row.size_bytes += size

    def note_commands(self, commands: bytes) -> None:
        """Count what work commands move."""
        for at in range(0, len(commands), WORK_COMMAND_SIZE):
            self.commands += 1
            match decode_work(commands[at : at + WORK_COMMAND_SIZE]):
                case Copy() as copy:
                    self.copied_bytes += copy.size_bytes
                case CopyRegion() as box:
                    self.copied_bytes += box.width * box.height * box.depth
                case Fill() as fill:
                    self.filled_bytes += fill.size_bytes
                case _:
                    pass

    def note_fault(self, device: int, record: FaultRecord) -> None:
        """Count a fault."""
        self.fault_count += 1
        if len(self.faults) < MOST_TOLD:
            self.faults.append(MetFault(device, record.reason.name, record.va))


def close_account(
    pid: int,
    name: str,
    tally: Tally,
    counts: Mapping[int, CallCounts],
    state: DriverState | None,
    names: Names,
) -> Account:
    """Return the account of a program that has ended; what it has now it did not free."""
    memory = [] if state is None else list(_memory(state))
    addresses = [] if state is None else list(_addresses(state))
    left = [*memory, *addresses]
    handles = sorted(_handles(names), key=lambda handle: handle.number)
    return Account(
        pid=pid,
        name=name,
        calls=[
            FunctionCount(number, row.calls, row.errors, row.nanoseconds, row.longest)
            for number, row in sorted(counts.items())
        ],
        allocated=list(tally.allocated.values()),
        copied_bytes=tally.copied_bytes,
        filled_bytes=tally.filled_bytes,
        commands=tally.commands,
        faults=tally.faults,
        fault_count=tally.fault_count,
        left=left[:MOST_TOLD],
        left_count=len(left),
        left_bytes=sum(piece.size_bytes for piece in memory),
        handles=handles[:MOST_TOLD],
        handle_count=len(handles),
    )


def _memory(state: DriverState) -> Iterator[Left]:
    allocations = [entry.value for entry in state.allocations]
    for allocation in (*allocations, *state.overlaid):
        if not allocation.leaving:
            what = f"{allocation.kind.value} memory"
            yield Left(what, allocation.start, allocation.size)
    for physical in state.physical.values():
        if not physical.destroyed:
            yield Left(f"physical {physical.kind.value} memory", 0, physical.size)
    for opened in state.imports:
        if not opened.value.leaving:
            yield Left("opened memory handle", opened.value.pointer, opened.value.size)


def _addresses(state: DriverState) -> Iterator[Left]:
    for reservation in state.reservations:
        yield Left("reserved addresses", reservation.value.start, reservation.value.size)


def _handles(names: Names) -> Iterator[LeftHandle]:
    for number, thing in names.objects():
        if isinstance(thing, PhysicalObject) or (
            isinstance(thing, ContextRecord) and thing.is_default
        ):
            continue
        kind = next((text for each, text in _HANDLES.items() if isinstance(thing, each)), "")
        yield LeftHandle(kind or type(thing).__name__, number)
