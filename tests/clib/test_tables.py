"""The tables that the library fills: slots of the caller's version and no more."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from hostdriver.clib.build import library

FOLDER = Path(__file__).parents[2] / "firmware" / "facts"
FACTS = json.loads((FOLDER / "level_zero.json").read_text("utf-8"))
FACTS["functions"] |= json.loads((FOLDER / "level_zero_sysman.json").read_text("utf-8"))[
    "functions"
]
MOVED = {
    "zesGetDeviceExpProcAddrTable": (0, (1, 12)),
    "zesGetDeviceProcAddrTable": (19, (1, 3)),
    "zesGetVFManagementExpProcAddrTable": (0, (1, 12)),
}
"""Slots that were other functions' for older callers, by the notes on the facts: from which on, and
before which version."""
SUCCESS = 0
UNSUPPORTED_VERSION = 0x7800_0002
INVALID_NULL_POINTER = 0x7800_0007
CANARY = 0xC0FF_EE00_C0FF_EE00
GETTERS = [name for name in FACTS["ddi_tables"] if not name.startswith("zet")]
DRIVER = ctypes.CDLL(str(library()))


def fill(getter: str, version: int, slot_count: int) -> tuple[int, list[int]]:
    table = (ctypes.c_uint64 * (slot_count + 8))(*[CANARY] * (slot_count + 8))
    result = getattr(DRIVER, getter)(ctypes.c_uint32(version), table)
    return result, list(table)


def slots_of(getter: str) -> list[str]:
    added = FACTS["ddi_tables_added_1_18"].get(getter, [])
    return [*FACTS["ddi_tables"][getter], *added]


def since(getter: str, slot: int) -> tuple[int, int] | None:
    for function in FACTS["functions"].values():
        if (function["ddi_table"], function["order_in_table"]) == (getter, slot):
            major, minor = function["added_in_version"].split(".")
            first, moved = MOVED.get(getter, (0, (0, 0)))
            found = int(major), int(minor)
            return max(found, moved) if slot >= first else found
    return None


@pytest.mark.parametrize("getter", GETTERS)
@pytest.mark.parametrize("minor", [0, 2, 3, 6, 11, 17, 18])
def test_only_the_slots_of_the_callers_version_are_written(getter: str, minor: int) -> None:
    slots = slots_of(getter)

    result, table = fill(getter, 1 << 16 | minor, len(slots))

    assert result == SUCCESS
    for number in range(len(slots)):
        version = since(getter, number)
        written = version is not None and version <= (1, minor)
        assert (table[number] != CANARY) == written, slots[number]
    assert table[len(slots) :] == [CANARY] * 8


@pytest.mark.parametrize("getter", GETTERS)
def test_each_slot_leads_to_the_function_of_its_name(getter: str) -> None:
    _, table = fill(getter, 1 << 16 | 18, len(slots_of(getter)))

    for name, function in FACTS["functions"].items():
        if function["ddi_table"] == getter:
            address = ctypes.cast(getattr(DRIVER, name), ctypes.c_void_p).value
            assert table[function["order_in_table"]] == address, name


def test_another_major_version_is_refused() -> None:
    result, table = fill("zeGetMemProcAddrTable", 2 << 16, 20)

    assert result & 0xFFFF_FFFF == UNSUPPORTED_VERSION
    assert set(table) == {CANARY}


def test_a_null_table_is_refused() -> None:
    result = DRIVER.zeGetMemProcAddrTable(ctypes.c_uint32(1 << 16), None)

    assert result & 0xFFFF_FFFF == INVALID_NULL_POINTER


def test_every_function_of_the_interface_is_exported() -> None:
    for name in FACTS["functions"]:
        assert getattr(DRIVER, name) is not None


def test_tables_of_an_interface_without_functions_are_there_and_stay_empty() -> None:
    getter = "zetGetDeviceProcAddrTable"

    assert fill(getter, 1 << 16 | 5, 8) == (SUCCESS, [CANARY] * 16)
    assert fill(getter, 2 << 16, 8) == (UNSUPPORTED_VERSION, [CANARY] * 16)
    assert getattr(DRIVER, getter)(ctypes.c_uint32(1 << 16), None) == INVALID_NULL_POINTER
