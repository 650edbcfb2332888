"""What the driver is and what it offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.extensions import Extension, extension_name
from hostdriver.api.driver_structures import (
    DriverDdiHandlesExtProperties,
    DriverExtensionProperties,
    DriverIpcProperties,
    DriverMemoryFreeExtProperties,
    DriverProperties,
)
from hostdriver.api.validation import read_properties
from hostdriver.core.enums import DriverMemoryFreePolicyExtFlags
from hostdriver.core.query_enums import ApiVersion, DriverDdiHandleExtFlags, IpcPropertyFlags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hostdriver.api.structures import ChainedProperties, UnknownDesc
    from hostdriver.core.state import DriverState

API_VERSION: Final = ApiVersion.VERSION_1_18
DRIVER_UUID: Final = bytes.fromhex("656d757a65726f2d8f1e4ac9b7d20001")
DRIVER_VERSION: Final = 0 << 24 | 1 << 16 | 0
_V1_0: Final = 1 << 16
_V1_1: Final = 1 << 16 | 1
EXTENSION_VERSIONS: Final[Mapping[Extension, int]] = {
    Extension.EXP_EVENT_POOL_COUNTER_BASED: _V1_0,
    Extension.EXP_RELAXED_ALLOCATION_LIMITS: _V1_0,
    Extension.EXT_DEVICE_IP_VERSION: _V1_0,
    Extension.EXT_DEVICE_MEMORY_PROPERTIES: _V1_0,
    Extension.EXT_DEVICE_USABLEMEM_SIZE_PROPERTIES: _V1_0,
    Extension.EXT_DRIVER_DDI_HANDLES: _V1_1,
    Extension.EXT_EXTERNAL_MEMMAP_SYSMEM: _V1_0,
    Extension.EXT_IPC_MEM_HANDLE_TYPE: _V1_0,
    Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE: _V1_0,
    Extension.EXT_MEMORY_COMPRESSION_HINTS: _V1_0,
    Extension.EXT_MEMORY_FREE_POLICIES: _V1_0,
    Extension.EXT_PCI_PROPERTIES: _V1_0,
    Extension.EXT_RELAXED_ALLOCATION_LIMITS: _V1_0,
    Extension.EXT_VIRTUAL_MEM_READONLY_PROPERTIES: _V1_0,
}
"""Extensions that this driver has, and which version of each. Whoever adds one enters it."""
_CHAINED: Final[Mapping[type[ChainedProperties], Extension]] = {
    DriverDdiHandlesExtProperties: Extension.EXT_DRIVER_DDI_HANDLES,
    DriverMemoryFreeExtProperties: Extension.EXT_MEMORY_FREE_POLICIES,
}
SHARED: Final = IpcPropertyFlags.MEMORY | IpcPropertyFlags.EVENT_POOL
"""What this driver shares between processes. Whoever adds a kind enters it."""


def get_extension_properties(state: DriverState) -> list[DriverExtensionProperties]:
    """Return the extensions that this driver has and all of its devices offer to this process.

    What EMUZERO_DISABLE_EXTENSIONS names, or a device's specification leaves out, is not there.
    """
    offered = _offered(state)
    names = {extension_name(e): v for e, v in EXTENSION_VERSIONS.items() if e in offered}
    return [DriverExtensionProperties(name=name, version=names[name]) for name in sorted(names)]


def get_ipc_properties() -> DriverIpcProperties:
    """Return what processes may share (zeDriverGetIpcProperties)."""
    return DriverIpcProperties(flags=SHARED)


def get_properties(
    state: DriverState, p_next: Sequence[type[ChainedProperties] | UnknownDesc]
) -> DriverProperties:
    """Return what the driver is, with the structures that were asked for besides.

    Raises:
        ZeError: with profile `intel`, for a structure that the call does not know.
    """
    wanted = read_properties(state, p_next, _CHAINED, _offered(state))
    more = [_more_about(kind) for kind in wanted]
    return DriverProperties(uuid=DRIVER_UUID, driver_version=DRIVER_VERSION, p_next=more)


def _offered(state: DriverState) -> Extension:
    """Return the extensions that all devices offer to this process."""
    offered = ~Extension(0)
    for device in state.devices:
        offered &= device.extensions
    return offered


def _more_about(kind: type[ChainedProperties]) -> ChainedProperties:
    if kind is DriverDdiHandlesExtProperties:
        supported = DriverDdiHandleExtFlags.DDI_HANDLE_EXT_SUPPORTED
        return DriverDdiHandlesExtProperties(flags=supported)
    return DriverMemoryFreeExtProperties(free_policies=_policies())


def _policies() -> DriverMemoryFreePolicyExtFlags:
    flags = DriverMemoryFreePolicyExtFlags
    return flags.BLOCKING_FREE | flags.DEFER_FREE
