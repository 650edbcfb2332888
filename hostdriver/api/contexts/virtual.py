"""Reservations, mappings and physical memory of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import mapping, physical_memory, virtual_memory
from hostdriver.api.contexts.base import ContextBase
from hostdriver.api.physical_handle import PhysicalMem, record_of
from hostdriver.core.enums import MemoryAccessAttribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.device import Device
    from hostdriver.api.structures import (
        ChainedDesc,
        PhysicalMemDesc,
        PhysicalMemProperties,
        UnknownDesc,
    )
    from hostdriver.core.reservations import AccessRun

READWRITE = MemoryAccessAttribute.READWRITE


class VirtualMemory(ContextBase):
    """Functions zeVirtualMem and zePhysicalMem."""

    __slots__ = ()

    def virtual_mem_query_page_size(self, device: Device | None, size: int) -> int:
        """Return the page size for memory of a size."""
        index = self.index_of(device)
        return self.look(lambda state: virtual_memory.query_page_size(state, index, size))

    def virtual_mem_reserve(self, size: int, start: int | None = None) -> int:
        """Reserve addresses, at `start` when they are free there; return the first."""
        return self.run(lambda state: virtual_memory.reserve(state, start, size))

    def virtual_mem_free(self, ptr: int | None, size: int) -> None:
        """Free a whole reservation; what is mapped in it is unmapped."""
        self.run(lambda state: virtual_memory.free(state, ptr, size))

    def virtual_mem_map(
        self,
        ptr: int | None,
        size: int,
        physical: PhysicalMem | None,
        offset: int = 0,
        access: int = READWRITE,
    ) -> None:
        """Map part of a physical object at reserved addresses."""
        record = record_of(physical)
        self.run(lambda state: mapping.map_memory(state, ptr, size, record, offset, access))

    def virtual_mem_unmap(self, ptr: int | None, size: int) -> None:
        """Unmap every mapping that lies wholly in a range."""
        self.run(lambda state: virtual_memory.unmap(state, ptr, size))

    def virtual_mem_set_access_attribute(self, ptr: int | None, size: int, access: int) -> None:
        """Set what devices may do with a reserved range."""
        self.run(lambda state: virtual_memory.set_access(state, ptr, size, access))

    def virtual_mem_get_access_attribute(self, ptr: int | None, size: int) -> AccessRun:
        """Return the attribute at `ptr`, and how many bytes from there on have it."""
        return self.look(lambda state: virtual_memory.get_access(state, ptr, size))

    def physical_mem_create(
        self, device: Device | None, desc: PhysicalMemDesc | None
    ) -> PhysicalMem:
        """Make a physical memory object."""
        index = self.index_of(device)
        return PhysicalMem(self.run(lambda state: physical_memory.create(state, index, desc)))

    def physical_mem_destroy(self, physical: PhysicalMem | None) -> None:
        """Destroy a physical memory object that is mapped nowhere."""
        record = record_of(physical)
        self.run(lambda state: physical_memory.destroy(state, record))

    def physical_mem_get_properties(
        self, physical: PhysicalMem | None, p_next: Sequence[ChainedDesc | UnknownDesc] = ()
    ) -> PhysicalMemProperties:
        """Return number and size of a physical memory object, and its descriptor if that is asked.

        An `ExternalMemoryExportFd` in the chain asks; the answer stands in the result's `p_next`.
        """
        record = record_of(physical)
        return self.run(lambda state: physical_memory.get_properties(state, record, p_next))
