"""Level Zero extensions that a device may offer: one bit each in `SpecBlock.extensions`.

Bits are never given to another extension; new ones are added at the end. A device offers an
extension, the driver lists it when it also implements it.
"""

from __future__ import annotations

from enum import IntFlag
from types import MappingProxyType
from typing import Final


class Extension(IntFlag):
    """Bit of each extension: `EXT_NAME` is `ZE_extension_name`, `EXP_NAME` experimental."""

    EXP_BANDWIDTH_PROPERTIES = 1 << 0
    EXP_BINDLESS_IMAGE = 1 << 1
    EXP_COMMAND_LIST_CLONE = 1 << 2
    EXP_EVENT_POOL_COUNTER_BASED = 1 << 3
    EXP_EVENT_QUERY_TIMESTAMPS = 1 << 4
    EXP_FABRIC = 1 << 5
    EXP_GLOBAL_OFFSET = 1 << 6
    EXP_IMAGE_MEMORY_PROPERTIES = 1 << 7
    EXP_IMAGE_VIEW = 1 << 8
    EXP_IMAGE_VIEW_PLANAR = 1 << 9
    EXP_IMMEDIATE_COMMAND_LIST_APPEND = 1 << 10
    EXP_KERNEL_ALLOCATION_PROPERTIES = 1 << 11
    EXP_MODULE_PROGRAM = 1 << 12
    EXP_MUTABLE_COMMAND_LIST = 1 << 13
    EXP_POWER_SAVING_HINT = 1 << 14
    EXP_RELAXED_ALLOCATION_LIMITS = 1 << 15
    EXP_RTAS_BUILDER = 1 << 16
    EXP_SCHEDULING_HINTS = 1 << 17
    EXP_SUB_ALLOCATIONS = 1 << 18
    EXT_BFLOAT16_CONVERSIONS = 1 << 19
    EXT_CACHE_RESERVATION = 1 << 20
    EXT_DEVICE_CACHE_LINE_SIZE = 1 << 21
    EXT_DEVICE_COMPUTE_DOTPRODUCT_EXT_PROPERTIES = 1 << 22
    EXT_DEVICE_IP_VERSION = 1 << 23
    EXT_DEVICE_LUID = 1 << 24
    EXT_DEVICE_MEMORY_PROPERTIES = 1 << 25
    EXT_DEVICE_NPU_PROPERTIES = 1 << 26
    EXT_DEVICE_USABLEMEM_SIZE_PROPERTIES = 1 << 27
    EXT_DEVICE_VECTOR_SIZES = 1 << 28
    EXT_DRIVER_DDI_HANDLES = 1 << 29
    EXT_EU_COUNT = 1 << 30
    EXT_EVENT_QUERY_KERNEL_TIMESTAMPS = 1 << 31
    EXT_EXTERNAL_MEMMAP_SYSMEM = 1 << 32
    EXT_EXTERNAL_SEMAPHORES = 1 << 33
    EXT_FLOAT_ATOMICS = 1 << 34
    EXT_IMAGE_COPY = 1 << 35
    EXT_IMAGE_FORMAT_SUPPORT = 1 << 36
    EXT_IMAGE_QUERY_ALLOC_PROPERTIES = 1 << 37
    EXT_IMAGE_VIEW = 1 << 38
    EXT_IMAGE_VIEW_PLANAR = 1 << 39
    EXT_INIT_DRIVER_APP_VERSION = 1 << 40
    EXT_IPC_MEM_HANDLE_TYPE = 1 << 41
    EXT_IPC_PHYS_MEM_HANDLE_RANGE = 1 << 42
    EXT_KERNEL_BINARY_EXP = 1 << 43
    EXT_KERNEL_MAX_GROUP_SIZE_PROPERTIES = 1 << 44
    EXT_LINKAGE_INSPECTION = 1 << 45
    EXT_LINKONCE_ODR = 1 << 46
    EXT_MEMORY_COMPRESSION_HINTS = 1 << 47
    EXT_MEMORY_FREE_POLICIES = 1 << 48
    EXT_PCI_PROPERTIES = 1 << 49
    EXT_RAYTRACING = 1 << 50
    EXT_RECORD_REPLAY_GRAPH = 1 << 51
    EXT_RELAXED_ALLOCATION_LIMITS = 1 << 52
    EXT_RTAS = 1 << 53
    EXT_SRGB = 1 << 54
    EXT_SUBGROUPS = 1 << 55
    EXT_VIRTUAL_MEM_READONLY_PROPERTIES = 1 << 56


_PREFIXES: Final = {"EXT": "ZE_extension_", "EXP": "ZE_experimental_"}


def extension_name(extension: Extension) -> str:
    """Return the name of one extension as `zeDriverGetExtensionProperties` lists it."""
    kind, _, rest = str(extension.name).partition("_")
    return _PREFIXES[kind] + rest.lower()


EXTENSIONS_BY_NAME: Final = MappingProxyType({extension_name(bit): bit for bit in Extension})
"""Bit of each extension by its name."""
