"""The driver: its version, and what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api import driver_queries
from hostdriver.channel.convert import fill, requested
from hostdriver.channel.specs import interface
from hostdriver.channel.structures import Structure

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState


async def _get_api_version(_: DriverState, __: Names, call: Arguments) -> None:
    call.put("version", int(driver_queries.API_VERSION))


async def _get_properties(state: DriverState, _: Names, call: Arguments) -> None:
    structure = call.structure("pDriverProperties")
    fill(structure, driver_queries.get_properties(state, requested(structure)))


async def _get_ipc_properties(_: DriverState, __: Names, call: Arguments) -> None:
    fill(call.structure("pIpcProperties"), driver_queries.get_ipc_properties())


async def _get_extension_properties(state: DriverState, _: Names, call: Arguments) -> None:
    spec = interface().structures["ze_driver_extension_properties_t"]
    found: list[Structure] = []
    for extension in driver_queries.get_extension_properties(state):
        structure = Structure(spec.stype, spec, {"name": b"", "version": 0})
        fill(structure, extension)
        found.append(structure)
    call.put_list("pCount", "pExtensionProperties", found)


HANDLERS: Final = {
    "zeDriverGetApiVersion": _get_api_version,
    "zeDriverGetExtensionProperties": _get_extension_properties,
    "zeDriverGetIpcProperties": _get_ipc_properties,
    "zeDriverGetProperties": _get_properties,
}
