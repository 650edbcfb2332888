"""Virtual memory and physical memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import mapping, physical_memory, virtual_memory
from hostdriver.api.structures import PhysicalMemDesc
from hostdriver.channel.convert import chain, descriptor, fill
from hostdriver.core.physical import PhysicalObject

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _query_page_size(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    call.put("pagesize", virtual_memory.query_page_size(state, device, call.number("size")))


async def _reserve(state: DriverState, _: Names, call: Arguments) -> None:
    call.put(
        "pptr", await virtual_memory.reserve(state, call.number("pStart"), call.number("size"))
    )


async def _free(state: DriverState, _: Names, call: Arguments) -> None:
    await virtual_memory.free(state, call.number("ptr"), call.number("size"))


async def _map(state: DriverState, names: Names, call: Arguments) -> None:
    physical = names.find(PhysicalObject, call.handle("hPhysicalMemory"))
    await mapping.map_memory(
        state,
        call.number("ptr"),
        call.number("size"),
        physical,
        call.number("offset"),
        call.number("access"),
    )


async def _unmap(state: DriverState, _: Names, call: Arguments) -> None:
    await virtual_memory.unmap(state, call.number("ptr"), call.number("size"))


async def _set_access(state: DriverState, _: Names, call: Arguments) -> None:
    await virtual_memory.set_access(
        state, call.number("ptr"), call.number("size"), call.number("access")
    )


async def _get_access(state: DriverState, _: Names, call: Arguments) -> None:
    run = virtual_memory.get_access(state, call.number("ptr"), call.number("size"))
    call.put("access", run.access)
    call.put("outSize", run.end)


async def _create(state: DriverState, names: Names, call: Arguments) -> None:
    desc = descriptor(PhysicalMemDesc, call.structure("desc"))
    physical = await physical_memory.create(state, names.device(call.handle("hDevice")), desc)
    call.put("phPhysicalMemory", names.add(physical))


async def _destroy(state: DriverState, names: Names, call: Arguments) -> None:
    number = call.handle("hPhysicalMemory")
    await physical_memory.destroy(state, names.find(PhysicalObject, number))
    names.drop(PhysicalObject, number)


async def _get_properties(state: DriverState, names: Names, call: Arguments) -> None:
    physical = names.find(PhysicalObject, call.handle("hPhysicalMem"))
    structure = call.structure("pMemProperties")
    found = await physical_memory.get_properties(state, physical, chain(structure.chain))
    fill(structure, found)


HANDLERS: Final = {
    "zeVirtualMemQueryPageSize": _query_page_size,
    "zeVirtualMemReserve": _reserve,
    "zeVirtualMemFree": _free,
    "zeVirtualMemMap": _map,
    "zeVirtualMemUnmap": _unmap,
    "zeVirtualMemSetAccessAttribute": _set_access,
    "zeVirtualMemGetAccessAttribute": _get_access,
    "zePhysicalMemCreate": _create,
    "zePhysicalMemDestroy": _destroy,
    "zePhysicalMemGetProperties": _get_properties,
}
