"""Memory: allocating, freeing, and what a pointer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import (
    allocation,
    atomics,
    described,
    external_handles,
    freeing,
    memory,
    residency,
)
from hostdriver.api.memory_structures import (
    DeviceMemAllocDesc,
    HostMemAllocDesc,
    MemoryFreeExtDesc,
)
from hostdriver.channel.convert import chain, descriptor, fill_chain

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _allocate_device(state: DriverState, names: Names, call: Arguments) -> None:
    desc = descriptor(DeviceMemAllocDesc, call.structure("device_desc"))
    device = names.device(call.handle("hDevice"))
    pointer = await allocation.allocate_device(
        state, desc, call.number("size"), call.number("alignment"), device
    )
    call.put("pptr", pointer)


async def _allocate_host(state: DriverState, _: Names, call: Arguments) -> None:
    desc = descriptor(HostMemAllocDesc, call.structure("host_desc"))
    pointer = await allocation.allocate_host(
        state, desc, call.number("size"), call.number("alignment")
    )
    call.put("pptr", pointer)


async def _allocate_shared(state: DriverState, names: Names, call: Arguments) -> None:
    device_desc = descriptor(DeviceMemAllocDesc, call.structure("device_desc"))
    host_desc = descriptor(HostMemAllocDesc, call.structure("host_desc"))
    device = names.device(call.handle("hDevice"))
    pointer = await allocation.allocate_shared(
        state, device_desc, host_desc, call.number("size"), call.number("alignment"), device
    )
    call.put("pptr", pointer)


async def _free(state: DriverState, _: Names, call: Arguments) -> None:
    await freeing.free(state, call.number("ptr"))


async def _get_address_range(state: DriverState, _: Names, call: Arguments) -> None:
    found = memory.get_address_range(state, call.number("ptr"))
    call.put("pBase", found.base)
    call.put("pSize", found.size)


async def _free_ext(state: DriverState, _: Names, call: Arguments) -> None:
    desc = descriptor(MemoryFreeExtDesc, call.structure("pMemFreeDesc"))
    await freeing.free_ext(state, desc, call.number("ptr"))


async def _get_alloc_properties(state: DriverState, names: Names, call: Arguments) -> None:
    pointer, structure = call.number("ptr"), call.structure("pMemAllocProperties")
    if structure.chain:
        answers = await external_handles.answer_chain(state, pointer, chain(structure.chain))
        fill_chain(structure, answers)
    found = described.get_alloc_properties(state, pointer)
    structure.fill(type=int(found.type), id=found.id, pageSize=found.page_size)
    call.put("phDevice", names.number_of(found.device))


async def _set_atomics(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    pointer, size = call.number("ptr"), call.number("size")
    await atomics.set_attribute(state, device, pointer, size, call.number("attr"))


async def _get_atomics(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    found = atomics.get_attribute(state, device, call.number("ptr"), call.number("size"))
    call.put("pAttr", int(found))


async def _make_resident(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    residency.make_resident(state, device, call.number("ptr"), call.number("size"))


async def _evict(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    residency.evict(state, device, call.number("ptr"), call.number("size"))


HANDLERS: Final = {
    "zeContextEvictMemory": _evict,
    "zeContextMakeMemoryResident": _make_resident,
    "zeMemAllocDevice": _allocate_device,
    "zeMemAllocHost": _allocate_host,
    "zeMemAllocShared": _allocate_shared,
    "zeMemFree": _free,
    "zeMemFreeExt": _free_ext,
    "zeMemGetAddressRange": _get_address_range,
    "zeMemGetAllocProperties": _get_alloc_properties,
    "zeMemGetAtomicAccessAttributeExp": _get_atomics,
    "zeMemSetAtomicAccessAttributeExp": _set_atomics,
}
