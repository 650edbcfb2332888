"""Structures of memory allocation: descriptors that the calls take, properties that they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from hostdriver.core.enums import DeviceMemAllocFlags, HostMemAllocFlags, StructureType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.structures import ChainedDesc, UnknownDesc

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
