"""Invariants of the whole device, across the borders of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from device.core.errors import InvariantError, hex_address
from device.core.objects import NullPages
from device.core.paging.wide import walk_many
from device.core.parts import columns_of, no_pieces
from firmware.abi.ids import PAGE_SHIFT, PAGE_SIZE
from firmware.abi.paging import RIGHTS_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.core.memory import MemoryController
    from device.core.parts import PieceColumns
    from device.core.spaces import Backing, ClientSpace
    from device.core.state import DeviceState

_BLOCK_PAGES: Final = 1 << 16
"""Pages that are compared at once."""


def check_device(state: DeviceState, hardware: Hardware, memory: MemoryController) -> None:
    """Check everything.

    Raises:
        InvariantError: what contradicts what.
    """
    memory.check()
    hardware.store.check()
    hardware.exports.check()
    _check_frames(state, hardware, memory)
    mappings: dict[int, int] = {}
    for client in state.clients.values():
        _check_client(client)
        hardware.fence_pools.check(client)
        for space in client.spaces.values():
            _check_space(memory, space)
            for piece in space.mappings:
                mappings[id(piece.backing)] = mappings.get(id(piece.backing), 0) + 1
    _check_counts(state, hardware, mappings)


def _check_frames(state: DeviceState, hardware: Hardware, memory: MemoryController) -> None:
    """Check that objects, tables, free and retired frames are all of VRAM."""
    objects = hardware.store.statistics().vram_bytes
    retired = memory.retired_frames << PAGE_SHIFT
    if objects + memory.table_bytes + memory.free_bytes + retired != memory.size:
        raise InvariantError(
            f"VRAM of {memory.size:#x} bytes: {objects:#x} in objects, {memory.table_bytes:#x} in"
            f" tables, {memory.free_bytes:#x} free, {retired:#x} retired"
        )
    spaces = [space for client in state.clients.values() for space in client.spaces.values()]
    tables = sum(space.space.tables.table_count for space in spaces)
    if tables * PAGE_SIZE != memory.table_bytes:
        raise InvariantError(
            f"address spaces have {tables} tables, the memory counts {memory.table_bytes:#x} bytes"
        )
    windows = sum(1 for item in hardware.store if item.bus_address)
    if windows != memory.bus.statistics().window_count:
        raise InvariantError(f"{windows} objects have bus windows, the bus counts another number")


def _check_counts(state: DeviceState, hardware: Hardware, mappings: dict[int, int]) -> None:
    """Check that mappings and exports are counted rightly by what they map and hold."""
    exports: dict[int, int] = {}
    imports: dict[int, int] = {}
    for export in hardware.exports:
        for memory in export.objects:
            exports[id(memory)] = exports.get(id(memory), 0) + 1
    for client in state.clients.values():
        for opened in client.imports.values():
            imports[id(opened.export)] = imports.get(id(opened.export), 0) + 1
            _check_mappings(f"import {opened.import_id}", opened, mappings)
    for memory in hardware.store:
        _check_mappings(f"object {memory.object_id}", memory, mappings)
        if memory.export_count != exports.get(id(memory), 0):
            raise InvariantError(
                f"object {memory.object_id} counts {memory.export_count} exports, of"
                f" {exports.get(id(memory), 0)}"
            )
    for export in hardware.exports:
        # Imports that were closed hold it until the engines have acknowledged.
        if export.open_count < imports.get(id(export), 0):
            raise InvariantError(
                f"export of client {export.client_id} counts {export.open_count} imports, of"
                f" {imports.get(id(export), 0)}"
            )


def _check_mappings(what: str, backing: Backing, mappings: dict[int, int]) -> None:
    if backing.mapping_count != mappings.get(id(backing), 0):
        raise InvariantError(
            f"{what} counts {backing.mapping_count} mappings, address spaces have"
            f" {mappings.get(id(backing), 0)}"
        )


def _check_client(client: Client) -> None:
    """Check what a client has for itself."""
    rings = [*client.queues.values(), *client.dying.values()]
    client.control.check()
    client.doorbells.check(rings)
    client.pool.check(queue.header for queue in rings)
    client.engine.faults.check()
    if client.lost is not None and (client.objects or client.spaces or client.exports):
        raise InvariantError(f"client {client.client_id} lost its session, not its memory")
    for space in client.spaces.values():
        queues = sum(1 for queue in rings if queue.space is space.space)
        if queues != space.queue_count:
            raise InvariantError(f"address space {space.vmid}: {queues} queues run in it")
    _check_sums(client)


def _check_sums(client: Client) -> None:
    """Check what is counted instead of being added up for each command."""
    objects = client.objects.values()
    sums = {
        "bytes of objects": (client.object_bytes, [item.size for item in objects]),
        "bytes of VRAM": (client.vram_bytes, [item.vram_bytes for item in objects]),
        "exported parts": (
            client.exported_parts,
            [len(export.parts) for export in client.exports.values()],
        ),
        "imported parts": (
            client.imported_parts,
            [len(opened.export.parts) for opened in client.imports.values()],
        ),
    }
    for what, (counted, found) in sums.items():
        if counted != sum(found):
            raise InvariantError(
                f"client {client.client_id} counts {counted} {what}, there are {sum(found)}"
            )


def _check_space(memory: MemoryController, space: ClientSpace) -> None:
    """Check that page tables map exactly what the mappings of an address space say."""
    space.space.check()
    space.mappings.check()
    tables = space.space.tables
    if tables.mapped_pages << PAGE_SHIFT != space.mappings.total:
        raise InvariantError(
            f"address space {space.vmid}: page tables map {tables.mapped_pages} pages, its mappings"
            f" hold {space.mappings.total >> PAGE_SHIFT}"
        )
    pieces = no_pieces()
    for start, size, backing, offset in space.mappings:
        if isinstance(backing, NullPages):
            _check_null(memory, space, start, size)
        else:
            backing.append_pieces(pieces, start, offset, size)
    _check_pieces(memory, space, columns_of(pieces))


def _check_null(memory: MemoryController, space: ClientSpace, va: int, size: int) -> None:
    """Check the first and the last page of a null mapping, which may be enormous."""
    ends = np.array([va, va + size - PAGE_SIZE], np.uint64)
    _compare(memory, space, ends, np.full(2, NullPages.entry, np.uint64))


def _check_pieces(memory: MemoryController, space: ClientSpace, pieces: PieceColumns) -> None:
    """Check that every page of every piece is where its memory is."""
    counts = (pieces.size >> np.uint64(PAGE_SHIFT)).astype(np.int64)
    first = 0
    while first < len(counts):
        # As many pieces as make a block, one at least.
        upto = int(np.searchsorted(np.cumsum(counts[first:]), _BLOCK_PAGES)) + 1
        part = slice(first, first + upto)
        count = counts[part]
        numbers = np.arange(int(count.sum()), dtype=np.int64)
        inside = numbers - np.repeat(np.cumsum(count) - count, count)
        offsets = inside.astype(np.uint64) << np.uint64(PAGE_SHIFT)
        pages = np.repeat(pieces.va[part], count) + offsets
        wanted = np.repeat(pieces.entry[part], count) + offsets
        _compare(memory, space, pages, wanted)
        first += upto


def _compare(
    memory: MemoryController,
    space: ClientSpace,
    pages: NDArray[np.uint64],
    wanted: NDArray[np.uint64],
) -> None:
    """Walk pages and compare their entries, whatever their rights."""
    vpns = (pages >> np.uint64(PAGE_SHIFT)).astype(np.int64)
    walked = walk_many(memory, space.space.tables.root, vpns)
    found = walked & np.uint64(~RIGHTS_MASK & (1 << 64) - 1)
    wrong = found != wanted
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InvariantError(
            f"address space {space.vmid}: entry {int(found[index]):#x} at"
            f" {hex_address(int(pages[index]))}, expected {int(wanted[index]):#x}"
        )
