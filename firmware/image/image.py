"""A verified firmware image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from firmware.abi.boot import FirmwareLimits, FirmwareNote
    from firmware.image.layout import SegmentFlags
    from firmware.image.symbolise import SymbolTable


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of firmware memory: `data`, then zeros up to `memory_size` bytes."""

    address: int
    data: bytes
    memory_size: int
    flags: SegmentFlags

    @property
    def end(self) -> int:
        """First address behind the segment."""
        return self.address + self.memory_size


@final
@dataclass(frozen=True, slots=True)
class FirmwareImage:
    """What the device boots from: code and data, the ABI it speaks, its limits, its symbols.

    Only `load` makes one, and only from bytes that passed every check: segments lie in firmware
    memory in order of address and share no byte, none is both writable and executable, and the
    entry point is an instruction of one of them.
    """

    entry: int
    segments: tuple[Segment, ...]
    note: FirmwareNote
    limits: FirmwareLimits
    symbols: SymbolTable

    @property
    def name(self) -> str:
        """Name of the firmware."""
        return self.note.name.rstrip(b"\0").decode()

    @property
    def version(self) -> str:
        """Version of the firmware."""
        return self.note.version.rstrip(b"\0").decode()

    def symbolise(self, address: int) -> str:
        """Return `address` as `name+0x10`, or in hex when no symbol covers it."""
        return self.symbols.symbolise(address)
