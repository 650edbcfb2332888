"""What Intel's bindings of the management interface tell of a device's memory.

They open the loader by one fixed path, where the system may have none: here it is found by name.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint32, c_void_p
from importlib import import_module
from pathlib import Path
from unittest import mock


class FoundByName(ctypes.CDLL):
    """A library that is looked for like every other, whatever folder was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(Path(name).name)


with mock.patch.object(ctypes, "CDLL", FoundByName):
    pyzes = import_module("pyzes")


def all_of(function: str, kind: type[c_void_p], *owner: object) -> list[object]:
    """Return the handles that a counted query gives."""
    count = c_uint32(0)
    assert getattr(pyzes, function)(*owner, byref(count), None) == 0, function
    found = (kind * count.value)()
    assert getattr(pyzes, function)(*owner, byref(count), found) == 0, function
    return [*found]


assert pyzes.zesInit(0) == 0
(driver,) = all_of("zesDriverGet", pyzes.zes_driver_handle_t)
(device,) = all_of("zesDeviceGet", pyzes.zes_device_handle_t, driver)
for module in all_of("zesDeviceEnumMemoryModules", pyzes.zes_mem_handle_t, device):
    state = pyzes.zes_mem_state_t()
    state.stype = pyzes.ZES_STRUCTURE_TYPE_MEM_STATE
    assert pyzes.zesMemoryGetState(module, byref(state)) == 0
    print(state.size, state.size - state.free < 1 << 20)
