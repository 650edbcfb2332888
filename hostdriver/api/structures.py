"""Structures of the specification: descriptors that calls take, properties that they return.

Names are the specification's in Python's spelling (`ze_physical_mem_desc_t.size` is
`PhysicalMemDesc.size`). What the specification chains through `pNext` is a sequence of descriptors,
in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from hostdriver.core.enums import (
    ContextFlags,
    IpcMemHandleTypeFlags,
    PhysicalMemFlags,
    StructureType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_CONTEXT_FLAGS: Final = ContextFlags(0)
ON_DEVICE: Final = PhysicalMemFlags.ALLOCATE_ON_DEVICE
DEFAULT_HANDLE: Final = IpcMemHandleTypeFlags.DEFAULT


class ChainedDesc:
    """Base of what may stand in a chain."""

    __slots__ = ()
    stype: ClassVar[StructureType]


class ChainedProperties:
    """Base of what may be asked for along a chain: its class goes in, its value comes out."""

    __slots__ = ()
    stype: ClassVar[StructureType]


@dataclass(frozen=True, slots=True)
class UnknownDesc:
    """A structure that this driver does not know, as real programs chain them."""

    stype: int


@dataclass(frozen=True, slots=True)
class IpcMemHandleTypeExtDesc(ChainedDesc):
    """Which kind of IPC handle is wanted."""

    stype: ClassVar[StructureType] = StructureType.IPC_MEM_HANDLE_TYPE_EXT_DESC
    type_flags: IpcMemHandleTypeFlags = DEFAULT_HANDLE


@dataclass(frozen=True, slots=True)
class IpcPhysMemHandleRangeExtDesc(ChainedDesc):
    """Export a window of this size, whatever objects are mapped along it."""

    stype: ClassVar[StructureType] = StructureType.IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC
    size: int


@dataclass(frozen=True, slots=True)
class ContextDesc:
    """How a context is made."""

    stype: ClassVar[StructureType] = StructureType.CONTEXT_DESC

    flags: ContextFlags = NO_CONTEXT_FLAGS


@dataclass(frozen=True, slots=True)
class PhysicalMemDesc:
    """How physical memory is made."""

    stype: ClassVar[StructureType] = StructureType.PHYSICAL_MEM_DESC

    size: int
    flags: PhysicalMemFlags = ON_DEVICE
    """0 is ALLOCATE_ON_DEVICE."""
    p_next: Sequence[ChainedDesc | UnknownDesc] = ()


@dataclass(frozen=True, slots=True)
class PhysicalMemProperties:
    """What a physical memory object is."""

    stype: ClassVar[StructureType] = StructureType.PHYSICAL_MEM_PROPERTIES

    id: int
    """Never used again in a process."""
    size: int
    p_next: tuple[ChainedDesc, ...] = ()
    """Answers to what was chained to the question."""


class AddressRange(NamedTuple):
    """The memory that holds a pointer."""

    base: int
    size: int
