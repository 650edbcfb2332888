"""Control commands: round trip, mapping, objects, and a range of 100,000 objects.

A figure counts from the call that submits to the decoded reply, commands encoded before. What the
system itself takes for one mapping, or for memory of the same size, is the limit of those that
manage memory.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

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
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    VA,
    alternate,
    attached,
    fence,
    pinned_client,
    processors,
    ring_limit,
    seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.benchmarks.limits import LimitProgram
    from tests.harness.raw_client import RawClient

SIZE = 64 << 10
"""Size of an object."""
OBJECTS = 100_000
RANGE = VA + (1 << 40)
OPENED = VA + (1 << 41)
ROUNDS = 15
RANGE_ROUNDS = 5
SINGLES = 200
PIECES = 10_000
"""Mappings of the limit of a range; the system permits no more than 65,530 in a process."""
POLL_BAR, MAP_BAR, MEMORY_BAR = 20.0, 6.0, 1.0
LIST_BAR, EXPORT_BAR = 0.5, 0.25
"""Two microseconds and one for an object, where the system takes four."""


class Commands:
    """Control commands of one client, each timed."""

    def __init__(self, client: RawClient) -> None:
        self._client = client
        self._vmid = client.space()
        self._object = client.vram(SIZE)
        self._map = self._mapping(VA, self._object).pack()
        self._unmap = Unmap(request=1, vmid=self._vmid, va=VA, size_bytes=SIZE).pack()
        self._nop = Nop(request=1).pack()
        self._create = ObjectCreate(
            request=1, kind=ObjectKind.VRAM, flags=ObjectFlags.NONE, size_bytes=SIZE, page_size=SIZE
        ).pack()

    def _mapping(self, va: int, object_id: int) -> Map:
        return Map(
            request=1,
            vmid=self._vmid,
            rights=READ_WRITE,
            va=va,
            size_bytes=SIZE,
            object_id=object_id,
            object_offset=0,
        )

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
        assert isinstance(made, ObjectCreated)
        self._call(ObjectDestroy(request=1, object_id=made.object_id).pack())


class Range:
    """Many objects of one client, mapped side by side."""

    def __init__(self, client: RawClient, importer: RawClient) -> None:
        self._client, self._importer = client, importer
        self._vmid, self._importer_vmid = client.space(), importer.space()
        numbers = [client.vram(SIZE) for _ in range(OBJECTS)]
        extents = encode_many(
            MapExtent,
            OBJECTS,
            va=range(RANGE, RANGE + OBJECTS * SIZE, SIZE),
            size_bytes=SIZE,
            object_id=numbers,
            object_offset=0,
            rights=READ_WRITE,
        ).tobytes()
        start = client.end.superblock.payload_offset
        client.end.segment.view[start : start + len(extents)] = extents
        self._token = bytes(16)
        self._import = 0

    def map(self) -> float:
        """Return the seconds that mapping all objects takes."""
        command = MapList(request=1, vmid=self._vmid, count=OBJECTS, payload_offset=0)
        return seconds_of(partial(self._client.expect, Mapped, command))

    def unmap(self) -> None:
        """Unmap all objects."""
        self._client.unmap(self._vmid, RANGE, OBJECTS * SIZE)

    def export(self) -> float:
        """Return the seconds that exporting all objects takes."""
        command = Export(request=1, vmid=self._vmid, va=RANGE, size_bytes=OBJECTS * SIZE)
        start = time.perf_counter()
        self._token = self._client.expect(Exported, command).token
        return time.perf_counter() - start

    def open(self) -> float:
        """Return the seconds that another client takes to open and map all objects."""
        start = time.perf_counter()
        opened = self._importer.open(self._importer_vmid, self._token, OPENED, OBJECTS * SIZE, 0)
        elapsed = time.perf_counter() - start
        self._importer.close_import(opened.import_id)
        return elapsed

    def put(self) -> None:
        """Revoke the export."""
        self._client.expect(Reply, ExportPut(request=1, token=self._token))
