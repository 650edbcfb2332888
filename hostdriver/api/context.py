"""Contexts: the object whose methods are the specification's functions.

A method's name is the function's in Python's spelling: zeVirtualMemReserve is
`virtual_mem_reserve`. Pointers are integers, null handles and pointers are None, outputs are
returned, and every failure is a `ZeError` that left everything as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, final

from hostdriver.api import (
    allocation,
    exporting,
    freeing,
    mapping,
    memory,
    opening,
    physical_memory,
    virtual_memory,
)
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.api.physical_handle import PhysicalMem, record_of
from hostdriver.core.enums import MemoryAccessAttribute
from hostdriver.core.failures import in_use, invalid_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from typing_extensions import Buffer

    from hostdriver.api.device import Device
    from hostdriver.api.driver import Driver
    from hostdriver.api.structures import (
        AddressRange,
        ChainedDesc,
        PhysicalMemDesc,
        PhysicalMemProperties,
        UnknownDesc,
    )
    from hostdriver.core.questions import Operation
    from hostdriver.core.reservations import AccessRun
    from hostdriver.core.state import DriverState

ResultT = TypeVar("ResultT")
READWRITE = MemoryAccessAttribute.READWRITE
DEVICE_DESC = DeviceMemAllocDesc()
HOST_DESC = HostMemAllocDesc()


@final
class Context:
    """A name under which memory is used; a context manager that destroys it.

    Memory belongs to the process: any context of the driver may use, export, close and free what
    another one made, and destroying a context leaves it in place. Any thread may use it.
    """

    __slots__ = ("_destroyed", "_driver", "_work")

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._destroyed = False
        self._work = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._destroyed:
            self.destroy()

    def destroy(self) -> None:
        """Destroy the context (zeContextDestroy).

        Raises:
            ZeError: destroyed already; a copy of another thread is not done (IN_USE).
        """

        def end(_: DriverState) -> None:
            if self._work:
                raise in_use(f"{self._work} copies of the context are not done")
            self._destroyed = True

        self._look(end)

    def virtual_mem_query_page_size(self, device: Device | None, size: int) -> int:
        """Return the page size for memory of a size."""
        index = _index_of(device)
        return self._look(lambda state: virtual_memory.query_page_size(state, index, size))

    def virtual_mem_reserve(self, size: int, start: int | None = None) -> int:
        """Reserve addresses, at `start` when they are free there; return the first."""
        return self._run(lambda state: virtual_memory.reserve(state, start, size))

    def virtual_mem_free(self, ptr: int | None, size: int) -> None:
        """Free a whole reservation; what is mapped in it is unmapped."""
        self._run(lambda state: virtual_memory.free(state, ptr, size))

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
        self._run(lambda state: mapping.map_memory(state, ptr, size, record, offset, access))

    def virtual_mem_unmap(self, ptr: int | None, size: int) -> None:
        """Unmap every mapping that lies wholly in a range."""
        self._run(lambda state: virtual_memory.unmap(state, ptr, size))

    def virtual_mem_set_access_attribute(self, ptr: int | None, size: int, access: int) -> None:
        """Set what devices may do with a reserved range."""
        self._run(lambda state: virtual_memory.set_access(state, ptr, size, access))

    def virtual_mem_get_access_attribute(self, ptr: int | None, size: int) -> AccessRun:
        """Return the attribute at `ptr`, and how many bytes from there on have it."""
        return self._look(lambda state: virtual_memory.get_access(state, ptr, size))

    def physical_mem_create(
        self, device: Device | None, desc: PhysicalMemDesc | None
    ) -> PhysicalMem:
        """Make a physical memory object."""
        index = _index_of(device)
        return PhysicalMem(self._run(lambda state: physical_memory.create(state, index, desc)))

    def physical_mem_destroy(self, physical: PhysicalMem | None) -> None:
        """Destroy a physical memory object that is mapped nowhere."""
        record = record_of(physical)
        self._run(lambda state: physical_memory.destroy(state, record))

    def physical_mem_get_properties(self, physical: PhysicalMem | None) -> PhysicalMemProperties:
        """Return number and size of a physical memory object."""
        record = record_of(physical)
        return self._look(lambda state: physical_memory.get_properties(state, record))

    def mem_alloc_device(
        self,
        device: Device | None,
        size: int,
        alignment: int = 0,
        desc: DeviceMemAllocDesc | None = DEVICE_DESC,
    ) -> int:
        """Allocate memory of a device, out of the CPU's reach; return the pointer."""
        index = _index_of(device)
        return self._run(
            lambda state: allocation.allocate_device(state, desc, size, alignment, index)
        )

    def mem_alloc_host(
        self, size: int, alignment: int = 0, desc: HostMemAllocDesc | None = HOST_DESC
    ) -> int:
        """Allocate host memory that every device reaches; return the pointer."""
        return self._run(lambda state: allocation.allocate_host(state, desc, size, alignment))

    def mem_alloc_shared(
        self,
        size: int,
        alignment: int = 0,
        device: Device | None = None,
        device_desc: DeviceMemAllocDesc | None = DEVICE_DESC,
        host_desc: HostMemAllocDesc | None = HOST_DESC,
    ) -> int:
        """Allocate memory that host and devices share; return the pointer."""
        index = _index_of(device)
        return self._run(
            lambda state: allocation.allocate_shared(
                state, device_desc, host_desc, size, alignment, index
            )
        )

    def mem_free(self, ptr: int | None) -> None:
        """Free memory that was allocated, and put its handle."""
        self._run(lambda state: freeing.free(state, ptr))

    def mem_get_address_range(self, ptr: int | None) -> AddressRange:
        """Return base and size of the memory that holds a pointer."""
        return self._look(lambda state: memory.get_address_range(state, ptr))

    def mem_get_ipc_handle(self, ptr: int | None) -> bytes:
        """Return the 64 bytes that name the memory which begins at `ptr`."""
        return self._run(lambda state: exporting.get_handle(state, ptr))

    def mem_get_ipc_handle_with_properties(
        self, ptr: int | None, p_next: Sequence[ChainedDesc | UnknownDesc] = ()
    ) -> bytes:
        """Return 64 bytes that name memory; with a range descriptor, any window from `ptr` on."""
        return self._run(lambda state: exporting.get_handle(state, ptr, p_next))

    def mem_put_ipc_handle(self, handle: Buffer) -> None:
        """Give a handle back: it opens no more."""
        self._run(lambda state: exporting.put_handle(state, bytes(handle)))

    def mem_open_ipc_handle(self, device: Device | None, handle: Buffer, flags: int = 0) -> int:
        """Open exported memory; return where its window begins in this process."""
        index = _index_of(device)
        return self._run(lambda state: opening.open_handle(state, index, bytes(handle), flags))

    def mem_close_ipc_handle(self, ptr: int | None) -> None:
        """Close opened memory, by the pointer that opening returned."""
        self._run(lambda state: opening.close_handle(state, ptr))

    def memory_copy(self, destination: int | None, source: int | None, size: int) -> None:
        """Copy between two device-visible ranges; return when it is done."""
        self._work_on(lambda state: memory.copy(state, destination, source, size))

    def memory_fill(self, destination: int | None, pattern: bytes, size: int) -> None:
        """Fill a device-visible range with a pattern; return when it is done."""
        self._work_on(lambda state: memory.fill(state, destination, pattern, size))

    def memory_write(self, destination: int | None, data: Buffer) -> None:
        """Copy bytes to device-visible memory; return when they are there."""
        view = memoryview(data).cast("B")
        self._work_on(lambda state: memory.write(state, destination, view))

    def memory_read(self, source: int | None, size: int) -> bytes:
        """Return a copy of device-visible memory."""
        into = bytearray(size)
        self.memory_read_into(source, into)
        return bytes(into)

    def memory_read_into(self, source: int | None, into: Buffer) -> None:
        """Copy device-visible memory into a writable buffer; return when it is there."""
        view = memoryview(into).cast("B")
        self._work_on(lambda state: memory.read(state, source, view))

    def host_view(self, ptr: int | None, size: int) -> memoryview:
        """Return host memory for the CPU, without a copy, at its own address.

        It must not be used when the memory is unmapped, as with any pointer.
        """
        return self._driver.view(lambda state: memory.check_host_range(state, ptr, size), size)

    def _run(self, make: Callable[[DriverState], Operation[ResultT]]) -> ResultT:
        async def checked(state: DriverState) -> ResultT:
            self._check()
            return await make(state)

        return self._driver.run(checked)

    def _look(self, function: Callable[[DriverState], ResultT]) -> ResultT:
        async def checked(state: DriverState) -> ResultT:
            self._check()
            return function(state)

        return self._driver.run(checked)

    def _work_on(self, make: Callable[[DriverState], Operation[None]]) -> None:
        async def counted(state: DriverState) -> None:
            self._check()
            self._work += 1
            try:
                await make(state)
            finally:
                self._work -= 1

        self._driver.run(counted)

    def _check(self) -> None:
        if self._destroyed:
            raise invalid_argument("hContext was destroyed")


def _index_of(device: Device | None) -> int | None:
    return None if device is None else device.index
