"""Structures about a device: what it is, its memory, queues and peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from hostdriver.api.structures import ChainedProperties
from hostdriver.core.structure_types import StructureType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.enums import DevicePropertyFlags, DeviceType, ExternalMemoryTypeFlags
    from hostdriver.core.query_enums import (
        BandwidthUnit,
        CommandQueueGroupPropertyFlags,
        DeviceCachePropertyFlags,
        DeviceFpFlags,
        DeviceMemoryExtType,
        DeviceMemoryPropertyFlags,
        DeviceModuleFlags,
        DeviceP2pPropertyFlags,
        DeviceReadonlyMemoryCapability,
        MemoryAccessCapFlags,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProperties:
    """What a device is."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_PROPERTIES_1_2
    type: DeviceType
    vendor_id: int
    device_id: int
    flags: DevicePropertyFlags
    subdevice_id: int
    """Which sub-device of its device; 0 for a device."""
    core_clock_rate: int
    """Megahertz."""
    max_mem_alloc_size: int
    max_hardware_contexts: int
    max_command_queue_priority: int
    num_threads_per_eu: int
    physical_eu_simd_width: int
    num_eus_per_subslice: int
    num_subslices_per_slice: int
    num_slices: int
    timer_resolution: int
    """Ticks a second."""
    timestamp_valid_bits: int
    kernel_timestamp_valid_bits: int
    uuid: bytes
    """The same in every process and for every run; different for each device and sub-device."""
    name: str
    p_next: Sequence[ChainedProperties] = ()
    """What was asked for besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIpVersionExt(ChainedProperties):
    """Version of the hardware; chained to `DeviceProperties`."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_IP_VERSION_EXT
    ip_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUsablememSizeExtProperties(ChainedProperties):
    """Free memory of the device at this moment; chained to `DeviceProperties`."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES
    curr_usable_mem_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReadonlyMemoryExtProperties(ChainedProperties):
    """What becomes of writes to read-only memory; chained to `DeviceProperties`."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_READONLY_MEMORY_EXT_PROPERTIES
    readonly_capability: DeviceReadonlyMemoryCapability


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemoryProperties:
    """One memory of a device."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_MEMORY_PROPERTIES
    flags: DeviceMemoryPropertyFlags
    max_clock_rate: int
    """Megahertz."""
    max_bus_width: int
    """Bits."""
    total_size: int
    name: str
    p_next: Sequence[ChainedProperties] = ()
    """What was asked for besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemoryExtProperties(ChainedProperties):
    """How memory is built; chained to `DeviceMemoryProperties`."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_MEMORY_EXT_PROPERTIES
    type: DeviceMemoryExtType
    physical_size: int
    read_bandwidth: int
    write_bandwidth: int
    bandwidth_unit: BandwidthUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemoryAccessProperties:
    """How a device may access each kind of memory."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_MEMORY_ACCESS_PROPERTIES
    host_alloc_capabilities: MemoryAccessCapFlags
    device_alloc_capabilities: MemoryAccessCapFlags
    shared_single_device_alloc_capabilities: MemoryAccessCapFlags
    shared_cross_device_alloc_capabilities: MemoryAccessCapFlags
    shared_system_alloc_capabilities: MemoryAccessCapFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCacheProperties:
    """One cache of a device."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_CACHE_PROPERTIES
    flags: DeviceCachePropertyFlags
    cache_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQueueGroupProperties:
    """Queues of one kind; the group's place in the list is the ordinal of its queues."""

    stype: ClassVar[StructureType] = StructureType.COMMAND_QUEUE_GROUP_PROPERTIES
    flags: CommandQueueGroupPropertyFlags
    max_memory_fill_pattern_size: int
    num_queues: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceComputeProperties:
    """How large groups of kernels may be."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_COMPUTE_PROPERTIES
    max_total_group_size: int
    max_group_size_x: int
    max_group_size_y: int
    max_group_size_z: int
    max_group_count_x: int
    max_group_count_y: int
    max_group_count_z: int
    max_shared_local_memory: int
    sub_group_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceModuleProperties:
    """What kernels may use."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_MODULE_PROPERTIES
    spirv_version_supported: int
    """0: no kernels."""
    flags: DeviceModuleFlags
    fp16flags: DeviceFpFlags
    fp32flags: DeviceFpFlags
    fp64flags: DeviceFpFlags
    max_arguments_size: int
    printf_buffer_size: int
    native_kernel_supported: bytes
    """UUID of the format; zeros for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceImageProperties:
    """How large images may be; all 0: there are none."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_IMAGE_PROPERTIES
    max_image_dims_1d: int = 0
    max_image_dims_2d: int = 0
    max_image_dims_3d: int = 0
    max_image_buffer_size: int = 0
    max_image_array_slices: int = 0
    max_samplers: int = 0
    max_read_image_args: int = 0
    max_write_image_args: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceExternalMemoryProperties:
    """Which handles for memory of others a device takes and gives."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_EXTERNAL_MEMORY_PROPERTIES
    memory_allocation_import_types: ExternalMemoryTypeFlags
    memory_allocation_export_types: ExternalMemoryTypeFlags
    image_import_types: ExternalMemoryTypeFlags
    image_export_types: ExternalMemoryTypeFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceP2pProperties:
    """What a device may do to the memory of another one."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_P2P_PROPERTIES
    flags: DeviceP2pPropertyFlags


class PciAddress(NamedTuple):
    """Where a device stands on the bus."""

    domain: int
    bus: int
    device: int
    function: int


class PciSpeed(NamedTuple):
    """How fast the bus is; -1: unknown."""

    gen_version: int = -1
    width: int = -1
    max_bandwidth: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PciExtProperties:
    """A device on the bus."""

    stype: ClassVar[StructureType] = StructureType.PCI_EXT_PROPERTIES
    address: PciAddress
    max_speed: PciSpeed


class GlobalTimestamps(NamedTuple):
    """The clocks of host and device at the same moment."""

    host: int
    """Nanoseconds of the monotonic clock."""
    device: int
    """Ticks of the device."""
