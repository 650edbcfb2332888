"""What every firmware image must have: where it runs, what it holds, and within which bounds.

Builder and reader share this module, and nothing else.
"""

from __future__ import annotations

from enum import IntFlag
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.ids import CACHE_LINE, PAGE_SIZE, WORK_COMMAND_SIZE
from firmware.abi.rings import RingHeader

if TYPE_CHECKING:
    from collections.abc import Mapping

ELF_MAGIC: Final = b"\x7fELF"
ELF_CLASS_64: Final = 2
ELF_LITTLE_ENDIAN: Final = 1
ELF_VERSION: Final = 1
ELF_EXECUTABLE: Final = 2
"""ET_EXEC: an executable that runs where it was linked."""
ELF_RISCV: Final = 243
"""EM_RISCV."""

MEMORY_BASE: Final = 0x8000_0000
"""First address of the micro-controller's memory."""
MEMORY_SIZE: Final = 1 << 20
"""Size of that memory in bytes."""
INSTRUCTION_SIZE: Final = 4
"""Size in bytes, and alignment, of an instruction."""

MAX_PROGRAM_HEADERS: Final = 32
MAX_SECTIONS: Final = 256
MAX_NOTES: Final = 256
MAX_SYMBOLS: Final = 16_384
MAX_NAME: Final = 255
"""Longest name of a section, symbol or note, in bytes."""


class SegmentFlags(IntFlag):
    """Rights of a load segment (p_flags)."""

    EXECUTE = 1
    WRITE = 2
    READ = 4


class Bound(NamedTuple):
    """Values that a limit may have: `low` to `high`, both included, in steps of `unit`."""

    low: int
    high: int
    unit: int = 1
    power_of_two: bool = False

    def allows(self, value: int) -> bool:
        """Return whether `value` is one of them."""
        if self.power_of_two and value.bit_count() != 1:
            return False
        return self.low <= value <= self.high and value % self.unit == 0

    def __str__(self) -> str:
        kind = "a power of two " if self.power_of_two else ""
        kind += f"a multiple of {self.unit} " if self.unit > 1 else ""
        return f"{kind}from {self.low} to {self.high}"


_MIB: Final = 1 << 20
_RING: Final = Bound(16, 65_536, power_of_two=True)
_AREA: Final = Bound(PAGE_SIZE, 256 * _MIB, unit=PAGE_SIZE)

LIMIT_BOUNDS: Final[Mapping[str, Bound]] = MappingProxyType(
    {
        "control_ring_entries": _RING,
        "fault_ring_entries": _RING,
        "min_ring_entries": Bound(2, 65_536, power_of_two=True),
        "max_ring_entries": Bound(2, 65_536, power_of_two=True),
        # The doorbell page has one u32 a queue, and the control queue has the first.
        "max_queues": Bound(1, PAGE_SIZE // 4 - 1),
        "max_clients": Bound(1, 4_096),
        "max_spaces": Bound(1, 65_536),
        "max_objects": Bound(1, 1 << 24),
        "fence_count": Bound(1, 65_536),
        "payload_size": _AREA,
        "ring_pool_size": _AREA,
    }
)
"""Bounds of every limit. At its largest a segment stays far below 4 GiB, so offsets fit a u32."""


def work_ring_size(entries: int) -> int:
    """Return the bytes that a work ring of `entries` commands takes in the pool."""
    size = RingHeader.SIZE + entries * WORK_COMMAND_SIZE
    return -(-size // CACHE_LINE) * CACHE_LINE
