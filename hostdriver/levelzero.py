"""Level Zero for Python programs: `from hostdriver import levelzero as ze`."""

from firmware.abi.extensions import Extension
from hostdriver.api.context import Context
from hostdriver.api.device import Device
from hostdriver.api.driver import Driver, connect
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.api.physical_handle import PhysicalMem
from hostdriver.api.structures import (
    AddressRange,
    ChainedDesc,
    ContextDesc,
    DeviceMemoryProperties,
    DeviceProperties,
    IpcMemHandleTypeExtDesc,
    IpcPhysMemHandleRangeExtDesc,
    PhysicalMemDesc,
    PhysicalMemProperties,
    UnknownDesc,
)
from hostdriver.core.enums import (
    ContextFlags,
    DeviceMemAllocFlags,
    DevicePropertyFlags,
    DeviceType,
    HostMemAllocFlags,
    IpcMemHandleTypeFlags,
    IpcMemoryFlags,
    MemoryAccessAttribute,
    PhysicalMemFlags,
    StructureType,
)
from hostdriver.core.reservations import AccessRun
from hostdriver.core.results import ZeError, ZeResult

__all__ = [
    "AccessRun",
    "AddressRange",
    "ChainedDesc",
    "Context",
    "ContextDesc",
    "ContextFlags",
    "Device",
    "DeviceMemAllocDesc",
    "DeviceMemAllocFlags",
    "DeviceMemoryProperties",
    "DeviceProperties",
    "DevicePropertyFlags",
    "DeviceType",
    "Driver",
    "Extension",
    "HostMemAllocDesc",
    "HostMemAllocFlags",
    "IpcMemHandleTypeExtDesc",
    "IpcMemHandleTypeFlags",
    "IpcMemoryFlags",
    "IpcPhysMemHandleRangeExtDesc",
    "MemoryAccessAttribute",
    "PhysicalMem",
    "PhysicalMemDesc",
    "PhysicalMemFlags",
    "PhysicalMemProperties",
    "StructureType",
    "UnknownDesc",
    "ZeError",
    "ZeResult",
    "connect",
]
