"""Structures of external memory: what the application, or another process, made itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hostdriver.api.structures import ChainedDesc
from hostdriver.core.enums import ExternalMemoryTypeFlags, StructureType


@dataclass(frozen=True, slots=True)
class ExternalMemmapSysmemExtDesc(ChainedDesc):
    """Make a host allocation of memory that the application has already, without a copy."""

    stype: ClassVar[StructureType] = StructureType.EXTERNAL_MEMMAP_SYSMEM_EXT_DESC
    p_system_memory: int
    """Its address, on a page of the operating system."""
    size: int
    """Bytes, whole pages of the operating system."""


@dataclass(frozen=True, slots=True)
class ExternalMemoryExportDesc(ChainedDesc):
    """Make memory whose descriptor can be passed to others, who see the same bytes."""

    stype: ClassVar[StructureType] = StructureType.EXTERNAL_MEMORY_EXPORT_DESC
    flags: ExternalMemoryTypeFlags
    """Kinds of descriptor; 0 for none."""


@dataclass(frozen=True, slots=True)
class ExternalMemoryImportFd(ChainedDesc):
    """Make an allocation, or physical memory, of the memory behind a descriptor."""

    stype: ClassVar[StructureType] = StructureType.EXTERNAL_MEMORY_IMPORT_FD
    flags: ExternalMemoryTypeFlags
    """What kind of descriptor it is."""
    fd: int


@dataclass(frozen=True, slots=True)
class ExternalMemoryExportFd(ChainedDesc):
    """Ask for the descriptor of memory; what is asked without it, `fd` answers.

    The descriptor stays the driver's, as long as the memory.
    """

    stype: ClassVar[StructureType] = StructureType.EXTERNAL_MEMORY_EXPORT_FD
    flags: ExternalMemoryTypeFlags
    """What kind of descriptor is wanted."""
    fd: int = -1
