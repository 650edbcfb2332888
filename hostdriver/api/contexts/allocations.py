"""Memory that a context allocates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import (
    allocation,
    atomics,
    described,
    external_handles,
    freeing,
    memory,
    residency,
)
from hostdriver.api.contexts.base import ContextBase
from hostdriver.api.memory_structures import (
    DeviceMemAllocDesc,
    HostMemAllocDesc,
    MemoryAllocationProperties,
    MemoryFreeExtDesc,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.device import Device
    from hostdriver.api.structures import AddressRange, ChainedDesc, UnknownDesc
    from hostdriver.core.enums import MemoryAtomicAttrExpFlags

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

    def mem_free_ext(self, desc: MemoryFreeExtDesc | None, ptr: int | None) -> None:
        """Free memory by a policy: at once, blocking, or deferred."""
        self.run(lambda state: freeing.free_ext(state, desc, ptr))

    def mem_get_alloc_properties(
        self, ptr: int | None, p_next: Sequence[ChainedDesc | UnknownDesc] = ()
    ) -> MemoryAllocationProperties:
        """Return what a pointer names; UNKNOWN for memory that is not the driver's.

        An `ExternalMemoryExportFd` in the chain asks for the memory's descriptor; the answer stands
        in the result's `p_next`.
        """
        answers = (
            self.run(lambda s: external_handles.answer_chain(s, ptr, p_next)) if p_next else ()
        )
        found = self.look(lambda state: described.get_alloc_properties(state, ptr))
        return MemoryAllocationProperties(
            type=found.type,
            id=found.id,
            page_size=found.page_size,
            device=None if found.device is None else self.driver.device_of(found.device),
            p_next=answers,
        )

    def mem_get_address_range(self, ptr: int | None) -> AddressRange:
        """Return base and size of the memory that holds a pointer."""
        return self.look(lambda state: memory.get_address_range(state, ptr))

    def mem_set_atomic_access_attribute_exp(
        self, device: Device | None, ptr: int | None, size: int, attr: int
    ) -> None:
        """Set which atomic operations a device may do in a shared allocation."""
        index = self.index_of(device)
        self.run(lambda state: atomics.set_attribute(state, index, ptr, size, attr))

    def mem_get_atomic_access_attribute_exp(
        self, device: Device | None, ptr: int | None, size: int
    ) -> MemoryAtomicAttrExpFlags:
        """Return which atomic operations a device may do in a shared allocation."""
        index = self.index_of(device)
        return self.look(lambda state: atomics.get_attribute(state, index, ptr, size))

    def make_memory_resident(self, device: Device | None, ptr: int | None, size: int) -> None:
        """Keep memory where a device reaches it (zeContextMakeMemoryResident)."""
        index = self.index_of(device)
        self.look(lambda state: residency.make_resident(state, index, ptr, size))

    def evict_memory(self, device: Device | None, ptr: int | None, size: int) -> None:
        """Let memory go from where a device reaches it (zeContextEvictMemory)."""
        index = self.index_of(device)
        self.look(lambda state: residency.evict(state, index, ptr, size))

    def make_image_resident(self, device: Device | None, image: object | None) -> None:
        """Keep an image where the device reaches it (zeContextMakeImageResident).

        Raises:
            ZeError: null device or image; there are no images here (INVALID_ARGUMENT).
        """
        index = self.index_of(device)
        self.look(lambda state: residency.refuse_image(state, index, image))

    def evict_image(self, device: Device | None, image: object | None) -> None:
        """Take `make_image_resident` back (zeContextEvictImage); it fails as that does."""
        self.make_image_resident(device, image)
