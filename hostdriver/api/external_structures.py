"""Structures of external memory: what the application, or another process, made itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hostdriver.api.structures import ChainedDesc
from hostdriver.core.enums import StructureType


@dataclass(frozen=True, slots=True)
class ExternalMemmapSysmemExtDesc(ChainedDesc):
    """Make a host allocation of memory that the application has already, without a copy."""

    stype: ClassVar[StructureType] = StructureType.EXTERNAL_MEMMAP_SYSMEM_EXT_DESC
    p_system_memory: int
    """Its address, on a page of the operating system."""
    size: int
    """Bytes, whole pages of the operating system."""
