"""Memory: allocating, freeing, and what a pointer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import allocation, freeing, memory
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.channel.convert import descriptor

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


HANDLERS: Final = {
    "zeMemAllocDevice": _allocate_device,
    "zeMemAllocHost": _allocate_host,
    "zeMemAllocShared": _allocate_shared,
    "zeMemFree": _free,
    "zeMemGetAddressRange": _get_address_range,
}
