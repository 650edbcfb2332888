"""Devices: what each one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from hostdriver.api.structures import DeviceMemoryProperties, DeviceProperties
from hostdriver.core.enums import DevicePropertyFlags, DeviceType

if TYPE_CHECKING:
    from firmware.abi.extensions import Extension
    from firmware.abi.segment import SpecBlock
    from hostdriver.core.state import DriverState

_TIMESTAMP_BITS: Final = 64
_PRIORITIES: Final = 3
MEMORY_NAME: Final = "VRAM"


def text_of(field: bytes) -> str:
    """Return a zero-padded field as text."""
    return field.rstrip(b"\0").decode(errors="replace")


def get_properties(spec: SpecBlock) -> DeviceProperties:
    """Return what a device is (zeDeviceGetProperties)."""
    return DeviceProperties(
        type=DeviceType.GPU,
        vendor_id=spec.vendor_id,
        device_id=spec.device_id,
        flags=DevicePropertyFlags.ECC,
        subdevice_id=0,
        core_clock_rate=spec.core_clock_mhz,
        max_mem_alloc_size=spec.max_allocation_size,
        max_hardware_contexts=spec.max_spaces,
        max_command_queue_priority=_PRIORITIES - 1,
        timer_resolution=spec.timer_hz,
        timestamp_valid_bits=_TIMESTAMP_BITS,
        uuid=spec.uuid,
        name=text_of(spec.name),
    )


def get_memory_properties(spec: SpecBlock) -> list[DeviceMemoryProperties]:
    """Return the memories of a device (zeDeviceGetMemoryProperties): one."""
    memory = DeviceMemoryProperties(
        max_clock_rate=spec.memory_clock_mhz,
        max_bus_width=spec.memory_bus_width,
        total_size=spec.vram_size,
        name=MEMORY_NAME,
    )
    return [memory]


@final
class Device:
    """One device of the driver.

    A handle without state: what it says is constant while the emulator runs.
    """

    __slots__ = ("_spec", "extensions", "index")

    def __init__(self, state: DriverState, index: int) -> None:
        self.index = index
        """Its number."""
        self._spec = state.devices[index].spec
        self.extensions: Extension = state.devices[index].extensions
        """Extensions that it offers to this process."""

    def __repr__(self) -> str:
        return f"<Device {self.index}: {text_of(self._spec.name)}>"

    def get_properties(self) -> DeviceProperties:
        """Return what the device is (zeDeviceGetProperties)."""
        return get_properties(self._spec)

    def get_memory_properties(self) -> list[DeviceMemoryProperties]:
        """Return its memories (zeDeviceGetMemoryProperties)."""
        return get_memory_properties(self._spec)
