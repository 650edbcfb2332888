"""The memory files behind opened exports, which the CPU of an importer may map."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from device.core.errors import DeviceError
from firmware.abi.control import FileExtent
from firmware.abi.handshake import MAX_DESCRIPTORS, DescriptorNote
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.exports import Export
    from device.core.ports import SharedFile


class Told(NamedTuple):
    """Some parts of an export that stand in memory files, and the files."""

    extents: list[FileExtent]
    files: list[SharedFile]


def send_files(client: Client, request: int, import_id: int, first: int, capacity: int) -> Told:
    """Send the files of some parts to the client that opened them.

    Args:
        client: who opened.
        request: number of its request, which the descriptors travel under.
        import_id: what it opened.
        first: parts in files to leave out at the beginning.
        capacity: most parts.

    Raises:
        DeviceError: BAD_OBJECT; OUT_OF_HOST_MEMORY when they cannot be sent.
    """
    opened = client.imports.get(import_id)
    if opened is None:
        raise DeviceError(Status.BAD_OBJECT, import_id)
    told = _told(opened.export, first, capacity)
    note = DescriptorNote(
        request=request, count=len(told.files), object_id=import_id, size_bytes=opened.size
    )
    if told.files and not client.port.send_descriptors(note, told.files):
        raise DeviceError(Status.OUT_OF_HOST_MEMORY, opened.size)
    return told


def _told(export: Export, first: int, capacity: int) -> Told:
    """Return what fits into one reply, in order."""
    parts = export.parts
    numbers: dict[int, int] = {}
    told = Told([], [])
    for at in export.file_parts[first : first + capacity]:
        memory = parts.memories[at]
        file = memory.file
        if file is None:
            continue
        if memory.object_id not in numbers:
            if len(told.files) == MAX_DESCRIPTORS:
                break
            numbers[memory.object_id] = len(told.files)
            told.files.append(file)
        told.extents.append(
            FileExtent(
                offset=export.start_of(at),
                size_bytes=parts.sizes[at],
                file_offset=memory.file_offset + parts.offsets[at],
                descriptor=numbers[memory.object_id],
            )
        )
    return told
