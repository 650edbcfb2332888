"""What a device is, as far as its specification says; free memory is asked of the device itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.extensions import Extension
from hostdriver.api.device_structures import (
    DeviceIpVersionExt,
    DeviceMemoryExtProperties,
    DeviceMemoryProperties,
    DeviceProperties,
    DeviceReadonlyMemoryExtProperties,
    DeviceUsablememSizeExtProperties,
)
from hostdriver.api.validation import read_properties
from hostdriver.core.devicestatistics import device_statistics
from hostdriver.core.enums import DevicePropertyFlags, DeviceType
from hostdriver.core.query_enums import (
    BandwidthUnit,
    DeviceMemoryExtType,
    DeviceMemoryPropertyFlags,
    DeviceReadonlyMemoryCapability,
)
from hostdriver.core.results import Refusal, failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from firmware.abi.segment import SpecBlock
    from hostdriver.api.structures import ChainedProperties, UnknownDesc
    from hostdriver.core.state import DeviceState, DriverState

_TIMESTAMP_BITS: Final = 64
_PRIORITIES: Final = 3
_THREADS: Final = 8
_SIMD_WIDTH: Final = 16
_EXECUTION_UNITS: Final = 8
_SUBSLICES: Final = 8
_SLICES: Final = 1
_HERTZ: Final = 1_000_000
_BYTES_PER_NANOSECOND: Final = 1_000_000_000
MEMORY_NAME: Final = "VRAM"
_CHAINED: Final[Mapping[type[ChainedProperties], Extension]] = {
    DeviceIpVersionExt: Extension.EXT_DEVICE_IP_VERSION,
    DeviceReadonlyMemoryExtProperties: Extension.EXT_VIRTUAL_MEM_READONLY_PROPERTIES,
    DeviceUsablememSizeExtProperties: Extension.EXT_DEVICE_USABLEMEM_SIZE_PROPERTIES,
}
_CHAINED_TO_MEMORY: Final[Mapping[type[ChainedProperties], Extension]] = {
    DeviceMemoryExtProperties: Extension.EXT_DEVICE_MEMORY_PROPERTIES
}


class Identity(NamedTuple):
    """Which device is meant, and how it is seen."""

    device: int
    """Its number at the emulator."""
    sub_device: int | None = None
    """Which sub-device of it, where it is one."""
    is_part: bool = False
    """Whether the program sees it as a sub-device."""


def text_of(field: bytes) -> str:
    """Return a zero-padded field as text."""
    return field.rstrip(b"\0").decode(errors="replace")


def uuid_of(spec: SpecBlock, sub_device: int | None) -> bytes:
    """Return the identity of a device or sub-device: the last byte tells them apart."""
    return spec.uuid if sub_device is None else spec.uuid[:15] + bytes([sub_device + 1])


async def get_properties(
    state: DriverState,
    identity: Identity,
    p_next: Sequence[type[ChainedProperties] | UnknownDesc] = (),
) -> DeviceProperties:
    """Return what a device is, with the structures that were asked for besides.

    Args:
        state: the process.
        identity: the device.
        p_next: classes of chained structures: `DeviceIpVersionExt`, `DeviceReadonlyMemory...`,
            `DeviceUsablememSizeExtProperties`.

    Raises:
        ZeError: with profile `intel`, for a structure that the call does not know; the device is
            lost (only free memory asks it).
    """
    device = state.devices[identity.device]
    more = [
        await _more_about(device, kind)
        for kind in read_properties(state, p_next, _CHAINED, device.extensions)
    ]
    spec = device.spec
    flags = DevicePropertyFlags.ECC
    if identity.is_part:
        flags |= DevicePropertyFlags.SUBDEVICE
    return DeviceProperties(
        type=DeviceType.GPU,
        vendor_id=spec.vendor_id,
        device_id=spec.device_id,
        flags=flags,
        subdevice_id=identity.sub_device or 0,
        core_clock_rate=spec.core_clock_mhz,
        max_mem_alloc_size=spec.max_allocation_size,
        max_hardware_contexts=spec.max_spaces,
        max_command_queue_priority=_PRIORITIES - 1,
        num_threads_per_eu=_THREADS,
        physical_eu_simd_width=_SIMD_WIDTH,
        num_eus_per_subslice=_EXECUTION_UNITS,
        num_subslices_per_slice=_SUBSLICES,
        num_slices=_SLICES,
        timer_resolution=spec.timer_hz,
        timestamp_valid_bits=_TIMESTAMP_BITS,
        kernel_timestamp_valid_bits=_TIMESTAMP_BITS,
        uuid=uuid_of(spec, identity.sub_device),
        name=text_of(spec.name),
        p_next=more,
    )


def get_memory_properties(
    state: DriverState, index: int, p_next: Sequence[type[ChainedProperties] | UnknownDesc] = ()
) -> list[DeviceMemoryProperties]:
    """Return the memories of a device (zeDeviceGetMemoryProperties): one.

    Raises:
        ZeError: with profile `intel`, for a structure that the call does not know.
    """
    device = state.devices[index]
    spec = device.spec
    wanted = read_properties(state, p_next, _CHAINED_TO_MEMORY, device.extensions)
    memory = DeviceMemoryProperties(
        flags=DeviceMemoryPropertyFlags(0),
        max_clock_rate=spec.memory_clock_mhz,
        max_bus_width=spec.memory_bus_width,
        total_size=spec.vram_size,
        name=MEMORY_NAME,
        p_next=[_how_built(spec) for _ in wanted],
    )
    return [memory]


def peak_bandwidth(spec: SpecBlock) -> int:
    """Return the bytes a second that the memory of a device moves at most."""
    return spec.memory_bus_width // 8 * spec.memory_clock_mhz * _HERTZ


async def free_memory(index: int) -> int:
    """Return the bytes of device memory that are free at this moment.

    Raises:
        ZeError: the device is lost.
    """
    try:
        return (await device_statistics(index)).free_bytes
    except Refusal as refusal:
        raise failed(refusal, f"free memory of device {index} cannot be read") from refusal


async def _more_about(device: DeviceState, kind: type[ChainedProperties]) -> ChainedProperties:
    if kind is DeviceIpVersionExt:
        return DeviceIpVersionExt(ip_version=device.spec.ip_version)
    if kind is DeviceReadonlyMemoryExtProperties:
        capability = DeviceReadonlyMemoryCapability.ENFORCED
        return DeviceReadonlyMemoryExtProperties(readonly_capability=capability)
    return DeviceUsablememSizeExtProperties(curr_usable_mem_size=await free_memory(device.index))


def _how_built(spec: SpecBlock) -> DeviceMemoryExtProperties:
    bandwidth = peak_bandwidth(spec) // _BYTES_PER_NANOSECOND
    return DeviceMemoryExtProperties(
        type=DeviceMemoryExtType.HBM2E,
        physical_size=spec.vram_size,
        read_bandwidth=bandwidth,
        write_bandwidth=bandwidth,
        bandwidth_unit=BandwidthUnit.BYTES_PER_NANOSEC,
    )
