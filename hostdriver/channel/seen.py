"""The devices that one program sees, by the numbers of their handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.visibility import MASK_VARIABLE, Hierarchy, seen_devices

if TYPE_CHECKING:
    from hostdriver.core.state import DriverState


class DeviceRecord(NamedTuple):
    """One device or sub-device, as a program sees it."""

    device: int
    """Number of the device at the emulator."""
    sub_device: int | None = None
    is_part: bool = False
    """Whether the program sees it as a sub-device."""
    parent: int = 0
    """Number of its root device's handle; 0: it is one itself."""
    children: tuple[int, ...] = ()
    """Numbers of its sub-devices' handles."""
    is_listed: bool = True
    """Whether zeDeviceGet names it."""


def devices_of(state: DriverState) -> dict[int, DeviceRecord]:
    """Return what a program sees by number: the listed ones first, from 1 on, in their order.

    Raises:
        ZeError: the program's environment leaves no device.
    """
    seen = seen_devices([device.spec for device in state.devices], state.facts.visibility)
    if not seen:
        text = f"{MASK_VARIABLE} leaves none of {len(state.devices)} devices"
        raise ZeError(ZeResult.ZE_RESULT_ERROR_UNINITIALIZED, text)
    records: dict[int, DeviceRecord] = {}
    unlisted = len(seen)
    is_combined = state.facts.visibility.hierarchy is Hierarchy.COMBINED
    roots: dict[int, int] = {}
    for number, one in enumerate(seen, 1):
        if is_combined and one.sub_device is not None:
            root = roots.get(one.device)
            if root is None:
                unlisted += 1
                root = roots[one.device] = unlisted
                records[root] = DeviceRecord(one.device, is_listed=False)
            records[number] = DeviceRecord(one.device, one.sub_device, is_part=True, parent=root)
            before = records[root]
            records[root] = before._replace(children=(*before.children, number))
            continue
        children: list[int] = []
        for child in one.children:
            unlisted += 1
            children.append(unlisted)
            records[unlisted] = DeviceRecord(
                one.device, child, is_part=True, parent=number, is_listed=False
            )
        records[number] = DeviceRecord(one.device, one.sub_device, children=tuple(children))
    return records
