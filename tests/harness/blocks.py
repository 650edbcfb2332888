"""The records at the beginning of a segment, of a device that has everything."""

from __future__ import annotations

from typing import Any

from firmware.abi.extensions import Extension
from firmware.abi.ids import Feature
from firmware.abi.segment import SpecBlock, Superblock


def spec_block(**changes: int) -> SpecBlock:
    """Return the specification of a device that has everything."""
    values: dict[str, Any] = {
        "name": b"fake".ljust(64, b"\0"),
        "uuid": bytes(range(16)),
        "vendor_id": 0x8086,
        "device_id": 0xE0E0,
        "pci_address": 0x300,
        "subdevice_count": 0,
        "vram_size": 8 << 30,
        "max_allocation_size": 4 << 30,
        "va_bits": 48,
        "page_sizes": 0x40211000,
        "timer_hz": 1_000_000_000,
        "extensions": int(
            Extension.EXP_RELAXED_ALLOCATION_LIMITS
            | Extension.EXT_EXTERNAL_MEMMAP_SYSMEM
            | Extension.EXT_MEMORY_COMPRESSION_HINTS
            | Extension.EXT_MEMORY_FREE_POLICIES
            | Extension.EXT_RELAXED_ALLOCATION_LIMITS
            | Extension.EXT_IPC_MEM_HANDLE_TYPE
            | Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE
        ),
        "profile": 0,
        "copy_engine_count": 2,
        "compute_engine_count": 1,
        "max_queues": 32,
        "max_spaces": 64,
        "max_objects": 1 << 20,
        "max_range_objects": 0,
        "min_ring_entries": 16,
        "max_ring_entries": 8192,
        "memory_bus_width": 4096,
        "memory_clock_mhz": 3200,
        "core_clock_mhz": 1600,
        "ip_version": 0x030F0007,
        "copy_group": 1,
        "cache_size": 16 << 20,
        "mappable_handles": 0,
    }
    return SpecBlock(**(values | changes))


def superblock(**changes: int) -> Superblock:
    """Return the superblock of a segment that nobody maps."""
    values: dict[str, Any] = {
        "abi_major": 1,
        "abi_minor": 0,
        "device_index": 0,
        "features": Feature(0),
        "segment_size": 1 << 20,
        "emulator_id": 0x1122_3344_5566_7788,
        "client_id": 1,
        "registers_offset": 0x1000,
        "doorbells_offset": 0x2000,
        "doorbell_count": 33,
        "spec_offset": 0x400,
        "control_ring_offset": 0x3000,
        "control_ring_entries": 16,
        "reply_ring_offset": 0x4000,
        "reply_ring_entries": 16,
        "fault_ring_offset": 0x5000,
        "fault_ring_entries": 16,
        "fences_offset": 0x6000,
        "fence_count": 8,
        "ring_pool_offset": 0x8000,
        "ring_pool_size": 0x10000,
        "payload_offset": 0x18000,
        "payload_size": 0x1000,
    }
    return Superblock(**(values | changes))
