"""Checks of arguments, in the words and with the codes of the specification.

The order within a call is fixed: null handle, stale handle, null pointer, extension switched off,
enumeration, size, alignment, argument, state. The first that fails is the call's error.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from firmware.abi.extensions import Extension, extension_name
from firmware.abi.ids import PAGE_SIZE
from hostdriver.core.enums import IpcMemHandleTypeFlags, MemoryAccessAttribute
from hostdriver.core.failures import (
    invalid_argument,
    invalid_enumeration,
    null_handle,
    null_pointer,
    unsupported_alignment,
    unsupported_enumeration,
    unsupported_feature,
    unsupported_size,
)
from hostdriver.core.physical import MEDIUM_PAGE, PhysicalKind
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from enum import IntFlag

    from hostdriver.api.structures import (
        ChainedDesc,
        ChainedProperties,
        IpcMemHandleTypeExtDesc,
        UnknownDesc,
    )
    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.reservations import Reservation
    from hostdriver.core.state import DeviceState, DriverState

FlagsT = TypeVar("FlagsT", bound="IntFlag")
DescT = TypeVar("DescT", bound="ChainedDesc")
ADDRESS_LIMIT: Final = 1 << 64
_ATTRIBUTES: Final = frozenset(MemoryAccessAttribute)


def check_device(state: DriverState, index: int | None) -> DeviceState:
    """Return the device that a handle names.

    Raises:
        ZeError: the handle is null, or no such device exists.
    """
    if index is None:
        raise null_handle("hDevice")
    if not 0 <= index < len(state.devices):
        raise invalid_argument(
            f"there is no device {index}, expected 0 to {len(state.devices) - 1}"
        )
    return state.devices[index]


def check_physical(state: DriverState, physical: PhysicalObject | None) -> PhysicalObject:
    """Return a physical object that is alive and of this process.

    Raises:
        ZeError: the handle is null, was destroyed, or was made before a fork.
    """
    if physical is None:
        raise null_handle("hPhysicalMemory")
    if physical.destroyed or state.physical.get(physical.id) is not physical:
        raise invalid_argument(
            f"physical memory {physical.id} was destroyed, or belongs to another process"
        )
    return physical


def check_pointer(pointer: int | None, name: str = "ptr") -> int:
    """Return an address that is not null.

    Raises:
        ZeError: it is null, or no address at all.
    """
    if not pointer:
        raise null_pointer(name)
    if not 0 < pointer < ADDRESS_LIMIT:
        raise invalid_argument(f"{name} is {pointer:#x}, which is no 64-bit address")
    return pointer


def check_extension(device: DeviceState, extension: Extension) -> None:
    """Do nothing when the extension is on.

    Raises:
        ZeError: the device does not offer it, or the process switched it off.
    """
    if extension not in device.extensions:
        raise unsupported_feature(f"{extension_name(extension)} is not offered by this device")


def check_flags(kind: type[FlagsT], value: int, name: str) -> FlagsT:
    """Return a flag word without unknown bits.

    Raises:
        ZeError: a bit that the specification does not name.
    """
    # Plain numbers: operations on flags run through Python code of `enum`.
    plain, known = int(value), _known_bits(kind)
    if plain & ~known or plain < 0:
        raise invalid_enumeration(f"{name} is {plain:#x}, expected bits of {known:#x}")
    return value if isinstance(value, kind) else kind(value)


@cache
def _known_bits(kind: type[IntFlag]) -> int:
    """Return all bits that the specification names."""
    return sum(member.value for member in kind)


def check_handle_type(device: DeviceState, desc: IpcMemHandleTypeExtDesc) -> None:
    """Do nothing for a kind of IPC handle that there is.

    Raises:
        ZeError: the extension is off; an unknown flag; a handle for a fabric, which does not exist.
    """
    check_extension(device, Extension.EXT_IPC_MEM_HANDLE_TYPE)
    flags = check_flags(IpcMemHandleTypeFlags, desc.type_flags, "typeFlags")
    if IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE in flags:
        raise unsupported_feature("there is no fabric that could carry such a handle")


def check_access(value: int) -> MemoryAccessAttribute:
    """Return an access attribute.

    Raises:
        ZeError: a value that the specification does not name.
    """
    if value not in _ATTRIBUTES:
        wanted = ", ".join(f"{member.name}={member.value}" for member in MemoryAccessAttribute)
        raise invalid_enumeration(f"access is {value:#x}, expected {wanted}")
    return MemoryAccessAttribute(value)


def check_size(size: int, page: int, name: str = "size") -> None:
    """Do nothing for a size of whole pages.

    Raises:
        ZeError: it is 0, no multiple of the page size, or of more than 64 bits.
    """
    if size >= ADDRESS_LIMIT:
        raise unsupported_size(f"{name} is {size:#x}, expected 64 bits")
    if size <= 0:
        raise unsupported_size(f"{name} is {size}, expected more than 0")
    if size % page:
        raise unsupported_size(f"{name} is {size:#x}, expected a multiple of {page:#x}")


def check_alignment(value: int, page: int, name: str = "ptr") -> None:
    """Do nothing for an address or offset on a page.

    Raises:
        ZeError: it is no multiple of the page size.
    """
    if value % page:
        raise unsupported_alignment(f"{name} is {value:#x}, expected a multiple of {page:#x}")


def check_reserved(state: DriverState, start: int, size: int) -> Reservation:
    """Return the reservation that holds a whole range, and that nobody is about to free.

    Raises:
        ZeError: there is none.
    """
    entry = state.reservations.at(start)
    if entry is None or not entry.value.holds(start, size):
        where = "no reservation" if entry is None else f"the reservation at {entry.start:#x} only"
        raise invalid_argument(f"{size:#x} bytes at {start:#x} lie in {where} in part")
    if entry.value.leaving:
        raise invalid_argument(f"the reservation at {entry.start:#x} is being freed")
    return entry.value


def granularity_in(state: DriverState, start: int, size: int) -> int:
    """Return the page size of a range: smaller where host memory is mapped in it."""
    mappings = state.mappings.overlapping(start, start + max(size, 1))
    if any(entry.value.physical.kind is PhysicalKind.HOST for entry in mappings):
        return PAGE_SIZE
    return MEDIUM_PAGE


def read_chain(
    state: DriverState, chain: Sequence[ChainedDesc | UnknownDesc], known: Iterable[type[DescT]]
) -> list[DescT]:
    """Return the descriptors of known types; others are noted (`spec`) or refused (`intel`).

    Raises:
        ZeError: with profile `intel`, for a structure that the call does not know.
    """
    kinds = tuple(known)
    found: list[DescT] = []
    for desc in chain:
        if isinstance(desc, kinds):
            found.append(desc)
        else:
            _pass_over(state, desc.stype)
    return found


def read_properties(
    state: DriverState,
    chain: Sequence[type[ChainedProperties] | UnknownDesc],
    known: Mapping[type[ChainedProperties], Extension],
    offered: Extension,
) -> list[type[ChainedProperties]]:
    """Return the classes of a chain that the call knows; others as `read_chain` treats them.

    Args:
        state: the process.
        chain: what was asked for.
        known: the classes that the call knows, each with the extension that it belongs to.
        offered: extensions that are on; structures of another one are unknown.

    Raises:
        ZeError: with profile `intel`, for a structure that the call does not know.
    """
    found: list[type[ChainedProperties]] = []
    for item in chain:
        if isinstance(item, type) and item in known and known[item] in offered:
            found.append(item)
        else:
            _pass_over(state, item.stype)
    return found


def _pass_over(state: DriverState, stype: int) -> None:
    if state.profile is Profile.INTEL:
        raise unsupported_enumeration(f"structure {stype:#x} is not known to this call")
    state.note = f"structure {stype:#x} in the chain is not known and was ignored"
