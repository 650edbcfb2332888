"""The device specification: every size, limit and latency of one device, checked when it is made.

`docs/device.toml` shows every key with its default.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final, Self

from device.core._spec_checks import Latencies, MappableHandles, Profile, SpecError, check_spec
from device.core._spec_file import parse_values
from firmware.abi.extensions import Extension
from firmware.abi.ids import VA_BITS, PageSizes
from firmware.abi.segment import SpecBlock

if TYPE_CHECKING:
    from firmware.abi.boot import FirmwareLimits

ALL_PAGE_SIZES: Final = PageSizes.SMALL | PageSizes.MEDIUM | PageSizes.LARGE | PageSizes.HUGE
DEFAULT_EXTENSIONS: Final = (
    Extension.EXP_EVENT_POOL_COUNTER_BASED
    | Extension.EXP_RELAXED_ALLOCATION_LIMITS
    | Extension.EXP_SUB_ALLOCATIONS
    | Extension.EXT_DEVICE_IP_VERSION
    | Extension.EXT_DEVICE_MEMORY_PROPERTIES
    | Extension.EXT_DEVICE_USABLEMEM_SIZE_PROPERTIES
    | Extension.EXT_DRIVER_DDI_HANDLES
    | Extension.EXT_EXTERNAL_MEMMAP_SYSMEM
    | Extension.EXT_IPC_MEM_HANDLE_TYPE
    | Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE
    | Extension.EXT_MEMORY_COMPRESSION_HINTS
    | Extension.EXT_MEMORY_FREE_POLICIES
    | Extension.EXT_PCI_PROPERTIES
    | Extension.EXT_RELAXED_ALLOCATION_LIMITS
    | Extension.EXT_VIRTUAL_MEM_READONLY_PROPERTIES
)
TIMER_HZ: Final = 1_000_000_000
"""The device counts time in nanoseconds (register CLOCK)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """What one device is.

    Raises:
        SpecError: a value that no device can have, naming key, expectation and finding.
    """

    name: str = "emuzero virtual GPU"
    profile: Profile = Profile.SPEC
    extensions: Extension = DEFAULT_EXTENSIONS

    vram_size: int = 8 << 30
    """Device memory in bytes."""
    max_allocation_size: int = 4 << 30
    """Largest object without relaxed limits, in bytes (at most VRAM); the driver applies it."""
    page_sizes: PageSizes = ALL_PAGE_SIZES
    channels: int = 8
    banks: int = 16
    """Banks of each channel."""
    interleave_bytes: int = 256
    """Bytes after which addresses go to the next channel."""
    ecc: bool = True
    mappable_handles: MappableHandles = MappableHandles.PROFILE
    """Whether the descriptor in a handle of device memory is a file of that memory alone."""
    tlb_entries: int = 4096
    """Translations that the TLB of an address space holds."""

    copy_engines: int = 2
    compute_engines: int = 1
    copy_group: bool = True
    """Whether there is a group of queues that can only copy, beside the one that computes too."""
    devices: int = 1
    """How many devices like this an emulator has, where nobody says otherwise."""
    sub_devices: int = 0
    """Parts of the device that programs may address, all with its memory; 0: it is whole."""
    chunk_bytes: int = 32 << 20
    """Largest part of a copy that runs without giving way."""
    slice_commands: int = 64
    """Commands of one ring before another has its turn."""

    max_clients: int = 64
    max_queues: int = 1023
    max_spaces: int = 64
    max_objects: int = 1 << 20
    """Objects of a client; also parts of objects in all of its exports, and in all its imports."""
    max_range_objects: int = 0
    """Objects that one exported range may hold; 0: no limit."""
    min_ring_entries: int = 16
    max_ring_entries: int = 8192
    fence_count: int = 1024

    vendor_id: int = 0x8086
    device_id: int = 0xE0E0
    pci_address: str = "0000:03:00.0"
    """Address of the emulator's first device; each further one has the next bus."""
    memory_bus_width: int = 4096
    memory_clock_mhz: int = 3200
    core_clock_mhz: int = 1600
    cache_size: int = 16 << 20
    ip_version: int = 0x030F_0007
    latencies: Latencies = field(default_factory=Latencies)

    def __post_init__(self) -> None:
        check_spec(self)

    @property
    def has_mappable_handles(self) -> bool:
        """Whether handles of device memory carry it, as they do with the public driver."""
        if self.mappable_handles is MappableHandles.PROFILE:
            return self.profile is Profile.INTEL
        return self.mappable_handles is MappableHandles.ALWAYS

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Return the specification that a TOML document describes; what it omits is the default.

        Raises:
            SpecError: no TOML, an unknown key, or a value that no device can have.
        """
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            # Not only what is no TOML: numbers of thousands of digits, brackets nested as deep.
            raise SpecError("file", "TOML", str(error)) from error
        parse_values(values, [item.name for item in fields(cls)])
        return cls(**values)

    def limited(self, limits: FirmwareLimits) -> DeviceSpec:
        """Return the specification with the lower of its own and a firmware's limits.

        Raises:
            SpecError: together they leave nothing, as when the smallest ring exceeds the largest.
        """
        return replace(
            self,
            max_clients=min(self.max_clients, limits.max_clients),
            max_queues=min(self.max_queues, limits.max_queues),
            max_spaces=min(self.max_spaces, limits.max_spaces),
            max_objects=min(self.max_objects, limits.max_objects),
            min_ring_entries=max(self.min_ring_entries, limits.min_ring_entries),
            max_ring_entries=min(self.max_ring_entries, limits.max_ring_entries),
            fence_count=min(self.fence_count, limits.fence_count),
        )

    def pci_number(self, device_index: int = 0) -> int:
        """Return domain << 16 | bus << 8 | device << 3 | function of one device."""
        domain, bus, rest = self.pci_address.split(":")
        device, function = rest.split(".")
        first = int(domain, 16) << 16 | int(bus, 16) << 8 | int(device, 16) << 3 | int(function)
        return first + (device_index << 8)

    def uuid(self, device_index: int = 0) -> bytes:
        """Return the identity of one device: the same in every process, different for each."""
        parts = (self.vendor_id, 2), (self.device_id, 2), (0, 2), (self.pci_number(device_index), 4)
        identity = b"".join(value.to_bytes(size, "little") for value, size in parts)
        return identity.ljust(16, b"\0")

    def to_block(self, device_index: int = 0) -> SpecBlock:
        """Return the record by which a driver learns what the device is."""
        return SpecBlock(
            name=self.name.encode().ljust(64, b"\0"),
            uuid=self.uuid(device_index),
            vendor_id=self.vendor_id,
            device_id=self.device_id,
            pci_address=self.pci_number(device_index),
            subdevice_count=self.sub_devices,
            vram_size=self.vram_size,
            max_allocation_size=min(self.max_allocation_size, self.vram_size),
            va_bits=VA_BITS,
            page_sizes=int(self.page_sizes),
            timer_hz=TIMER_HZ,
            extensions=int(self.extensions),
            profile=int(self.profile),
            copy_engine_count=self.copy_engines,
            compute_engine_count=self.compute_engines,
            max_queues=self.max_queues,
            max_spaces=self.max_spaces,
            max_objects=self.max_objects,
            max_range_objects=self.max_range_objects,
            min_ring_entries=self.min_ring_entries,
            max_ring_entries=self.max_ring_entries,
            memory_bus_width=self.memory_bus_width,
            memory_clock_mhz=self.memory_clock_mhz,
            core_clock_mhz=self.core_clock_mhz,
            ip_version=self.ip_version,
            copy_group=int(self.copy_group),
            cache_size=self.cache_size,
            mappable_handles=int(self.has_mappable_handles),
        )


__all__ = [
    "ALL_PAGE_SIZES",
    "DEFAULT_EXTENSIONS",
    "TIMER_HZ",
    "DeviceSpec",
    "Latencies",
    "MappableHandles",
    "Profile",
    "SpecError",
]
