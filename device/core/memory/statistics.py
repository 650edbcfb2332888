"""What the memory controller counts, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device.core.memory.bus import BusStatistics
    from device.core.memory.ecc import EccStatistics
    from device.core.memory.frames import FrameStatistics
    from device.core.memory.traffic import TrafficStatistics


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """What is in use now, and counters since the device was made."""

    size_bytes: int
    free_bytes: int
    table_bytes: int
    """Part of what is used: page tables."""
    retired_bytes: int
    scrubbed_bytes: int
    frames: FrameStatistics
    traffic: TrafficStatistics
    ecc: EccStatistics
    bus: BusStatistics
