"""What a device specification may say: ranges, powers of two, and what must fit together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from firmware.abi.ids import PAGE_SIZE, PageSizes

if TYPE_CHECKING:
    from device.core.spec import DeviceSpec

MAX_VRAM: Final = 1 << 40
MAX_DEVICES: Final = 64
"""Devices of one emulator: what the peer field of a page-table entry can name."""
MAX_SUB_DEVICES: Final = 8
MAX_QUEUES: Final = 1023
"""Doorbell words of one page, without the control ring's."""

_RANGES: Final = {
    "vram_size": (16 * PAGE_SIZE, MAX_VRAM),
    "max_allocation_size": (PAGE_SIZE, MAX_VRAM),
    "channels": (1, 64),
    "banks": (1, 64),
    "interleave_bytes": (64, PAGE_SIZE),
    "tlb_entries": (1, 1 << 20),
    "copy_engines": (1, 64),
    "compute_engines": (0, 64),
    "devices": (1, MAX_DEVICES),
    "sub_devices": (0, MAX_SUB_DEVICES),
    "chunk_bytes": (PAGE_SIZE, 1 << 30),
    "slice_commands": (1, 1 << 16),
    "max_clients": (1, 4096),
    "max_queues": (1, MAX_QUEUES),
    "max_spaces": (1, 1 << 16),
    "max_objects": (1, 1 << 24),
    "max_range_objects": (0, 1 << 24),
    "min_ring_entries": (2, 1 << 16),
    "max_ring_entries": (2, 1 << 16),
    "fence_count": (1, 1 << 16),
    "vendor_id": (0, 0xFFFF),
    "device_id": (0, 0xFFFF),
    "memory_bus_width": (1, 1 << 16),
    "memory_clock_mhz": (1, 1 << 16),
    "core_clock_mhz": (1, 1 << 16),
    "cache_size": (0, MAX_VRAM),
    "ip_version": (0, 0xFFFF_FFFF),
}
_LATENCIES: Final = ("command_ticks", "copy_ticks_per_kib", "control_ticks")
_MAX_TICKS: Final = 10**12
_POWERS_OF_TWO: Final = (
    "channels",
    "banks",
    "interleave_bytes",
    "tlb_entries",
    "min_ring_entries",
    "max_ring_entries",
)
_MULTIPLES_OF_PAGES: Final = ("vram_size", "max_allocation_size", "chunk_bytes")
_PCI_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


class Profile(IntEnum):
    """Whose behaviour the driver shows where documents and real drivers differ."""

    SPEC = 0
    INTEL = 1


class MappableHandles(IntEnum):
    """Whether programs may map device memory by the descriptor in its handle."""

    PROFILE = 0
    """As the profile has it: with `intel` they may."""
    ALWAYS = 1
    """They may."""
    NEVER = 2
    """The descriptor names the memory and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Model time that work takes, in ticks (nanoseconds); 0 runs as fast as the host can."""

    command_ticks: int = 0
    """Each work command."""
    copy_ticks_per_kib: int = 0
    """Each KiB that a copy or fill moves."""
    control_ticks: int = 0
    """Each control command."""


class SpecError(ValueError):
    """A specification that no device can have."""

    def __init__(self, key: str, expected: str, found: object) -> None:
        super().__init__(f"device specification: {key}: expected {expected}, found {found}")
        self.key = key
        self.expected = expected
        self.found = found


def check_spec(spec: DeviceSpec) -> None:
    """Check every value of a specification, and that they fit together.

    Raises:
        SpecError: the first value that no device can have.
    """
    for key, (low, high) in _RANGES.items():
        _check_whole(key, getattr(spec, key), low, high)
    for key in _POWERS_OF_TWO:
        value: int = getattr(spec, key)
        if value & (value - 1):
            raise SpecError(key, "a power of two", value)
    for key in _MULTIPLES_OF_PAGES:
        size: int = getattr(spec, key)
        if size % PAGE_SIZE:
            raise SpecError(key, f"a multiple of {PAGE_SIZE:#x}", f"{size:#x}")
    _check_latencies(spec.latencies)
    _check_name(spec.name)
    _check_switch("ecc", spec.ecc)
    _check_switch("copy_group", spec.copy_group)
    _check_pci_address(spec.pci_address)
    _check_together(spec)


def _check_whole(key: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SpecError(key, f"a whole number from {low} to {high}", repr(value))


def _check_latencies(latencies: Latencies) -> None:
    for key in _LATENCIES:
        _check_whole(f"latencies.{key}", getattr(latencies, key), 0, _MAX_TICKS)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 0 < len(name.encode()) < 64 or "\0" in name:
        raise SpecError("name", "1 to 63 bytes of UTF-8", repr(name))


def _check_switch(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise SpecError(key, "true or false", repr(value))


def _check_pci_address(address: object) -> None:
    if not isinstance(address, str) or not _PCI_ADDRESS.fullmatch(address):
        raise SpecError("pci_address", "domain:bus:device.function in hex", repr(address))
    if int(address[5:7], 16) + MAX_DEVICES > 0x100:
        raise SpecError("pci_address", f"a bus up to {0x100 - MAX_DEVICES:#x}", address)


def _check_together(spec: DeviceSpec) -> None:
    if not spec.page_sizes & PageSizes.SMALL:
        raise SpecError("page_sizes", "4 KiB among them", _sizes_text(spec.page_sizes))
    if spec.min_ring_entries > spec.max_ring_entries:
        limit = f"at most max_ring_entries ({spec.max_ring_entries})"
        raise SpecError("min_ring_entries", limit, spec.min_ring_entries)


def _sizes_text(sizes: PageSizes) -> str:
    """Return page sizes as a file has them."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    names: list[str] = []
    for size in sizes:
        unit, name = next(unit for unit in units if size >= unit[0])
        names.append(f"{size // unit} {name}")
    return ", ".join(names) or "none"
