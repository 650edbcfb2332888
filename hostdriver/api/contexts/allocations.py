"""Memory that a context allocates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import allocation, freeing, memory
from hostdriver.api.contexts.base import ContextBase
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc

if TYPE_CHECKING:
    from hostdriver.api.device import Device
    from hostdriver.api.structures import AddressRange

DEVICE_DESC = DeviceMemAllocDesc()
HOST_DESC = HostMemAllocDesc()


class Allocations(ContextBase):
    """Functions zeMem that allocate, free and describe."""

    __slots__ = ()

    def mem_alloc_device(
        self,
        device: Device | None,
        size: int,
        alignment: int = 0,
        desc: DeviceMemAllocDesc | None = DEVICE_DESC,
    ) -> int:
        """Allocate memory of a device, out of the CPU's reach; return the pointer."""
        index = self.index_of(device)
        return self.run(
            lambda state: allocation.allocate_device(state, desc, size, alignment, index)
        )

    def mem_alloc_host(
        self, size: int, alignment: int = 0, desc: HostMemAllocDesc | None = HOST_DESC
    ) -> int:
        """Allocate host memory that every device reaches; return the pointer."""
        return self.run(lambda state: allocation.allocate_host(state, desc, size, alignment))

    def mem_alloc_shared(
        self,
        size: int,
        alignment: int = 0,
        device: Device | None = None,
        device_desc: DeviceMemAllocDesc | None = DEVICE_DESC,
        host_desc: HostMemAllocDesc | None = HOST_DESC,
    ) -> int:
        """Allocate memory that host and devices share; return the pointer."""
        index = self.index_of(device)
        return self.run(
            lambda state: allocation.allocate_shared(
                state, device_desc, host_desc, size, alignment, index
            )
        )

    def mem_free(self, ptr: int | None) -> None:
        """Free memory that was allocated, and put its handle."""
        self.run(lambda state: freeing.free(state, ptr))

    def mem_get_address_range(self, ptr: int | None) -> AddressRange:
        """Return base and size of the memory that holds a pointer."""
        return self.look(lambda state: memory.get_address_range(state, ptr))
