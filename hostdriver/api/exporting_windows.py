"""IPC, the exporter's side: handles of windows over any number of physical objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import Export
from firmware.abi.extensions import Extension
from firmware.abi.ipc import ExportKind
from firmware.abi.status import Status
from hostdriver.api.validation import ADDRESS_LIMIT, check_extension
from hostdriver.core.allocations import holder_of
from hostdriver.core.failures import address_not_found, invalid_argument, invalid_size
from hostdriver.core.handles import make_export
from hostdriver.core.physical import PhysicalKind
from hostdriver.core.results import Refusal, ZeResult, failed
from hostdriver.core.state import Profile
from hostdriver.core.system_memory import system_memory_in

if TYPE_CHECKING:
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.state import DeviceState, DriverState

_MEANINGS: Final = {Status.LIMIT: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE}


def check_window_size(state: DriverState, size: int) -> None:
    """Do nothing for a size that a window may have.

    Raises:
        ZeError: the extension is switched off; the size is 0.
    """
    check_extension(state.devices[0], Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE)
    if size <= 0:
        raise invalid_size(f"the range descriptor's size is {size}, expected more than 0")


def covering_allocation(state: DriverState, start: int, size: int) -> Allocation | None:
    """Return the allocation that has a plain handle in place of a window, by the profile.

    A driver of profile `intel` does that for one that holds the whole window.
    """
    if state.profile is not Profile.INTEL:
        return None
    found = holder_of(state, start)
    return found if found is not None and start + size <= found.start + found.size else None


async def get_window(state: DriverState, start: int, size: int) -> bytes:
    """Return a new handle for a window whose size was checked.

    Raises:
        ZeError: memory that is no reserved one anywhere in it (first), a hole; objects of two
            devices, or of both kinds with profile `intel`; more objects than the device exports; no
            descriptor left.
    """
    device = _check_window(state, start, size)
    command = Export(request=0, vmid=device.vmid, va=start, size_bytes=size)
    try:
        export = await make_export(state, device, command, ExportKind.RANGE)
    except Refusal as refusal:
        doing = f"the export of {size:#x} bytes at {start:#x}"
        raise failed(refusal, doing, _MEANINGS) from refusal
    state.exports.add(export)
    return export.handle


def _check_window(state: DriverState, start: int, size: int) -> DeviceState:
    """Return the device whose objects are mapped along a window.

    It finds holes in what was reserved by itself.
    """
    end = start + size
    if end > ADDRESS_LIMIT:
        raise address_not_found(f"{size:#x} bytes at {start:#x} pass the end of the address space")
    _check_reserved_only(state, start, end)
    entry = state.mappings.at(start)
    if entry is None:
        raise address_not_found(f"no physical memory is mapped at {start:#x}")
    if (outside := state.reservations.first_gap(start, end)) is not None:
        # The device may have something there: memory of the driver itself, or one that goes.
        raise address_not_found(f"no physical memory is mapped at {outside:#x}")
    if len(state.devices) > 1 or state.profile is Profile.INTEL:
        return state.devices[_common_device(state, start, end)]
    return state.devices[entry.value.physical.device]


def _check_reserved_only(state: DriverState, start: int, end: int) -> None:
    """Check that nothing but reserved memory stands anywhere in a window."""
    allocated = [entry.value for entry in state.allocations.overlapping(start, end)]
    if (found := next(iter([*allocated, *system_memory_in(state, start, end)]), None)) is not None:
        raise invalid_argument(
            f"the {found.kind.value} memory at {found.start:#x} was allocated, a window shows"
            " reserved memory only"
        )
    if (opened := next(state.imports.overlapping(start, end), None)) is not None:
        raise invalid_argument(
            f"the memory at {opened.value.pointer:#x} was opened from a handle, and is no reserved"
            " memory of this process"
        )


def _common_device(state: DriverState, start: int, end: int) -> int:
    """Return the first device that knows all objects along a window; host memory all know."""
    if (hole := state.mappings.first_gap(start, end)) is not None:
        raise address_not_found(f"no physical memory is mapped at {hole:#x}")
    objects = {entry.value.physical for entry in state.mappings.overlapping(start, end)}
    common = set(range(len(state.devices)))
    for source in objects:
        common &= {home.device for home in source.homes}
    if not common:
        raise invalid_argument("the window shows physical memory of more than one device")
    kinds = {source.kind for source in objects}
    if state.profile is Profile.INTEL and kinds == set(PhysicalKind):
        raise invalid_argument("the window shows physical memory of both device and host")
    return min(common)
