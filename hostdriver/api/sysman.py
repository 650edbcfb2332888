"""Managing devices: what a device is as a card, and how its memory is doing at this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.device_queries import Identity, get_properties, peak_bandwidth, uuid_of
from hostdriver.api.driver_queries import DRIVER_VERSION
from hostdriver.api.sysman_structures import (
    CardProperties,
    MemBandwidth,
    MemProperties,
    MemState,
    SysmanDeviceExtProperties,
    SysmanDeviceProperties,
)
from hostdriver.core.devicestatistics import device_statistics
from hostdriver.core.failures import invalid_argument
from hostdriver.core.results import Refusal, failed
from hostdriver.core.sysman_enums import (
    MemHealth,
    MemLoc,
    MemType,
    SysmanDevicePropertyFlags,
    SysmanDeviceType,
)

if TYPE_CHECKING:
    from firmware.abi.segment import SpecBlock
    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.core.state import DriverState

UNKNOWN: Final = "unknown"
_UNKNOWN_COUNT: Final = -1
_NANOSECONDS: Final = 1_000
"""In a microsecond, the unit of these counters' times."""


async def get_device_properties(state: DriverState, index: int) -> SysmanDeviceProperties:
    """Return what a device is as a whole (zesDeviceGetProperties).

    Raises:
        ZeError: the device is lost.
    """
    core = await get_properties(state, Identity(index))
    card = CardProperties(
        num_subdevices=state.devices[index].spec.subdevice_count,
        serial_number=UNKNOWN,
        board_number=UNKNOWN,
        brand_name=UNKNOWN,
        model_name=core.name,
        vendor_name=UNKNOWN,
        driver_version=f"{DRIVER_VERSION >> 24}.{DRIVER_VERSION >> 16 & 0xFF}",
    )
    return SysmanDeviceProperties(core, card)


def get_device_ext_properties(spec: SpecBlock) -> SysmanDeviceExtProperties:
    """Return what is chained to the properties of a device."""
    return SysmanDeviceExtProperties(
        uuid=uuid_of(spec, None),
        type=SysmanDeviceType.GPU,
        flags=SysmanDevicePropertyFlags.ECC,
    )


def find_by_uuid(state: DriverState, uuid: bytes) -> Identity:
    """Return the device or sub-device that has an identity (zesDriverGetDeviceByUuidExp).

    Raises:
        ZeError: no device of the driver has it.
    """
    for device in state.devices:
        for part in (None, *range(device.spec.subdevice_count)):
            if uuid_of(device.spec, part) == uuid:
                return Identity(device.index, part)
    raise invalid_argument(f"uuid {uuid.hex()} is that of no device")


def get_memory_properties(spec: SpecBlock) -> MemProperties:
    """Return what the memory of a device is: there is one, for the whole device."""
    return MemProperties(
        type=MemType.HBM,
        on_subdevice=False,
        subdevice_id=0,
        location=MemLoc.DEVICE,
        physical_size=spec.vram_size,
        bus_width=spec.memory_bus_width,
        num_channels=_UNKNOWN_COUNT,
    )


async def get_memory_state(index: int) -> MemState:
    """Return how much memory a device has, and how much of it is free.

    Raises:
        ZeError: the device is lost.
    """
    found = await _statistics(index)
    return MemState(
        health=MemHealth.CRITICAL if found.retired_bytes else MemHealth.OK,
        free=found.free_bytes,
        size=found.vram_size - found.retired_bytes,
    )


async def get_memory_bandwidth(state: DriverState, index: int) -> MemBandwidth:
    """Return what the engines of a device moved from and to its memory since it was started.

    Raises:
        ZeError: the device is lost.
    """
    found = await _statistics(index)
    return MemBandwidth(
        read_counter=found.bytes_read,
        write_counter=found.bytes_written,
        max_bandwidth=peak_bandwidth(state.devices[index].spec),
        timestamp=found.uptime_ticks // _NANOSECONDS,
    )


async def _statistics(index: int) -> DeviceStatistics:
    try:
        return await device_statistics(index)
    except Refusal as refusal:
        raise failed(refusal, f"the counters of device {index} cannot be read") from refusal
