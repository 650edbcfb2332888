"""Structures of memory allocation: descriptors that the calls take, properties that they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from hostdriver.api.structures import ChainedDesc
from hostdriver.core.enums import (
    DeviceMemAllocFlags,
    DriverMemoryFreePolicyExtFlags,
    HostMemAllocFlags,
    MemoryCompressionHintsExtFlags,
    MemoryType,
    RelaxedAllocationLimitsExpFlags,
    RelaxedAllocationLimitsExtFlags,
    StructureType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.device import Device
    from hostdriver.api.structures import UnknownDesc

FREE_AT_ONCE: Final = DriverMemoryFreePolicyExtFlags(0)
NO_LIMIT_FLAGS: Final = RelaxedAllocationLimitsExtFlags(0)
NO_LIMIT_EXP_FLAGS: Final = RelaxedAllocationLimitsExpFlags(0)
NO_HINT: Final = MemoryCompressionHintsExtFlags(0)
NO_DEVICE_FLAGS: Final = DeviceMemAllocFlags(0)
NO_HOST_FLAGS: Final = HostMemAllocFlags(0)


@dataclass(frozen=True, slots=True)
class DeviceMemAllocDesc:
    """How memory of a device is made, and the device's part of shared memory."""

    stype: ClassVar[StructureType] = StructureType.DEVICE_MEM_ALLOC_DESC
    flags: DeviceMemAllocFlags = NO_DEVICE_FLAGS
    ordinal: int = 0
    """Which of the device's memories."""
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class HostMemAllocDesc:
    """How host memory is made, and the host's part of shared memory."""

    stype: ClassVar[StructureType] = StructureType.HOST_MEM_ALLOC_DESC
    flags: HostMemAllocFlags = NO_HOST_FLAGS
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class RelaxedAllocationLimitsExtDesc(ChainedDesc):
    """Allow an allocation to be larger than the device's `max_mem_alloc_size`."""

    stype: ClassVar[StructureType] = StructureType.RELAXED_ALLOCATION_LIMITS_EXT_DESC
    flags: RelaxedAllocationLimitsExtFlags = NO_LIMIT_FLAGS


@dataclass(frozen=True, slots=True)
class RelaxedAllocationLimitsExpDesc(ChainedDesc):
    """The same under its experimental tag."""

    stype: ClassVar[StructureType] = StructureType.RELAXED_ALLOCATION_LIMITS_EXP_DESC
    flags: RelaxedAllocationLimitsExpFlags = NO_LIMIT_EXP_FLAGS


@dataclass(frozen=True, slots=True)
class MemoryCompressionHintsExtDesc(ChainedDesc):
    """Say whether memory may be compressed; what is read back does not depend on it."""

    stype: ClassVar[StructureType] = StructureType.MEMORY_COMPRESSION_HINTS_EXT_DESC
    flags: MemoryCompressionHintsExtFlags = NO_HINT
    """Exactly one."""


@dataclass(frozen=True, slots=True)
class MemoryFreeExtDesc:
    """How memory is freed while work uses it."""

    stype: ClassVar[StructureType] = StructureType.MEMORY_FREE_EXT_DESC
    free_policy: DriverMemoryFreePolicyExtFlags = FREE_AT_ONCE
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAllocationProperties:
    """What a pointer names."""

    stype: ClassVar[StructureType] = StructureType.MEMORY_ALLOCATION_PROPERTIES
    type: MemoryType
    id: int
    """Never used again in a process; 0 for memory that is not the driver's."""
    page_size: int
    device: Device | None = None
    """The device that it was allocated on or opened for, where there is one."""
    p_next: tuple[ChainedDesc, ...] = ()
    """Answers to what was chained to the question."""
