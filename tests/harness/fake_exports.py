"""The exports of a device that is not there, as the sessions of several processes share them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from firmware.abi import control as c
from firmware.abi import replies as r
from firmware.abi.handshake import MAX_DESCRIPTORS
from firmware.abi.status import Status
from hostdriver.core.questions import Answer
from tests.harness.replies import refused

if TYPE_CHECKING:
    from hostdriver.core.intervals import IntervalMap

PAGE = 4096
Exporting: TypeAlias = "c.Export | c.ExportObject"
SharingCommand: TypeAlias = "Exporting | c.ExportOpen | c.ExportPut | c.ImportFiles"
SHARING = (c.Export, c.ExportObject, c.ExportOpen, c.ExportPut, c.ImportFiles)


@dataclass(slots=True)
class FakeDevice:
    """What the sessions of one device share: its exports."""

    exports: dict[bytes, Exporting] = field(default_factory=dict[bytes, Exporting])
    file_count: int = 0
    """How many of the pages of every export stand in a memory file each, from the first on."""
    last: int = 0

    def number(self) -> int:
        """Return a new number."""
        self.last += 1
        return self.last

    def answer(self, command: SharingCommand, mapped: IntervalMap[None]) -> Answer:
        """Answer a command on exports of a process that has mapped these addresses."""
        head: dict[str, Any] = {
            "opcode": int(command.OPCODE),
            "status": Status.OK,
            "request": command.request,
        }
        if isinstance(command, c.Export | c.ExportObject):
            return Answer(self._export(command, head, mapped))
        if isinstance(command, c.ImportFiles):
            return self._files(command, head)
        if command.token not in self.exports:
            return Answer(refused(type(command), Status.BAD_TOKEN))
        if isinstance(command, c.ExportPut):
            del self.exports[command.token]
            return Answer(r.Done(**head))
        opened = r.Opened(
            **head,
            import_id=self.number(),
            va=command.va,
            mapped_size=-(-(command.window_offset + command.size_bytes) // PAGE) * PAGE,
            window_offset=command.window_offset,
            size_bytes=command.size_bytes,
            object_count=1,
            file_count=self.file_count,
        )
        return Answer(opened)

    def _export(
        self, command: Exporting, head: dict[str, Any], mapped: IntervalMap[None]
    ) -> r.Reply:
        start = 0
        if isinstance(command, c.Export):
            start = command.va
            hole = mapped.first_gap(start, start + command.size_bytes)
            if hole is not None:
                return refused(c.Export, Status.NOT_MAPPED, hole)
        token = self.number().to_bytes(16, "little")
        self.exports[token] = command
        return r.Exported(
            **head,
            token=token,
            size_bytes=command.size_bytes,
            window_offset=start % PAGE,
            object_count=1,
            device_index=0,
        )

    def _files(self, command: c.ImportFiles, head: dict[str, Any]) -> Answer:
        count = min(self.file_count - command.first, command.capacity, MAX_DESCRIPTORS)
        pages = range(command.first, command.first + count)
        extents = [
            c.FileExtent(offset=page * PAGE, size_bytes=PAGE, file_offset=page, descriptor=at)
            for at, page in enumerate(pages)
        ]
        reply = r.FilesTold(**head, count=count, descriptors=count)
        payload = b"".join(extent.pack() for extent in extents)
        return Answer(reply, payload, tuple(2000 + page for page in pages))
