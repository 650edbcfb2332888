"""Commands on exports and imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.importfiles import send_files
from device.core.mapping import Span
from device.mcu.payload import room, write_records
from device.mcu.replies import done
from device.mcu.routes import Deferred, route
from firmware.abi.control import (
    Export,
    ExportClose,
    ExportFind,
    ExportObject,
    ExportOpen,
    ExportPut,
    FileExtent,
    ImportFiles,
)
from firmware.abi.replies import Exported, FilesTold, Opened
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.exports import Export as MadeExport
    from device.core.hardware import Hardware
    from device.mcu.routes import Outcome, Route
    from firmware.abi.control import ControlCommand


@final
class SharingCommands:
    """Carries out the commands on exports and imports; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._exports = hardware.exports
        self._device_index = hardware.reports.device_index

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [
            route(Export, self._export),
            route(ExportObject, self._export_object),
            route(ExportOpen, self._open),
            route(ImportFiles, self._files),
            route(ExportClose, self._close),
            route(ExportPut, self._put),
            route(ExportFind, self._find),
        ]

    def _export(self, client: Client, command: Export) -> Outcome:
        span = Span(command.va, command.size_bytes)
        return self._exported(command, self._exports.export(client, command.vmid, span))

    def _export_object(self, client: Client, command: ExportObject) -> Outcome:
        part = Span(command.object_offset, command.size_bytes)
        return self._exported(command, self._exports.export_object(client, command.object_id, part))

    def _find(self, client: Client, command: ExportFind) -> Outcome:
        return self._exported(command, self._exports.files.find(client, command.request))

    def _exported(self, command: ControlCommand, made: MadeExport) -> Exported:
        return Exported(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            token=made.token,
            size_bytes=made.size,
            window_offset=made.window_offset,
            object_count=len(made.parts),
            device_index=self._device_index,
        )

    def _open(self, client: Client, command: ExportOpen) -> Outcome:
        opened = self._exports.open(
            client,
            command.vmid,
            command.token,
            command.rights,
            command.va,
            Span(command.window_offset, command.size_bytes),
        )
        export = opened.export
        return Opened(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            import_id=opened.import_id,
            va=opened.va,
            mapped_size=opened.size,
            window_offset=export.window_offset,
            size_bytes=export.size,
            object_count=len(export.parts),
            file_count=len(export.file_parts),
        )

    def _files(self, client: Client, command: ImportFiles) -> Outcome:
        size = command.capacity * FileExtent.SIZE
        area = room(client, command.payload_offset, size)
        extents, files = send_files(
            client, command.request, command.import_id, command.first, command.capacity
        )
        return FilesTold(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            count=write_records(area, extents, FileExtent.SIZE),
            descriptors=len(files),
        )

    def _close(self, client: Client, command: ExportClose) -> Outcome:
        return Deferred(done(command), self._exports.close(client, command.import_id))

    def _put(self, client: Client, command: ExportPut) -> Outcome:
        self._exports.put(client, command.token)
        return done(command)
