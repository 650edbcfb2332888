"""Device memory: frames and their owners, bytes and errors, bus windows, copies and fills."""

from device.core.memory.blocks import Run
from device.core.memory.bus import BusSpace, BusStatistics
from device.core.memory.controller import MemoryController
from device.core.memory.ecc import Ecc, EccStatistics
from device.core.memory.extents import Columns, Extent, Extents
from device.core.memory.frames import BuddyAllocator, FrameStatistics
from device.core.memory.ownership import DEVICE, SHARED, FrameOwners
from device.core.memory.statistics import MemoryStatistics
from device.core.memory.traffic import Bank, Traffic, TrafficStatistics
from device.core.memory.transfer import Chunk
from device.core.memory.vram import Vram
from device.core.memory.windows import FileWindow, PagesWindow, Window

__all__ = [
    "DEVICE",
    "SHARED",
    "Bank",
    "BuddyAllocator",
    "BusSpace",
    "BusStatistics",
    "Chunk",
    "Columns",
    "Ecc",
    "EccStatistics",
    "Extent",
    "Extents",
    "FileWindow",
    "FrameOwners",
    "FrameStatistics",
    "MemoryController",
    "MemoryStatistics",
    "PagesWindow",
    "Run",
    "Traffic",
    "TrafficStatistics",
    "Vram",
    "Window",
]
