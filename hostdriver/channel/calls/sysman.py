"""Managing devices: the cards behind devices, and their memory."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from hostdriver.api import sysman
from hostdriver.channel.calls.devices import fill_device
from hostdriver.channel.convert import fill
from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState

_EXT_PROPERTIES: Final = "zes_device_ext_properties_t"
_CORE_PROPERTIES: Final = "ze_device_properties_t"


async def _get(_: DriverState, names: Names, call: Arguments) -> None:
    call.put_list("pCount", "phDevices", names.cards())


async def _get_by_uuid(state: DriverState, names: Names, call: Arguments) -> None:
    found = sysman.find_by_uuid(state, call.blob("uuid"))
    card = names.card_of(found.device)
    if not card:
        raise invalid_argument(f"device {found.device} is none that this program sees")
    call.put("phDevice", card)
    call.put("onSubdevice", int(found.sub_device is not None))
    call.put("subdeviceId", found.sub_device or 0)


async def _get_properties(state: DriverState, names: Names, call: Arguments) -> None:
    index = names.record(call.handle("hDevice")).device
    structure = call.structure("pProperties")
    found = await sysman.get_device_properties(state, index)
    core = structure.inside("core", _CORE_PROPERTIES)
    fill_device(core, found.core)
    fill(structure, found.card)
    structure.put_inside("core", core)
    for link in structure.chain:
        if link.name == _EXT_PROPERTIES:
            fill(link, sysman.get_device_ext_properties(state.devices[index].spec))


async def _enumerate_memory(_: DriverState, names: Names, call: Arguments) -> None:
    """Name the one memory of a device, by the device's number at the emulator, plus 1."""
    index = names.record(call.handle("hDevice")).device
    call.put_list("pCount", "phMemory", [index + 1])


async def _get_memory_properties(state: DriverState, names: Names, call: Arguments) -> None:
    spec = state.devices[_memory(names, call)].spec
    fill(call.structure("pProperties"), sysman.get_memory_properties(spec))


async def _get_memory_state(_: DriverState, names: Names, call: Arguments) -> None:
    fill(call.structure("pState"), await sysman.get_memory_state(_memory(names, call)))


async def _get_memory_bandwidth(state: DriverState, names: Names, call: Arguments) -> None:
    found = await sysman.get_memory_bandwidth(state, _memory(names, call))
    numbers = found.read_counter, found.write_counter, found.max_bandwidth, found.timestamp
    call.put("pBandwidth", struct.pack("<4Q", *numbers))


def _memory(names: Names, call: Arguments) -> int:
    """Return the device, as a number at the emulator, whose memory a handle names."""
    index = (call.handle("hMemory") or 0) - 1
    if index not in names.all_devices():
        raise invalid_argument(f"handle {index + 1} is that of no memory")
    return index


HANDLERS: Final = {
    "zesDeviceEnumMemoryModules": _enumerate_memory,
    "zesDeviceGet": _get,
    "zesDeviceGetProperties": _get_properties,
    "zesDriverGetDeviceByUuidExp": _get_by_uuid,
    "zesMemoryGetBandwidth": _get_memory_bandwidth,
    "zesMemoryGetProperties": _get_memory_properties,
    "zesMemoryGetState": _get_memory_state,
}
