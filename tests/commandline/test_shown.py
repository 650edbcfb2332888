"""What is said of arguments and results."""

from __future__ import annotations

import pytest

from hostdriver import levelzero as ze
from hostdriver.cli.demo.shown import shown
from hostdriver.cli.demo.watched import function_name
from hostdriver.testing.pair import pair


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (9, "9"),
        (0x7F00_1234_5678, "0x7f00_1234_5678"),
        (b"1", "1 byte"),
        (memoryview(bytearray(8)).cast("I"), "8 bytes"),
        ("text", "text"),
        ([1, b"22"], "[1, 2 bytes]"),
        (["a", "b", "c", "d"], "[4 str]"),
        (ze.MemoryAccessAttribute.READWRITE, "READWRITE"),
        (ze.PhysicalMemFlags(0), "0"),
        (ze.DeviceMemAllocDesc(), "DeviceMemAllocDesc()"),
        (ze.AddressRange(0x1000, 2), "AddressRange(base=0x1000, size=2)"),
        (
            ze.PhysicalMemDesc(0x20000, p_next=[ze.IpcMemHandleTypeExtDesc()]),
            "PhysicalMemDesc(size=0x2_0000, p_next=[IpcMemHandleTypeExtDesc()])",
        ),
    ],
)
def test_values_are_shown_as_people_read_them(value: object, text: str) -> None:
    assert shown(value) == text


def test_objects_are_shown_by_their_numbers() -> None:
    with pair() as p, p.driver.create_context() as context:
        device = p.driver.devices[0]
        physical = context.physical_mem_create(device, ze.PhysicalMemDesc(1 << 16))

        assert shown(device) == "device 0"
        assert shown(physical) == f"object {physical.record.id}"
        assert shown(context) == "a context"
        context.physical_mem_destroy(physical)


@pytest.mark.parametrize(
    ("owner", "name", "function"),
    [
        (ze.Context, "virtual_mem_map", "zeVirtualMemMap"),
        (ze.Context, "mem_get_ipc_handle_with_properties", "zeMemGetIpcHandleWithProperties"),
        (ze.Context, "destroy", "zeContextDestroy"),
        (ze.Context, "memory_read", "memory_read"),
        (ze.Driver, "create_context", "zeContextCreate"),
        (ze.Driver, "get_last_error_description", "zeDriverGetLastErrorDescription"),
        (ze.Device, "get_properties", "zeDeviceGetProperties"),
    ],
)
def test_methods_are_called_what_the_specification_calls_them(
    owner: type, name: str, function: str
) -> None:
    assert function_name(owner, name) == function
