"""Devices: which there are, what each is and can do."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from hostdriver.api import device_abilities, device_queries
from hostdriver.api.command_queue import synchronize_device
from hostdriver.api.device_queries import Identity
from hostdriver.api.device_structures import DeviceImageProperties
from hostdriver.api.queue_groups import queue_groups
from hostdriver.channel.convert import fill, requested
from hostdriver.core.events import COPY_PARTS, COUNTER_MAX
from hostdriver.core.structure_types import StructureType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.device_structures import DeviceProperties
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.channel.structures import Structure
    from hostdriver.core.state import DeviceState, DriverState


_NANOSECONDS: Final = 1_000_000_000


async def _get(_: DriverState, names: Names, call: Arguments) -> None:
    listed = sorted(number for number, record in names.devices.items() if record.is_listed)
    call.put_list("pCount", "phDevices", listed)


async def _get_sub_devices(_: DriverState, names: Names, call: Arguments) -> None:
    record = names.record(call.handle("hDevice"))
    call.put_list("pCount", "phSubdevices", list(record.children))


async def _get_root_device(_: DriverState, names: Names, call: Arguments) -> None:
    call.put("phRootDevice", names.record(call.handle("hDevice")).parent)


async def _get_properties(state: DriverState, names: Names, call: Arguments) -> None:
    record = names.record(call.handle("hDevice"))
    structure = call.structure("pDeviceProperties")
    identity = Identity(record.device, record.sub_device, is_part=record.is_part)
    found = await device_queries.get_properties(state, identity, requested(structure))
    fill_device(structure, found)


def fill_device(structure: Structure, found: DeviceProperties) -> None:
    """Fill the properties of a device, whose tag decides about one member's unit."""
    fill(structure, found)
    if structure.stype == StructureType.DEVICE_PROPERTIES:
        # In nanoseconds, where its younger tag means ticks a second.
        structure.fill(timerResolution=_NANOSECONDS // found.timer_resolution)


async def _get_memory_properties(state: DriverState, names: Names, call: Arguments) -> None:
    index = names.record(call.handle("hDevice")).device
    given = call.structures("pMemProperties")
    asked = requested(given[0]) if given else []
    _put_all(call, "pMemProperties", device_queries.get_memory_properties(state, index, asked))


async def _get_memory_access_properties(_: DriverState, __: Names, call: Arguments) -> None:
    fill(call.structure("pMemAccessProperties"), device_abilities.memory_access())


async def _get_cache_properties(state: DriverState, names: Names, call: Arguments) -> None:
    spec = _device(state, names, call).spec
    _put_all(call, "pCacheProperties", device_abilities.caches(spec))


async def _get_queue_groups(state: DriverState, names: Names, call: Arguments) -> None:
    groups = queue_groups(_device(state, names, call).spec)
    properties = [group.properties for group in groups]
    _put_all(call, "pCommandQueueGroupProperties", properties)


async def _get_compute_properties(_: DriverState, __: Names, call: Arguments) -> None:
    properties = device_abilities.compute()
    structure = call.structure("pComputeProperties")
    fill(structure, properties)
    structure.fill(numSubGroupSizes=len(properties.sub_group_sizes))


async def _get_module_properties(_: DriverState, __: Names, call: Arguments) -> None:
    fill(call.structure("pModuleProperties"), device_abilities.modules())


async def _get_image_properties(_: DriverState, __: Names, call: Arguments) -> None:
    fill(call.structure("pImageProperties"), DeviceImageProperties())


async def _get_external_memory_properties(_: DriverState, __: Names, call: Arguments) -> None:
    fill(call.structure("pExternalMemoryProperties"), device_abilities.external_memory())


async def _get_p2p_properties(_: DriverState, names: Names, call: Arguments) -> None:
    device, peer = _pair(names, call)
    fill(call.structure("pP2PProperties"), device_abilities.peer_properties(device, peer))


async def _can_access_peer(_: DriverState, names: Names, call: Arguments) -> None:
    call.put("value", int(device_abilities.can_access(*_pair(names, call))))


async def _get_pci_properties(state: DriverState, names: Names, call: Arguments) -> None:
    found = device_abilities.pci_properties(_device(state, names, call))
    call.structure("pPciProperties").fill(
        address=struct.pack("<4I", *found.address), maxSpeed=struct.pack("<iiq", *found.max_speed)
    )


async def _get_status(_: DriverState, names: Names, call: Arguments) -> None:
    await device_abilities.check_status(names.record(call.handle("hDevice")).device)


async def _get_global_timestamps(_: DriverState, names: Names, call: Arguments) -> None:
    index = names.record(call.handle("hDevice")).device
    found = await device_abilities.get_global_timestamps(index)
    call.put("hostTimestamp", found.host)
    call.put("deviceTimestamp", found.device)


async def _synchronize(state: DriverState, names: Names, call: Arguments) -> None:
    await synchronize_device(state, names.record(call.handle("hDevice")).device)


async def _tell_counter_values(_: DriverState, __: Names, call: Arguments) -> None:
    call.put("maxValue", COUNTER_MAX)
    call.put("incrementValue", COPY_PARTS)


def _device(state: DriverState, names: Names, call: Arguments) -> DeviceState:
    return state.devices[names.record(call.handle("hDevice")).device]


def _pair(names: Names, call: Arguments) -> tuple[int, int]:
    device = names.record(call.handle("hDevice")).device
    return device, names.record(call.handle("hPeerDevice")).device


def _put_all(call: Arguments, name: str, properties: Sequence[object]) -> None:
    """Fill as many of the program's structures as there are properties, or tell how many."""
    given = call.structures(name)
    for structure, one in zip(given, properties, strict=False):
        fill(structure, one)
    if given and call.number("pCount"):
        call.put_list("pCount", name, given[: len(properties)])
    else:
        call.put("pCount", len(properties))


HANDLERS: Final = {
    "zeDeviceCanAccessPeer": _can_access_peer,
    "zeDeviceGet": _get,
    "zeDeviceGetAggregatedCopyOffloadIncrementValue": _tell_counter_values,
    "zeDeviceGetCacheProperties": _get_cache_properties,
    "zeDeviceGetCommandQueueGroupProperties": _get_queue_groups,
    "zeDeviceGetComputeProperties": _get_compute_properties,
    "zeDeviceGetCounterBasedEventMaxValue": _tell_counter_values,
    "zeDeviceGetExternalMemoryProperties": _get_external_memory_properties,
    "zeDeviceGetGlobalTimestamps": _get_global_timestamps,
    "zeDeviceGetImageProperties": _get_image_properties,
    "zeDeviceGetMemoryAccessProperties": _get_memory_access_properties,
    "zeDeviceGetMemoryProperties": _get_memory_properties,
    "zeDeviceGetModuleProperties": _get_module_properties,
    "zeDeviceGetP2PProperties": _get_p2p_properties,
    "zeDeviceGetProperties": _get_properties,
    "zeDeviceGetRootDevice": _get_root_device,
    "zeDeviceGetStatus": _get_status,
    "zeDeviceGetSubDevices": _get_sub_devices,
    "zeDevicePciGetPropertiesExt": _get_pci_properties,
    "zeDeviceSynchronize": _synchronize,
}
