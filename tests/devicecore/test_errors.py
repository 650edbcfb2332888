"""Errors say what went wrong, where, what was expected and what was found."""

from device.core.errors import DeviceError, EngineFault, MemoryFault, hex_address
from firmware.abi.faults import FaultReason
from firmware.abi.ids import Access
from firmware.abi.paging import Aperture
from firmware.abi.status import Status


def test_addresses_are_written_in_groups_of_four_digits() -> None:
    assert hex_address(0x7F12_3456_789A) == "0x7f12_3456_789a"
    assert hex_address(0) == "0x0"


def test_refusal_tells_status_and_numbers() -> None:
    error = DeviceError(Status.OVERLAP, 0x5000, 0x10)

    assert str(error) == "OVERLAP: detail 0x5000, expected 0x10"
    assert (error.status, error.detail, error.expected) == (Status.OVERLAP, 0x5000, 0x10)


def test_engine_fault_tells_access_address_and_entry() -> None:
    error = EngineFault(FaultReason.RIGHTS, 0x1_0000_0000, Access.READ | Access.WRITE, 1, 0x83)

    assert str(error) == "RIGHTS: READ|WRITE at va 0x1_0000_0000, level 1 entry 0x0000000000000083"


def test_engine_fault_without_a_walk_tells_no_entry() -> None:
    error = EngineFault(FaultReason.POISON, 0x5000, Access(0), detail=7)

    assert str(error) == "POISON: NONE at va 0x5000"
    assert error.detail == 7


def test_memory_fault_tells_the_virtual_address_where_it_is_known() -> None:
    error = MemoryFault(FaultReason.BAD_APERTURE, Aperture.BUS, 0x1_2345, Access.WRITE)

    assert str(error) == "BAD_APERTURE: WRITE at BUS address 0x1_2345"
    error.va = 0x7000_0000
    assert str(error) == "BAD_APERTURE: WRITE at BUS address 0x1_2345 (va 0x7000_0000)"
