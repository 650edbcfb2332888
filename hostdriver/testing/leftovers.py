"""What a program left behind, in words: the leak check of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.core.state import DeviceState, DriverState


class Held(NamedTuple):
    """How much of each kind somebody holds on one device."""

    spaces: int = 0
    queues: int = 0
    objects: int = 0
    exports: int = 0
    imports: int = 0

    def __add__(self, other: object) -> Held:
        """Add kind by kind."""
        if not isinstance(other, Held):
            return NotImplemented
        return Held(*(one + more for one, more in zip(self, other, strict=True)))


def held_by_device(statistics: DeviceStatistics) -> Held:
    """Return what all clients of a device hold together, as the device counts it."""
    return Held(
        spaces=statistics.space_count,
        queues=statistics.queue_count,
        objects=statistics.object_count,
        exports=statistics.export_count,
        imports=statistics.import_count,
    )


def held_by_driver(device: DeviceState) -> Held:
    """Return what a driver keeps for itself while its program holds nothing."""
    lanes = [*device.lanes.idle, *device.lanes.broken]
    staged = sum(lane.stage is not None for lane in lanes)
    return Held(spaces=1, queues=len(lanes), objects=staged)


def left_by_program(state: DriverState) -> Iterator[str]:
    """Yield one line for each thing that a program made and did not give back."""
    for reservation in state.reservations:
        yield f"reservation {reservation.start:#x} to {reservation.end:#x}"
    for mapping in state.mappings:
        yield f"mapping {mapping.start:#x} to {mapping.end:#x}"
    for allocation in state.allocations:
        kind = allocation.value.kind.value
        yield f"{kind} allocation {allocation.start:#x} to {allocation.end:#x}"
    for overlaid in state.overlaid:
        yield f"import of system memory {overlaid.start:#x} to {overlaid.end:#x}"
    for imported in state.imports:
        yield f"import {imported.start:#x} to {imported.end:#x}"
    for physical in state.physical.values():
        kind = physical.kind.value
        yield f"{kind} physical memory {physical.id} of {physical.size:#x} bytes"
    for export in state.exports:
        yield f"IPC handle, {export.uses} gets without a put"
    yield from _left_of_work(state)


def _left_of_work(state: DriverState) -> Iterator[str]:
    for pool in state.event_pools.values():
        yield f"{pool.name} with {len(pool.events)} events"
    yield from (event.name for event in state.events.values())
    yield from (stream.name for stream in state.streams.values())
    yield from (commands.name for commands in state.lists.values())


def complain(lines: Iterable[str]) -> None:
    """Do nothing about nothing.

    Raises:
        AssertionError: there is something; it stands in the text, line by line.
    """
    text = "\n  ".join(lines)
    if text:
        raise AssertionError(f"left behind:\n  {text}")
