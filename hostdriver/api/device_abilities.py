"""What a device can do: access, caches, kernels, peers, handles of others, its clock and state."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from firmware.abi.extensions import Extension
from hostdriver.api.device_structures import (
    DeviceCacheProperties,
    DeviceComputeProperties,
    DeviceExternalMemoryProperties,
    DeviceMemoryAccessProperties,
    DeviceModuleProperties,
    DeviceP2pProperties,
    GlobalTimestamps,
    PciAddress,
    PciExtProperties,
    PciSpeed,
)
from hostdriver.api.validation import check_extension
from hostdriver.core.devicestatistics import device_statistics
from hostdriver.core.enums import ExternalMemoryTypeFlags
from hostdriver.core.query_enums import (
    DeviceCachePropertyFlags,
    DeviceFpFlags,
    DeviceModuleFlags,
    DeviceP2pPropertyFlags,
    MemoryAccessCapFlags,
)
from hostdriver.core.results import Refusal, ZeError, ZeResult, failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.abi.segment import SpecBlock
    from hostdriver.core.state import DeviceState

_GROUP_SIZE: Final = 1024
_GROUP_COUNT: Final = (1 << 32) - 1
_LOCAL_MEMORY: Final = 64 << 10
_SUB_GROUP_SIZES: Final = (16, 32)
_ARGUMENTS_SIZE: Final = 2048
_NOTHING_NATIVE: Final = bytes(16)
_RW: Final = MemoryAccessCapFlags.RW
_WITH_HOST: Final = MemoryAccessCapFlags.RW | MemoryAccessCapFlags.CONCURRENT
_HANDLES: Final = ExternalMemoryTypeFlags.OPAQUE_FD | ExternalMemoryTypeFlags.DMA_BUF
"""Handles for memory of others."""


def memory_access() -> DeviceMemoryAccessProperties:
    """Return how a device accesses memory: each kind but the application's own by plain pointers.

    Host and shared memory may be used by the host and all devices at once: they see the same bytes.
    """
    return DeviceMemoryAccessProperties(
        host_alloc_capabilities=_WITH_HOST,
        device_alloc_capabilities=_RW,
        shared_single_device_alloc_capabilities=_WITH_HOST,
        shared_cross_device_alloc_capabilities=_WITH_HOST,
        shared_system_alloc_capabilities=MemoryAccessCapFlags(0),
    )


def caches(spec: SpecBlock) -> list[DeviceCacheProperties]:
    """Return the caches of a device: the one of its specification, if that has a size."""
    none = DeviceCachePropertyFlags(0)
    return (
        [DeviceCacheProperties(flags=none, cache_size=spec.cache_size)] if spec.cache_size else []
    )


def compute() -> DeviceComputeProperties:
    """Return how large groups of kernels may be."""
    return DeviceComputeProperties(
        max_total_group_size=_GROUP_SIZE,
        max_group_size_x=_GROUP_SIZE,
        max_group_size_y=_GROUP_SIZE,
        max_group_size_z=_GROUP_SIZE,
        max_group_count_x=_GROUP_COUNT,
        max_group_count_y=_GROUP_COUNT,
        max_group_count_z=_GROUP_COUNT,
        max_shared_local_memory=_LOCAL_MEMORY,
        sub_group_sizes=_SUB_GROUP_SIZES,
    )


def modules() -> DeviceModuleProperties:
    """Return what kernels may use: there are none, so SPIR-V is not supported."""
    return DeviceModuleProperties(
        spirv_version_supported=0,
        flags=DeviceModuleFlags(0),
        fp16flags=DeviceFpFlags(0),
        fp32flags=DeviceFpFlags(0),
        fp64flags=DeviceFpFlags(0),
        max_arguments_size=_ARGUMENTS_SIZE,
        printf_buffer_size=0,
        native_kernel_supported=_NOTHING_NATIVE,
    )


def external_memory() -> DeviceExternalMemoryProperties:
    """Return which handles for memory of others a device takes and gives; none for images."""
    nothing = ExternalMemoryTypeFlags(0)
    return DeviceExternalMemoryProperties(
        memory_allocation_import_types=_HANDLES,
        memory_allocation_export_types=_HANDLES,
        image_import_types=nothing,
        image_export_types=nothing,
    )


def can_access(device: int, peer: int) -> bool:
    """Return whether a device reaches a peer's memory: sub-devices of one device do."""
    return device == peer


def peer_properties(device: int, peer: int) -> DeviceP2pProperties:
    """Return what a device may do to a peer's memory."""
    flags = DeviceP2pPropertyFlags
    return DeviceP2pProperties(
        flags=flags.ACCESS | flags.ATOMICS if can_access(device, peer) else flags(0)
    )


def pci_properties(device: DeviceState) -> PciExtProperties:
    """Return where a device stands on the bus (zeDevicePciGetPropertiesExt).

    Raises:
        ZeError: the device does not offer the extension.
    """
    check_extension(device, Extension.EXT_PCI_PROPERTIES)
    number = device.spec.pci_address
    address = PciAddress(
        domain=number >> 16,
        bus=number >> 8 & 0xFF,
        device=number >> 3 & 0x1F,
        function=number & 7,
    )
    return PciExtProperties(address=address, max_speed=PciSpeed())


async def check_status(index: int) -> None:
    """Do nothing for a device that serves this process.

    Raises:
        ZeError: it is lost, or serves this process no more.
    """
    try:
        await device_statistics(index)
    except Refusal as refusal:
        raise failed(refusal, f"device {index} does not tell how it is") from refusal


async def get_status(index: int) -> ZeResult:
    """Return SUCCESS, or DEVICE_LOST for a device that serves this process no more."""
    try:
        await check_status(index)
    except ZeError as error:
        return error.result
    return ZeResult.ZE_RESULT_SUCCESS


async def get_global_timestamps(
    index: int, clock: Callable[[], int] = time.monotonic_ns
) -> GlobalTimestamps:
    """Return the clocks of host and device at the same moment.

    Raises:
        ZeError: the device is lost.
    """
    before = clock()
    try:
        ticks = (await device_statistics(index)).uptime_ticks
    except Refusal as refusal:
        raise failed(refusal, f"the clock of device {index} cannot be read") from refusal
    return GlobalTimestamps(host=(before + clock()) // 2, device=ticks)
