"""Enumerations of Level Zero about contexts and memory.

Written by `scripts/gen_level_zero.py`; do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from hostdriver.core.structure_types import StructureType


class ContextFlags(IntFlag):
    """Flags of `ContextDesc`."""

    TBD = 1


class DeviceMemAllocFlags(IntFlag):
    """Flags of `DeviceMemAllocDesc`: wishes, which change nothing here."""

    BIAS_CACHED = 1
    BIAS_UNCACHED = 2
    BIAS_INITIAL_PLACEMENT = 4


class DevicePropertyFlags(IntFlag):
    """Flags of `DeviceProperties`."""

    INTEGRATED = 1
    SUBDEVICE = 2
    ECC = 4
    ONDEMANDPAGING = 8


class DeviceType(IntEnum):
    """What a device is."""

    GPU = 1
    CPU = 2
    FPGA = 3
    MCA = 4
    VPU = 5


class DriverMemoryFreePolicyExtFlags(IntFlag):
    """When freed memory is given back."""

    BLOCKING_FREE = 1
    DEFER_FREE = 2


class ExternalMemoryTypeFlags(IntFlag):
    """Kinds of handle for memory that other programs made."""

    OPAQUE_FD = 1
    DMA_BUF = 2
    OPAQUE_WIN32 = 4
    OPAQUE_WIN32_KMT = 8
    D3D11_TEXTURE = 0x10
    D3D11_TEXTURE_KMT = 0x20
    D3D12_HEAP = 0x40
    D3D12_RESOURCE = 0x80


class HostMemAllocFlags(IntFlag):
    """Flags of `HostMemAllocDesc`."""

    BIAS_CACHED = 1
    BIAS_UNCACHED = 2
    BIAS_WRITE_COMBINED = 4
    BIAS_INITIAL_PLACEMENT = 8
    MEM_READ_ONLY = 0x10


class IpcMemHandleTypeFlags(IntFlag):
    """Kinds of IPC handle."""

    DEFAULT = 1
    FABRIC_ACCESSIBLE = 2


class IpcMemoryFlags(IntFlag):
    """How opened memory is cached."""

    BIAS_CACHED = 1
    BIAS_UNCACHED = 2


class MemoryAccessAttribute(IntEnum):
    """What a device may do with a virtual range."""

    NONE = 0
    READWRITE = 1
    READONLY = 2


class MemoryAdvice(IntEnum):
    """How memory is going to be used."""

    SET_READ_MOSTLY = 0
    CLEAR_READ_MOSTLY = 1
    SET_PREFERRED_LOCATION = 2
    CLEAR_PREFERRED_LOCATION = 3
    SET_NON_ATOMIC_MOSTLY = 4
    CLEAR_NON_ATOMIC_MOSTLY = 5
    BIAS_CACHED = 6
    BIAS_UNCACHED = 7
    SET_SYSTEM_MEMORY_PREFERRED_LOCATION = 8
    CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION = 9


class MemoryAtomicAttrExpFlags(IntFlag):
    """Which atomic operations a shared allocation is to support."""

    NO_ATOMICS = 1
    NO_HOST_ATOMICS = 2
    HOST_ATOMICS = 4
    NO_DEVICE_ATOMICS = 8
    DEVICE_ATOMICS = 0x10
    NO_SYSTEM_ATOMICS = 0x20
    SYSTEM_ATOMICS = 0x40


class MemoryCompressionHintsExtFlags(IntFlag):
    """Whether memory may be compressed."""

    COMPRESSED = 1
    UNCOMPRESSED = 2


class MemoryType(IntEnum):
    """What kind of memory a pointer names."""

    UNKNOWN = 0
    HOST = 1
    DEVICE = 2
    SHARED = 3
    HOST_IMPORTED = 4


class PhysicalMemFlags(IntFlag):
    """Where physical memory is made."""

    ALLOCATE_ON_DEVICE = 1
    ALLOCATE_ON_HOST = 2


class RelaxedAllocationLimitsExpFlags(IntFlag):
    """Limits that an allocation may pass."""

    MAX_SIZE = 1


class RelaxedAllocationLimitsExtFlags(IntFlag):
    """Limits that an allocation may pass."""

    MAX_SIZE = 1


__all__ = [
    "ContextFlags",
    "DeviceMemAllocFlags",
    "DevicePropertyFlags",
    "DeviceType",
    "DriverMemoryFreePolicyExtFlags",
    "ExternalMemoryTypeFlags",
    "HostMemAllocFlags",
    "IpcMemHandleTypeFlags",
    "IpcMemoryFlags",
    "MemoryAccessAttribute",
    "MemoryAdvice",
    "MemoryAtomicAttrExpFlags",
    "MemoryCompressionHintsExtFlags",
    "MemoryType",
    "PhysicalMemFlags",
    "RelaxedAllocationLimitsExpFlags",
    "RelaxedAllocationLimitsExtFlags",
    "StructureType",
]
