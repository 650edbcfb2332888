"""Structures about managing devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hostdriver.api.device_structures import DeviceProperties
    from hostdriver.core.sysman_enums import (
        MemHealth,
        MemLoc,
        MemType,
        SysmanDevicePropertyFlags,
        SysmanDeviceType,
    )


class CardProperties(NamedTuple):
    """What a device is as a piece of hardware; "unknown" where it tells nothing."""

    num_subdevices: int
    serial_number: str
    board_number: str
    brand_name: str
    model_name: str
    vendor_name: str
    driver_version: str


class SysmanDeviceProperties(NamedTuple):
    """What a device is as a whole."""

    core: DeviceProperties
    card: CardProperties


class SysmanDeviceExtProperties(NamedTuple):
    """Chained to `SysmanDeviceProperties`."""

    uuid: bytes
    """That of the core's device."""
    type: SysmanDeviceType
    flags: SysmanDevicePropertyFlags


class MemProperties(NamedTuple):
    """What a memory is."""

    type: MemType
    on_subdevice: bool
    subdevice_id: int
    """Which sub-device it belongs to, where it belongs to one."""
    location: MemLoc
    physical_size: int
    """Bytes."""
    bus_width: int
    """Bits."""
    num_channels: int
    """-1: nobody tells."""


class MemState(NamedTuple):
    """How a memory is doing at one moment."""

    health: MemHealth
    free: int
    """Bytes that nothing holds."""
    size: int
    """Bytes that can be allocated at all."""


class MemBandwidth(NamedTuple):
    """What was moved from and to a memory until one moment."""

    read_counter: int
    """Bytes."""
    write_counter: int
    """Bytes."""
    max_bandwidth: int
    """Bytes a second."""
    timestamp: int
    """Microseconds of the device's own clock: good for differences alone."""
