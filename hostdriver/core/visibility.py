"""Which devices a program sees: what its environment says of them.

ZE_FLAT_DEVICE_HIERARCHY says what counts as a device:

COMPOSITE  the devices; each has its sub-devices (the default)
FLAT       sub-devices in place of the devices that have them, without a way to those
COMBINED   the same list, and the way from a sub-device to its device and back

ZE_AFFINITY_MASK names what of that list is seen, by numbers: `0,2`, and with COMPOSITE also single
sub-devices, `0.1,1`. A device of which one sub-device alone is seen is seen as if it were whole.
What there is not is passed over; the rest keeps its order and is counted anew.
ZE_ENABLE_PCI_ID_DEVICE_ORDER puts devices in the order of their PCI addresses before all of that.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from firmware.abi.segment import SpecBlock

HIERARCHY_VARIABLE: Final = "ZE_FLAT_DEVICE_HIERARCHY"
MASK_VARIABLE: Final = "ZE_AFFINITY_MASK"
ORDER_VARIABLE: Final = "ZE_ENABLE_PCI_ID_DEVICE_ORDER"
_ENTRY: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")


class Hierarchy(Enum):
    """What counts as a device."""

    COMPOSITE = "COMPOSITE"
    FLAT = "FLAT"
    COMBINED = "COMBINED"


class MaskEntry(NamedTuple):
    """One entry of the mask."""

    number: int
    sub_device: int | None


class Visibility(NamedTuple):
    """What a program's environment says."""

    hierarchy: Hierarchy = Hierarchy.COMPOSITE
    mask: tuple[MaskEntry, ...] | None = None
    """None: everything is seen."""
    by_pci: bool = False


EVERYTHING: Final = Visibility()


class Seen(NamedTuple):
    """One device of the list that a program sees."""

    device: int
    """Number of the device at the emulator."""
    sub_device: int | None = None
    """Which sub-device of it, where it is one."""
    children: tuple[int, ...] = ()
    """Sub-devices that are seen below it."""


def read_visibility(environment: Mapping[str, str]) -> Visibility:
    """Return what the environment of a program says; an empty variable is as none.

    Raises:
        ZeError: a variable that says nothing which has a meaning.
    """
    hierarchy = environment.get(HIERARCHY_VARIABLE, "") or Hierarchy.COMPOSITE.value
    if hierarchy not in Hierarchy.__members__:
        wanted = ", ".join(Hierarchy.__members__)
        raise invalid_argument(f"{HIERARCHY_VARIABLE} is {hierarchy!r}, expected {wanted}")
    order = environment.get(ORDER_VARIABLE, "")
    if order not in {"", "0", "1"}:
        raise invalid_argument(f"{ORDER_VARIABLE} is {order!r}, expected 0 or 1")
    mask = environment.get(MASK_VARIABLE, "")
    return Visibility(
        hierarchy=Hierarchy(hierarchy),
        mask=_read_mask(mask) if mask else None,
        by_pci=order == "1",
    )


def seen_devices(specs: Sequence[SpecBlock], visibility: Visibility) -> tuple[Seen, ...]:
    """Return the devices that a program sees, in their order."""
    order = list(range(len(specs)))
    if visibility.by_pci:
        order.sort(key=lambda index: specs[index].pci_address)
    if visibility.hierarchy is not Hierarchy.COMPOSITE:
        parts = [
            Seen(index, part) for index in order for part in _parts(specs[index].subdevice_count)
        ]
        return tuple(seen for number, seen in enumerate(parts) if _is_named(visibility, number))
    found: list[Seen] = []
    for number, index in enumerate(order):
        count = specs[index].subdevice_count
        children = tuple(part for part in range(count) if _is_named(visibility, number, part))
        if len(children) == 1 < count:
            found.append(Seen(index, children[0]))
        elif children or (not count and _is_named(visibility, number)):
            found.append(Seen(index, None, children))
    return tuple(found)


def _parts(count: int) -> Sequence[int | None]:
    return range(count) if count else (None,)


def _is_named(visibility: Visibility, number: int, part: int | None = None) -> bool:
    mask = visibility.mask
    return mask is None or any(
        entry.number == number and entry.sub_device in {None, part} for entry in mask
    )


def _read_mask(text: str) -> tuple[MaskEntry, ...]:
    entries: list[MaskEntry] = []
    for item in text.split(","):
        match = _ENTRY.fullmatch(item.strip())
        if match is None:
            raise invalid_argument(
                f"{MASK_VARIABLE} is {text!r}, expected numbers of devices such as 0 or 0.1,"
                " separated by commas"
            )
        entries.append(MaskEntry(int(match[1]), None if match[2] is None else int(match[2])))
    return tuple(entries)
