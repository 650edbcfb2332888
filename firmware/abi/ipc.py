"""IPC handle: the 64 bytes by which one process names memory to another.

Programs copy it by value, overwrite the descriptor with one they received, or send the descriptor
alone. `token` is a capability from the system's random source: the device knows what is behind it.
The check word covers bytes 4 to 59; a descriptor may be exchanged without breaking it.
"""

import zlib
from enum import IntEnum
from typing import Final

from firmware.abi._record import Record, wire
from firmware.abi._wire import I32, U8, U16, U32, U64, raw

IPC_MAGIC: Final = 0x495A_4D45
"""The bytes `EMZI`."""
IPC_VERSION: Final = 1
"""Version of handle and ticket."""
CHECKED: Final = slice(4, 60)
"""Bytes that the check word covers."""


class ExportKind(IntEnum):
    """What a handle names."""

    ALLOCATION = 1
    """One allocation, from its base."""
    RANGE = 2
    """A window over any number of physical objects."""
    EVENT_POOL = 3
    """Events of a pool."""
    COUNTER_EVENT = 4
    """One counter-based event."""


class IpcHandle(Record, size=64):
    """Exported memory, by value."""

    descriptor: int = wire(I32, "Descriptor number in the exporter (or one put there by the user).")
    magic: int = wire(U32, "The bytes `EMZI`.")
    emulator_id: int = wire(U64, "Emulator that holds the export.")
    version: int = wire(U16, "Version of this layout.")
    kind: ExportKind = wire(U8, "What it names.", kinds=ExportKind)
    device_index: int = wire(U8, "Device that holds the memory.")
    descriptor_copy: int = wire(I32, "The exporter's descriptor once more.")
    token: bytes = wire(raw(16), "Capability, 128 random bits.")
    offset: int = wire(U64, "Offset of the memory in its first page or allocation.")
    size_bytes: int = wire(U64, "Size of the memory.")
    pid: int = wire(U32, "Exporter's process, for messages only.")
    check: int = wire(U32, "CRC-32 of bytes 4 to 59.")


def check_word(handle: bytes) -> int:
    """Return the check word of a handle's bytes."""
    return zlib.crc32(handle[CHECKED])


class Ticket(Record, size=64):
    """Content of the descriptor of an export without data: it identifies, it carries no memory."""

    magic: int = wire(U32, "The bytes `EMZI`.")
    version: int = wire(U16, "Version of this layout.")
    kind: ExportKind = wire(U8, "What it names.", kinds=ExportKind)
    device_index: int = wire(U8, "Device that holds the memory.")
    emulator_id: int = wire(U64, "Emulator that holds the export.")
    token: bytes = wire(raw(16), "Capability, 128 random bits.")
    offset: int = wire(U64, "Offset of the memory in its first page or allocation.")
    size_bytes: int = wire(U64, "Size of the memory.")
