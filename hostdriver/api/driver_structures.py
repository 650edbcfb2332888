"""Structures about a driver: what it is and what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hostdriver.api.structures import ChainedProperties
from hostdriver.core.structure_types import StructureType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.enums import DriverMemoryFreePolicyExtFlags
    from hostdriver.core.query_enums import DriverDdiHandleExtFlags, IpcPropertyFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverProperties:
    """What a driver is."""

    stype: ClassVar[StructureType] = StructureType.DRIVER_PROPERTIES
    uuid: bytes
    driver_version: int
    """Grows with every release: major << 24 | minor << 16 | patch."""
    p_next: Sequence[ChainedProperties] = ()
    """What was asked for besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverIpcProperties:
    """What processes may share."""

    stype: ClassVar[StructureType] = StructureType.DRIVER_IPC_PROPERTIES
    flags: IpcPropertyFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverExtensionProperties:
    """One extension."""

    name: str
    version: int
    """major << 16 | minor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverMemoryFreeExtProperties(ChainedProperties):
    """How freed memory may be given back; chained to `DriverProperties`."""

    stype: ClassVar[StructureType] = StructureType.DRIVER_MEMORY_FREE_EXT_PROPERTIES
    free_policies: DriverMemoryFreePolicyExtFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverDdiHandlesExtProperties(ChainedProperties):
    """Whether handles begin with the tables of their functions; chained to `DriverProperties`."""

    stype: ClassVar[StructureType] = StructureType.DRIVER_DDI_HANDLES_EXT_PROPERTIES
    flags: DriverDdiHandleExtFlags
    """In C they do; in Python a handle is an object that has its methods."""
