"""Functions of vendors' extensions, which programs ask for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import described, exporting, host_pointers, opening
from hostdriver.core.enums import MemoryType
from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _get_handles(state: DriverState, _: Names, call: Arguments) -> None:
    """Give the handles of an allocation, or tell their number: here each has one."""
    pointer, given = call.number("ptr"), call.structures("pIpcHandles")
    if given and call.number("numIpcHandles"):
        given[0].fill(data=await exporting.get_handle(state, pointer))
        call.put_list("numIpcHandles", "pIpcHandles", given[:1])
        return
    if described.get_alloc_properties(state, pointer).type is MemoryType.UNKNOWN:
        raise invalid_argument(f"ptr is {pointer:#x}, which is no memory of this driver")
    call.put("numIpcHandles", 1)


async def _open_handles(state: DriverState, names: Names, call: Arguments) -> None:
    given = call.structures("pIpcHandles")
    device = names.device(call.handle("hDevice"))
    if len(given) != 1:
        raise invalid_argument(
            f"numIpcHandles is {call.number('numIpcHandles')}, expected 1: an allocation has one"
        )
    handle = given[0].blob("data")
    call.put("pptr", await opening.open_handle(state, device, handle, call.number("flags")))


async def _import_pointer(state: DriverState, _: Names, call: Arguments) -> None:
    await host_pointers.import_pointer(state, call.number("ptr"), call.number("size"))


async def _release_pointer(state: DriverState, _: Names, call: Arguments) -> None:
    host_pointers.release_pointer(state, call.number("ptr"))


async def _get_base(state: DriverState, _: Names, call: Arguments) -> None:
    call.put("baseAddress", host_pointers.find_base(state, call.number("ptr")))


HANDLERS: Final = {
    "zexDriverGetHostPointerBaseAddress": _get_base,
    "zexDriverImportExternalPointer": _import_pointer,
    "zexDriverReleaseImportedPointer": _release_pointer,
    "zexMemGetIpcHandles": _get_handles,
    "zexMemOpenIpcHandles": _open_handles,
}
