"""Memory shared between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import exporting, external_handles, opening
from hostdriver.channel.convert import chain
from hostdriver.core.physical import PhysicalObject

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _get_handle(state: DriverState, names: Names, call: Arguments) -> None:
    call.put("pIpcHandle", await exporting.get_handle(state, _place(names, call)))


async def _get_handle_with_properties(state: DriverState, names: Names, call: Arguments) -> None:
    links = chain(call.structures("pNext"))
    call.put("pIpcHandle", await exporting.get_handle(state, _place(names, call), links))


def _place(names: Names, call: Arguments) -> int | PhysicalObject:
    """Return the pointer that a call names, or the physical memory whose handle stands there."""
    pointer, number = call.place("ptr")
    return pointer if number is None else names.need(PhysicalObject, number)


async def _handle_from_descriptor(state: DriverState, _: Names, call: Arguments) -> None:
    found = await external_handles.handle_from_descriptor(state, call.number("handle"))
    call.put("pIpcHandle", found)


async def _descriptor_from_handle(state: DriverState, _: Names, call: Arguments) -> None:
    found = await external_handles.descriptor_from_handle(state, call.blob("ipcHandle"))
    call.put("pHandle", found)


async def _put_handle(state: DriverState, _: Names, call: Arguments) -> None:
    await exporting.put_handle(state, call.blob("handle"))


async def _open_handle(state: DriverState, names: Names, call: Arguments) -> None:
    device = names.device(call.handle("hDevice"))
    pointer = await opening.open_handle(state, device, call.blob("handle"), call.number("flags"))
    call.put("pptr", pointer)


async def _close_handle(state: DriverState, _: Names, call: Arguments) -> None:
    await opening.close_handle(state, call.number("ptr"))


HANDLERS: Final = {
    "zeMemGetIpcHandle": _get_handle,
    "zeMemGetFileDescriptorFromIpcHandleExp": _descriptor_from_handle,
    "zeMemGetIpcHandleFromFileDescriptorExp": _handle_from_descriptor,
    "zeMemGetIpcHandleWithProperties": _get_handle_with_properties,
    "zeMemPutIpcHandle": _put_handle,
    "zeMemOpenIpcHandle": _open_handle,
    "zeMemCloseIpcHandle": _close_handle,
}
