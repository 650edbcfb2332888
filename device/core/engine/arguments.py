"""Checks of what commands ask for, beyond what their records say. All raise before any effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from device.core.errors import EngineFault
from firmware.abi.faults import FaultReason
from firmware.abi.ids import VA_LIMIT, Access
from firmware.abi.work import (
    Copy,
    CopyRegion,
    FenceTimes,
    FenceWrite,
    Fill,
    MemoryAdd,
    MemoryWait,
    MemoryWrite,
    TimestampWrite,
    WorkCommand,
    WorkFlags,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firmware.abi._malformed import Malformed

CLIENT_LIMIT: Final = 1 << 48
"""First address that no process has (four-level tables): client-memory operands end before it."""
_BOTH: Final = WorkFlags.CLIENT_SOURCE | WorkFlags.CLIENT_DESTINATION
_FENCES: Final = WorkFlags.STAMP_START | WorkFlags.KEEP_START | WorkFlags.RAISE_ONLY
_FLAGS: Final[Mapping[type[WorkCommand], WorkFlags]] = {
    Copy: _BOTH,
    CopyRegion: _BOTH,
    Fill: WorkFlags.CLIENT_DESTINATION,
    TimestampWrite: WorkFlags.CLIENT_DESTINATION,
    MemoryWrite: WorkFlags.CLIENT_DESTINATION,
    MemoryWait: WorkFlags.CLIENT_SOURCE,
    MemoryAdd: WorkFlags.CLIENT_DESTINATION,
    FenceTimes: WorkFlags.CLIENT_DESTINATION,
    FenceWrite: _FENCES,
}
"""Flags that a command understands, the interrupt aside."""


def bad_argument(
    command: WorkCommand, field: str, va: int = 0, access: Access = Access.FETCH
) -> EngineFault:
    """Return the fault of an argument out of range; its detail is the field's offset."""
    offset = next(part.offset for part in command.FIELDS if part.name == field)
    return EngineFault(FaultReason.BAD_COMMAND, va, access, detail=offset)


def bad_bytes(malformed: Malformed) -> EngineFault:
    """Return the fault of a command that does not decode; its detail is the field's offset."""
    return EngineFault(FaultReason.BAD_COMMAND, 0, Access.FETCH, detail=malformed.offset)


def check_flags(command: WorkCommand) -> None:
    """Raise EngineFault for a flag that the command does not have."""
    asked = int(command.flags) & ~int(WorkFlags.INTERRUPT)
    if asked & ~int(_FLAGS.get(type(command), WorkFlags.NONE)):
        raise bad_argument(command, "flags")


def check_range(
    command: WorkCommand, field: str, address: int, size: int, access: Access, *, client: bool
) -> None:
    """Raise EngineFault for an operand that leaves the addresses there are.

    Args:
        command: command that is checked.
        field: name of its field that holds `address`.
        address: first byte.
        size: bytes.
        access: what the engine wants there.
        client: whether it is memory of the client's process, not of the address space.
    """
    if address + size > (CLIENT_LIMIT if client else VA_LIMIT):
        raise bad_argument(command, field, address, access)
