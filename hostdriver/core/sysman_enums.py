"""Enumerations of Level Zero about managing devices.

Written by `scripts/gen_level_zero.py`; do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class SysmanDevicePropertyFlags(IntFlag):
    """What a device is like."""

    INTEGRATED = 1
    SUBDEVICE = 2
    ECC = 4
    ONDEMANDPAGING = 8


class SysmanDeviceType(IntEnum):
    """What a device is."""

    GPU = 1
    CPU = 2
    FPGA = 3
    MCA = 4
    VPU = 5


class MemHealth(IntEnum):
    """How many faults a memory has had."""

    UNKNOWN = 0
    OK = 1
    DEGRADED = 2
    CRITICAL = 3
    REPLACE = 4


class MemLoc(IntEnum):
    """Where a memory is."""

    SYSTEM = 0
    DEVICE = 1


class MemType(IntEnum):
    """How a memory is built."""

    HBM = 0
    DDR = 1
    DDR3 = 2
    DDR4 = 3
    DDR5 = 4
    LPDDR = 5
    LPDDR3 = 6
    LPDDR4 = 7
    LPDDR5 = 8
    SRAM = 9
    L1 = 10
    L3 = 11
    GRF = 12
    SLM = 13
    GDDR4 = 14
    GDDR5 = 15
    GDDR5X = 0x10
    GDDR6 = 0x11
    GDDR6X = 0x12
    GDDR7 = 0x13
    LPDDR5X = 0x14
    HBM2 = 0x15
    DDR2 = 0x16
    HBM2E = 0x17
    HBM3 = 0x18
    HBM3E = 0x19
    HBM4 = 0x1A
    LPDDR6 = 0x1B


__all__ = [
    "MemHealth",
    "MemLoc",
    "MemType",
    "SysmanDevicePropertyFlags",
    "SysmanDeviceType",
]
