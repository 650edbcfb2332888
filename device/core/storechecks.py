"""What the object store refuses before it makes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.core.errors import DeviceError
from device.core.ports import PagesDeniedError
from firmware.abi.control import ObjectFlags, ObjectKind
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client


def check_kind(kind: ObjectKind, flags: ObjectFlags) -> None:
    """Refuse what OBJECT_CREATE cannot make."""
    if kind is ObjectKind.VRAM:
        check_flags(flags, ObjectFlags.DATA_DESCRIPTOR)
    elif kind is ObjectKind.SYSTEM:
        check_flags(flags, ObjectFlags.READ_ONLY)
    else:
        raise DeviceError(Status.UNSUPPORTED, kind)


def check_flags(flags: ObjectFlags, allowed: ObjectFlags) -> None:
    """Refuse flags other than none and the one that is allowed."""
    if flags is not ObjectFlags.NONE and flags is not allowed:
        raise DeviceError(Status.UNSUPPORTED, flags, allowed)


def check_size(size: int) -> None:
    """Refuse no bytes, and part of a page."""
    if size == 0:
        raise DeviceError(Status.BAD_RANGE, size, PAGE_SIZE)
    if size % PAGE_SIZE:
        raise DeviceError(Status.BAD_ALIGNMENT, size, PAGE_SIZE)


def probe(client: Client, address: int, size: int, *, write: bool) -> None:
    """Refuse pages of a client that the device cannot reach as asked."""
    if not client.port.pid:
        # Another PID namespace: the device has no name for that process.
        raise DeviceError(Status.PERMISSION, address)
    try:
        bad = client.port.pages.probe(address, size, write=write)
    except PagesDeniedError as error:
        raise DeviceError(Status.PERMISSION, address) from error
    if bad is not None:
        raise DeviceError(Status.CLIENT_MEMORY, bad)
