"""Control commands: round trip, mapping, objects, and a range of 100,000 objects.

A figure counts from the call that submits to the decoded reply. The limit of commands that manage
memory is what the system itself takes for one mapping, or for as much memory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.batch import encode_many
from firmware.abi.control import (
    Export,
    ExportPut,
    Map,
    MapExtent,
    MapList,
    Nop,
    ObjectCreate,
    ObjectDestroy,
    Unmap,
)
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.ids import READ_WRITE
from firmware.abi.replies import Exported, Mapped, ObjectCreated, Reply
from scripts.benchmarks.limits import limit_program, ring_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    VA,
    alternate,
    apart,
    attached,
    device_process,
    fence,
    median_of,
    pinned_client,
    seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.benchmarks.limits import LimitProgram
    from tests.harness.emulator_process import EmulatorProcess
    from tests.harness.process_client import RawClient

SIZE = 64 << 10
"""Size of an object."""
OBJECTS = 100_000
RANGE = VA + (1 << 40)
OPENED = VA + (1 << 41)
ROUNDS = 15
SINGLES = 200
SINGLES_IN_C = 2_000
RANGE_ROUNDS = 5
PIECES = 10_000
"""Mappings of the limit of a range; the system permits no more than 65,530 in a process."""


class Commands:
    """Control commands of one client."""

    def __init__(self, client: RawClient) -> None:
        vmid = client.space()
        # Something else is mapped beside it, as in every program: page tables are there.
        client.map(vmid, VA + SIZE, SIZE, client.vram(SIZE))
        self._client = client
        self._nop = Nop(request=1).pack()
        self._map = Map(
            request=1,
            vmid=vmid,
            rights=READ_WRITE,
            va=VA,
            size_bytes=SIZE,
            object_id=client.vram(SIZE),
            object_offset=0,
        ).pack()
        self._unmap = Unmap(request=1, vmid=vmid, va=VA, size_bytes=SIZE).pack()
        self._create = ObjectCreate(
            request=1, kind=ObjectKind.VRAM, flags=ObjectFlags.NONE, size_bytes=SIZE, page_size=SIZE
        ).pack()

    def _call(self, command: bytes) -> Reply:
        self._client.send(command)
        reply = self._client.receive()
        if reply.status:
            raise RuntimeError(f"a command of the benchmark was refused: {reply}")
        return reply

    def nothing(self) -> None:
        """Do a round trip."""
        self._call(self._nop)

    def map_and_unmap(self) -> None:
        """Map an object and unmap it."""
        self._call(self._map)
        self._call(self._unmap)

    def create_and_destroy(self) -> None:
        """Make an object and destroy it."""
        made = self._call(self._create)
        if isinstance(made, ObjectCreated):
            self._call(ObjectDestroy(request=1, object_id=made.object_id).pack())


class Range:
    """Many objects of one client, which another one opens."""

    def __init__(self, client: RawClient, importer: RawClient) -> None:
        self._client, self._importer = client, importer
        self._vmid, self._importer_vmid = client.space(), importer.space()
        extents = encode_many(
            MapExtent,
            OBJECTS,
            va=[RANGE + number * SIZE for number in range(OBJECTS)],
            size_bytes=SIZE,
            object_id=[client.vram(SIZE) for _ in range(OBJECTS)],
            object_offset=0,
            rights=READ_WRITE,
        ).tobytes()
        start = client.end.superblock.payload_offset
        client.end.segment.view[start : start + len(extents)] = extents
        self._token = bytes(16)
        self._import = 0

    def map(self) -> None:
        """Map all objects."""
        command = MapList(request=1, vmid=self._vmid, count=OBJECTS, payload_offset=0)
        self._client.expect(Mapped, command)

    def export(self) -> None:
        """Export them all under one token."""
        command = Export(request=1, vmid=self._vmid, va=RANGE, size_bytes=OBJECTS * SIZE)
        self._token = self._client.expect(Exported, command).token

    def open(self) -> None:
        """Let the other client open and map them."""
        size = OBJECTS * SIZE
        opened = self._importer.open(self._importer_vmid, self._token, OPENED, size, 0)
        self._import = opened.import_id

    def undo(self) -> None:
        """Close, revoke and unmap."""
        self._importer.close_import(self._import)
        self._client.expect(Reply, ExportPut(request=1, token=self._token))
        self._client.unmap(self._vmid, RANGE, OBJECTS * SIZE)


class Figure(NamedTuple):
    """A figure beside its limit, in microseconds."""

    what: str
    value: float
    limit: float
    limit_is: str
    bar: float

    def row(self, note: str = "") -> Row:
        """Return the row to report."""
        return Row(
            what=self.what,
            value=self.value,
            unit="us",
            limit=self.limit,
            limit_is=self.limit_is,
            bar=self.bar,
            note=note,
        )


def measure_commands(client: RawClient, system: LimitProgram, ring: LimitProgram) -> list[Row]:
    """Measure commands that concern one object."""
    commands = Commands(client)

    def median(call: Callable[[], None]) -> float:
        return median_of(partial(seconds_of, call), SINGLES) * MICROSECONDS

    nothing, poll, mapping, mmap, making, memory = alternate(
        (
            lambda: median(commands.nothing),
            lambda: ring.ask("fence", 0, SINGLES_IN_C) / 1e3,
            lambda: median(commands.map_and_unmap),
            lambda: system.ask("map", SIZE, SINGLES) / 1e3,
            lambda: median(commands.create_and_destroy),
            lambda: system.ask("memory", SIZE, SINGLES) / 1e3,
        ),
        ROUNDS,
    )
    mmap_is, memory_is = "mmap over a range and back, in C", "memory made and touched, in C"
    figures = (
        Figure("round trip of a control command", nothing, poll, "spinning ring in C", 20),
        Figure("map and unmap 64 KiB", mapping, mmap, mmap_is, 6),
        Figure("make and destroy an object of 64 KiB", making, memory, memory_is, 1),
    )
    return [figure.row() for figure in figures]


def measure_placed(device: EmulatorProcess, client: RawClient) -> list[Row]:
    """Measure what users have: the system chooses the processors, often one for both sides.

    Not by turns: two sides that were apart once and spin since then stay so.
    """
    commands = Commands(client)

    def medians() -> list[float]:
        calls = (commands.nothing, commands.map_and_unmap)
        return [median_of(partial(seconds_of, call), ROUNDS * SINGLES) for call in calls]

    placed = medians()
    with apart(device):
        limits = medians()
    whats = ("round trip, placed by the system", "map and unmap 64 KiB, placed by the system")
    limit_is = "the same with a processor for each side"
    return [
        Figure(what, value * MICROSECONDS, limit * MICROSECONDS, limit_is, 3).row()
        for what, value, limit in zip(whats, placed, limits, strict=True)
    ]


def measure_range(client: RawClient, importer: RawClient, system: LimitProgram) -> list[Row]:
    """Measure commands that concern many objects at once."""
    many = Range(client, importer)

    def per_object(call: Callable[[], None]) -> float:
        return seconds_of(call) / OBJECTS * MICROSECONDS

    def last(call: Callable[[], None]) -> float:
        elapsed = per_object(call)
        many.undo()
        return elapsed

    mapped, exported, opened, mmap = alternate(
        (
            lambda: per_object(many.map),
            lambda: per_object(many.export),
            lambda: last(many.open),
            lambda: system.ask("list", SIZE, PIECES) / 1e3,
        ),
        RANGE_ROUNDS,
    )
    limit_is = "one mmap in C"
    figures = (
        Figure("map, an object", mapped, mmap, limit_is, 0.5),
        Figure("export, an object", exported, mmap, limit_is, 0.25),
        Figure("open and map in another client, an object", opened, mmap, limit_is, 0.5),
    )
    return [figure.row(f"{OBJECTS:,} objects of 64 KiB in one command") for figure in figures]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    # Before anything of this process was given a processor.
    with device_process() as device, attached(device) as client:
        rows = measure_placed(device, client)
    with limit_program("map", PIECES * SIZE) as system:
        with ring_limit([fence()]) as ring, pinned_client() as (_, client):
            rows += measure_commands(client, system, ring)
        with (
            device_process(2 * OBJECTS * SIZE) as device,
            attached(device) as client,
            attached(device, "importer") as importer,
        ):
            rows += measure_range(client, importer, system)
    return rows
