"""Commands on address spaces, objects and mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.errors import DeviceError
from device.core.mapping import Span
from device.mcu.payload import read_rows, room, write_records
from device.mcu.replies import done
from device.mcu.routes import Deferred, route
from firmware.abi.control import (
    Map,
    MapExtent,
    MapList,
    ObjectCreate,
    ObjectDestroy,
    ObjectKind,
    Protect,
    ProtectList,
    Query,
    RangeExtent,
    SegmentRegister,
    SegmentUnregister,
    SpaceCreate,
    SpaceDestroy,
    TlbInvalidate,
    TranslationExtent,
    Unmap,
    UnmapList,
)
from firmware.abi.replies import (
    Invalidated,
    Mapped,
    ObjectCreated,
    Queried,
    SpaceCreated,
)
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.acknowledge import Acknowledgement
    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.core.objects import MemoryObject
    from device.mcu.routes import Outcome, Route
    from firmware.abi.control import ControlCommand

NO_HOLE: Final = (1 << 64) - 1
"""`Queried.first_hole` of a range without holes."""
_RIGHTS_AT: Final = next(f.offset for f in RangeExtent.FIELDS if f.name == "rights")


@final
class MemoryCommands:
    """Carries out the commands on address spaces, objects and mappings; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._spaces = hardware.spaces
        self._store = hardware.store
        self._mapper = hardware.mapper

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [
            route(SpaceCreate, self._space_create),
            route(SpaceDestroy, self._space_destroy),
            route(ObjectCreate, self._object_create),
            route(ObjectDestroy, self._object_destroy),
            route(SegmentRegister, self._segment_register),
            route(SegmentUnregister, self._segment_unregister),
            route(Map, self._map),
            route(MapList, self._map_list),
            route(Unmap, self._unmap),
            route(UnmapList, self._unmap_list),
            route(Protect, self._protect),
            route(ProtectList, self._protect_list),
            route(Query, self._query),
            route(TlbInvalidate, self._tlb_invalidate),
        ]

    def _space_create(self, client: Client, command: SpaceCreate) -> Outcome:
        space = self._spaces.create(client)
        return SpaceCreated(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            vmid=space.vmid,
            root_address=space.space.tables.root,
        )

    def _space_destroy(self, client: Client, command: SpaceDestroy) -> Outcome:
        self._spaces.destroy(client, command.vmid)
        return done(command)

    def _object_create(self, client: Client, command: ObjectCreate) -> Outcome:
        made = self._store.create(
            client,
            command.request,
            command.kind,
            command.flags,
            command.size_bytes,
            command.page_size,
        )
        return _created(command, made, int(made.file is not None))

    def _object_destroy(self, client: Client, command: ObjectDestroy) -> Outcome:
        self._store.destroy(client, command.object_id, registered=False)
        return done(command)

    def _segment_register(self, client: Client, command: SegmentRegister) -> Outcome:
        kind, flags = command.kind, command.flags
        if kind is ObjectKind.CLIENT_DESCRIPTOR:
            made = self._store.register_file(
                client, command.request, flags, command.address, command.size_bytes
            )
        elif kind is ObjectKind.CLIENT_PAGES:
            made = self._store.register_pages(client, flags, command.address, command.size_bytes)
        else:
            raise DeviceError(Status.UNSUPPORTED, kind)
        return _created(command, made, 0)

    def _segment_unregister(self, client: Client, command: SegmentUnregister) -> Outcome:
        self._store.destroy(client, command.object_id, registered=True)
        return done(command)

    def _map(self, client: Client, command: Map) -> Outcome:
        pages = self._mapper.map(
            client,
            command.vmid,
            Span(command.va, command.size_bytes),
            command.object_id,
            command.object_offset,
            command.rights,
        )
        return _mapped(command, pages)

    def _map_list(self, client: Client, command: MapList) -> Outcome:
        rows = read_rows(client, command.payload_offset, command.count, MapExtent)
        return _mapped(command, self._mapper.map_list(client, command.vmid, rows))

    def _unmap(self, client: Client, command: Unmap) -> Outcome:
        span = Span(command.va, command.size_bytes)
        return _changed(command, *self._mapper.unmap(client, command.vmid, span))

    def _unmap_list(self, client: Client, command: UnmapList) -> Outcome:
        rows = read_rows(client, command.payload_offset, command.count, RangeExtent)
        if rows["rights"].any():
            first = int(rows["rights"].argmax())
            raise DeviceError(Status.MALFORMED, first * RangeExtent.SIZE + _RIGHTS_AT)
        return _changed(command, *self._mapper.unmap_list(client, command.vmid, rows))

    def _protect(self, client: Client, command: Protect) -> Outcome:
        span = Span(command.va, command.size_bytes)
        return _changed(command, *self._mapper.protect(client, command.vmid, span, command.rights))

    def _protect_list(self, client: Client, command: ProtectList) -> Outcome:
        rows = read_rows(client, command.payload_offset, command.count, RangeExtent)
        return _changed(command, *self._mapper.protect_list(client, command.vmid, rows))

    def _query(self, client: Client, command: Query) -> Outcome:
        size = command.capacity * TranslationExtent.SIZE
        area = room(client, command.payload_offset, size)
        extents, total, hole = self._spaces.query(
            client, command.vmid, command.va, command.size_bytes, command.capacity
        )
        count = write_records(area, extents, TranslationExtent.SIZE)
        return Queried(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            count=count,
            total=total,
            first_hole=NO_HOLE if hole is None else hole,
        )

    def _tlb_invalidate(self, client: Client, command: TlbInvalidate) -> Outcome:
        entries, acknowledgement = self._spaces.invalidate(
            client, command.scope, command.vmid, command.va, command.size_bytes
        )
        reply = Invalidated(
            opcode=command.OPCODE, status=Status.OK, request=command.request, entry_count=entries
        )
        return Deferred(reply, acknowledgement)


def _mapped(command: ControlCommand, pages: int) -> Mapped:
    return Mapped(
        opcode=command.OPCODE, status=Status.OK, request=command.request, page_count=pages
    )


def _changed(command: ControlCommand, pages: int, acknowledgement: Acknowledgement) -> Deferred:
    return Deferred(_mapped(command, pages), acknowledgement)


def _created(command: ControlCommand, made: MemoryObject, descriptors: int) -> ObjectCreated:
    return ObjectCreated(
        opcode=command.OPCODE,
        status=Status.OK,
        request=command.request,
        object_id=made.object_id,
        size_bytes=made.size,
        bus_address=made.bus_address,
        page_size=made.page_size,
        descriptors=descriptors,
    )
