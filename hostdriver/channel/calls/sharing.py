"""Memory shared between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import exporting, opening
from hostdriver.channel.convert import chain

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _get_handle(state: DriverState, _: Names, call: Arguments) -> None:
    call.put("pIpcHandle", await exporting.get_handle(state, call.number("ptr")))


async def _get_handle_with_properties(state: DriverState, _: Names, call: Arguments) -> None:
    links = chain(call.structures("pNext"))
    call.put("pIpcHandle", await exporting.get_handle(state, call.number("ptr"), links))


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
    "zeMemGetIpcHandleWithProperties": _get_handle_with_properties,
    "zeMemPutIpcHandle": _put_handle,
    "zeMemOpenIpcHandle": _open_handle,
    "zeMemCloseIpcHandle": _close_handle,
}
