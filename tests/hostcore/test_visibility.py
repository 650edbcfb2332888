"""Which devices a program sees, by its environment."""

import pytest

from hostdriver.core.visibility import Hierarchy, Seen, read_visibility, seen_devices
from tests.harness.fake_session import spec_block
from tests.harness.levelzero import fails

WHOLE = spec_block(pci_address=0x500)
TILED = spec_block(pci_address=0x300, subdevice_count=2)


def seen(mask: str = "", hierarchy: str = "", order: str = "") -> tuple[Seen, ...]:
    visibility = read_visibility(
        {
            "ZE_AFFINITY_MASK": mask,
            "ZE_FLAT_DEVICE_HIERARCHY": hierarchy,
            "ZE_ENABLE_PCI_ID_DEVICE_ORDER": order,
        }
    )
    return seen_devices((WHOLE, TILED), visibility)


def test_without_variables_everything_is_seen_as_it_is() -> None:
    assert seen_devices((WHOLE, TILED), read_visibility({})) == (Seen(0), Seen(1, None, (0, 1)))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("0", (Seen(0),)),
        ("1", (Seen(1, None, (0, 1)),)),
        ("1,0", (Seen(0), Seen(1, None, (0, 1)))),
        ("1.0,1.1", (Seen(1, None, (0, 1)),)),
        ("1.1", (Seen(1, 1),)),
        (" 1.0 , 0 ", (Seen(0), Seen(1, 0))),
        ("7", ()),
        ("0.0", ()),
        ("1.5", ()),
    ],
)
def test_mask_of_devices_and_sub_devices(mask: str, expected: tuple[Seen, ...]) -> None:
    assert seen(mask) == expected


@pytest.mark.parametrize("hierarchy", ["FLAT", "COMBINED"])
def test_sub_devices_stand_in_place_of_their_device(hierarchy: str) -> None:
    assert seen("", hierarchy) == (Seen(0), Seen(1, 0), Seen(1, 1))
    assert seen("2,0", hierarchy) == (Seen(0), Seen(1, 1))


def test_devices_in_the_order_of_their_addresses() -> None:
    assert seen(order="1") == (Seen(1, None, (0, 1)), Seen(0))
    assert seen("1", order="1") == (Seen(0),)
    assert seen(order="0") == seen()


def test_hierarchy_is_read() -> None:
    assert read_visibility({"ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}).hierarchy is Hierarchy.FLAT


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ZE_AFFINITY_MASK", "first"),
        ("ZE_AFFINITY_MASK", "0,"),
        ("ZE_AFFINITY_MASK", "-1"),
        ("ZE_AFFINITY_MASK", "0.1.2"),
        ("ZE_FLAT_DEVICE_HIERARCHY", "flat"),
        ("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "yes"),
    ],
)
def test_what_means_nothing_is_refused(variable: str, value: str) -> None:
    with fails("INVALID_ARGUMENT", variable, repr(value)):
        read_visibility({variable: value})
