"""Which export stands in a memory file: who has the file may open what is exported of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.exports import Export


@final
class ExportedFiles:
    """The live exports that show one object from the first byte of its memory file on, by the file.

    Owner: the export table, which tells it of each export that begins and ends.
    """

    def __init__(self) -> None:
        self._exports: dict[tuple[int, int], list[Export]] = {}

    def note(self, export: Export) -> None:
        """Enter an export, if it stands in a file in this way."""
        if (identity := _file_of(export)) is not None:
            self._exports.setdefault(identity, []).append(export)

    def forget(self, export: Export) -> None:
        """Remove an export that can be opened no more; its object is still there."""
        if (identity := _file_of(export)) is not None:
            self._exports[identity].remove(export)
            if not self._exports[identity]:
                del self._exports[identity]

    def find(self, client: Client, request: int) -> Export:
        """Return the newest export that stands in the file which came with a request number.

        Raises:
            DeviceError: BAD_DESCRIPTOR when no file came; BAD_TOKEN when nothing that is exported
                stands in it.
        """
        identity = client.port.identify_descriptor(request)
        if identity is None:
            raise DeviceError(Status.BAD_DESCRIPTOR)
        found = self._exports.get(identity)
        if not found:
            raise DeviceError(Status.BAD_TOKEN)
        return found[-1]


def _file_of(export: Export) -> tuple[int, int] | None:
    """Return the file in which all of an export stands from the file's first byte on."""
    parts = export.parts
    memory = parts.memories[0]
    if len(parts) != 1 or parts.offsets[0] or export.window_offset or memory.file_offset:
        return None
    return None if memory.file is None else memory.file.identity
