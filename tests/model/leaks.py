"""The leak oracle: how many things of each kind there have to be, here and at the device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.model.oracle import GRANULE

if TYPE_CHECKING:
    from tests.model.oracle import Process
    from tests.model.play import Play
    from tests.model.stores import Piece


OF_PROCESS = ("descriptors", "mapped_bytes")
"""What a process has as a whole, whichever driver in it has it."""


def check(play: Play) -> None:
    """Compare what every process and the device hold with what the oracle says.

    Raises:
        AssertionError: something is there that nobody needs, or the other way round.
    """
    stages = lanes = 0
    for process in play.world.processes:
        usage = play.do(process, "usage")
        stages += usage["stages"]
        lanes += usage["lanes"]
        expected = _expected(process, play.usage[process])
        if not play.cast.is_apart:
            expected = {name: expected[name] for name in expected if name not in OF_PROCESS}
        _compare(f"process {process.number}", usage, expected)
    audit = play.cast.audit()
    processes = play.world.processes
    stores = play.world.stores()
    empty = play.empty
    tables = audit.table_bytes - empty.table_bytes
    _compare(
        "device",
        {
            "clients": audit.clients,
            "spaces": audit.spaces,
            "objects": audit.objects,
            "exports": audit.exports,
            "imports": audit.imports,
            "queues": audit.queues,
            "bytes": empty.free_bytes - audit.free_bytes - tables,
        },
        {
            "clients": empty.clients + len(processes),
            "spaces": empty.spaces + len(processes),
            "objects": empty.objects + stages + len(stores),
            "exports": empty.exports + sum(len(p.handles) for p in processes),
            "imports": empty.imports + sum(len(p.openings) for p in processes),
            "queues": empty.queues + lanes,
            "bytes": sum(store.size for store in stores if not store.is_host),
        },
    )


def _compare(who: str, found: dict[str, int], expected: dict[str, int]) -> None:
    wrong = {name: found[name] for name in expected if found[name] != expected[name]}
    right = {name: expected[name] for name in wrong}
    assert not wrong, f"{who} has {wrong}, expected {right}"


def _expected(process: Process, began: dict[str, int]) -> dict[str, int]:
    """Return how many things of each kind a process has, by name."""
    hosts = sum(thing.store.is_host for thing in process.objects)
    mapped = sum(m.size for m in process.mappings if m.object.store.is_host)
    mapped += sum(a.store.size for a in process.allocations if a.store.is_host)
    mapped += sum(_pages(p) for o in process.openings for p in o.pieces if p.store.is_host)
    ranges = len(process.reservations) + len(process.openings) + len(process.allocations)
    return {
        "reservations": len(process.reservations),
        "mappings": len(process.mappings),
        "allocations": len(process.allocations),
        "openings": len(process.openings),
        "handles": len(process.handles),
        "objects": len(process.objects),
        "addresses": ranges,
        "descriptors": began["descriptors"] + hosts + len(process.handles),
        "mapped_bytes": began["mapped_bytes"] + mapped,
        "outside": 0,
    }


def _pages(piece: Piece) -> int:
    """Return the bytes of the whole pages that hold a piece."""
    first = piece.offset & -GRANULE
    return (piece.offset + piece.size - first + GRANULE - 1) & -GRANULE


def clear(play: Play) -> None:
    """Have every process give back all it has; afterwards they are as they began."""
    for process in play.world.processes:
        for opening in process.openings:
            play.expect(None, process, "close", opening.pointer)
        for handle in process.handles:
            for _ in range(handle.uses):
                play.expect(None, process, "put", handle.raw)
        for reservation in process.reservations:
            play.expect(None, process, "free", reservation.start, reservation.size)
        for thing in process.objects:
            play.expect(None, process, "destroy", thing.number)
        for allocation in process.allocations:
            play.expect(None, process, "free_memory", allocation.start)
        process.openings.clear()
        process.handles.clear()
        process.reservations.clear()
        process.mappings.clear()
        process.objects.clear()
        process.allocations.clear()
        usage = play.do(process, "usage")
        assert usage["free_addresses"] == play.usage[process]["free_addresses"]
    check(play)


def finish(play: Play) -> None:
    """Give back all, end every process, and find the device as it was before."""
    clear(play)
    for process in list(play.world.processes):
        play.leave(process)
    _compare(
        "device", vars(replace(play.cast.audit(), faults=0)), vars(replace(play.empty, faults=0))
    )
