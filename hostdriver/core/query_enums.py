"""Enumerations of Level Zero about drivers and devices.

Written by `scripts/gen_level_zero.py`; do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class ApiVersion(IntEnum):
    """Version of the interface."""

    VERSION_1_0 = 0x10000
    VERSION_1_1 = 0x10001
    VERSION_1_2 = 0x10002
    VERSION_1_3 = 0x10003
    VERSION_1_4 = 0x10004
    VERSION_1_5 = 0x10005
    VERSION_1_6 = 0x10006
    VERSION_1_7 = 0x10007
    VERSION_1_8 = 0x10008
    VERSION_1_9 = 0x10009
    VERSION_1_10 = 0x1000A
    VERSION_1_11 = 0x1000B
    VERSION_1_12 = 0x1000C
    VERSION_1_13 = 0x1000D
    VERSION_1_14 = 0x1000E
    VERSION_1_15 = 0x1000F
    VERSION_1_16 = 0x10010
    VERSION_1_17 = 0x10011
    VERSION_1_18 = 0x10012


class BandwidthUnit(IntEnum):
    """Unit of a bandwidth."""

    UNKNOWN = 0
    BYTES_PER_NANOSEC = 1
    BYTES_PER_CLOCK = 2


class CommandQueueGroupPropertyFlags(IntFlag):
    """What queues of a group can do."""

    COMPUTE = 1
    COPY = 2
    COOPERATIVE_KERNELS = 4
    METRICS = 8


class DeviceCachePropertyFlags(IntFlag):
    """Whether a program may divide a cache."""

    USER_CONTROL = 1


class DeviceEventPropertiesFlags(IntFlag):
    """What counter-based events of a device can do."""

    COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE = 1
    COUNTER_BASED_IPC = 2
    COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION = 4
    COUNTER_BASED_EXTERNAL_INTERRUPT_WAIT = 8


class DeviceFpFlags(IntFlag):
    """What a kind of floating-point number can do."""

    DENORM = 1
    INF_NAN = 2
    ROUND_TO_NEAREST = 4
    ROUND_TO_ZERO = 8
    ROUND_TO_INF = 0x10
    FMA = 0x20
    ROUNDED_DIVIDE_SQRT = 0x40
    SOFT_FLOAT = 0x80


class DeviceMemoryExtType(IntEnum):
    """How memory is built."""

    HBM = 0
    HBM2 = 1
    DDR = 2
    DDR2 = 3
    DDR3 = 4
    DDR4 = 5
    DDR5 = 6
    LPDDR = 7
    LPDDR3 = 8
    LPDDR4 = 9
    LPDDR5 = 10
    SRAM = 11
    L1 = 12
    L3 = 13
    GRF = 14
    SLM = 15
    GDDR4 = 0x10
    GDDR5 = 0x11
    GDDR5X = 0x12
    GDDR6 = 0x13
    GDDR6X = 0x14
    GDDR7 = 0x15
    HBM2E = 0x16
    HBM3 = 0x17
    HBM3E = 0x18
    HBM4 = 0x19
    LPDDR5X = 0x1A
    LPDDR6 = 0x1B


class DeviceMemoryPropertyFlags(IntFlag):
    """Flags of `DeviceMemoryProperties`."""

    TBD = 1


class DeviceModuleFlags(IntFlag):
    """What kernels may use."""

    FP16 = 1
    FP64 = 2
    INT64_ATOMICS = 4
    DP4A = 8


class DeviceP2pPropertyFlags(IntFlag):
    """What a device may do to a peer."""

    ACCESS = 1
    ATOMICS = 2


class DeviceReadonlyMemoryCapability(IntEnum):
    """What a device does with memory that was mapped to be read only."""

    NONE = 0
    HINT = 1
    ENFORCED = 2


class DriverDdiHandleExtFlags(IntFlag):
    """Whether handles begin with the tables of their functions."""

    DDI_HANDLE_EXT_SUPPORTED = 1


class InitDriverTypeFlags(IntFlag):
    """Which drivers are wanted."""

    GPU = 1
    NPU = 2


class InitFlags(IntFlag):
    """Which drivers are wanted (zeInit)."""

    GPU_ONLY = 1
    VPU_ONLY = 2


class IpcPropertyFlags(IntFlag):
    """What may be shared between processes."""

    MEMORY = 1
    EVENT_POOL = 2
    FABRIC_ACCESSIBLE = 4


class LatencyUnit(IntEnum):
    """Unit of a latency."""

    UNKNOWN = 0
    NANOSEC = 1
    CLOCK = 2
    HOP = 3


class MemoryAccessCapFlags(IntFlag):
    """How memory may be accessed."""

    RW = 1
    ATOMIC = 2
    CONCURRENT = 4
    CONCURRENT_ATOMIC = 8


__all__ = [
    "ApiVersion",
    "BandwidthUnit",
    "CommandQueueGroupPropertyFlags",
    "DeviceCachePropertyFlags",
    "DeviceEventPropertiesFlags",
    "DeviceFpFlags",
    "DeviceMemoryExtType",
    "DeviceMemoryPropertyFlags",
    "DeviceModuleFlags",
    "DeviceP2pPropertyFlags",
    "DeviceReadonlyMemoryCapability",
    "DriverDdiHandleExtFlags",
    "InitDriverTypeFlags",
    "InitFlags",
    "IpcPropertyFlags",
    "LatencyUnit",
    "MemoryAccessCapFlags",
]
