"""Bus addresses: given out once, found fast, and nothing outside of them."""

from __future__ import annotations

import pytest

from device.core.errors import DeviceError, InternalError, InvariantError, MemoryFault
from device.core.memory import BusSpace, FileWindow, PagesWindow
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.paging import Aperture
from firmware.abi.status import Status
from tests.harness.memory import ClientPages


def window_of(size: int) -> PagesWindow:
    """Return a window of any size without memory behind it."""
    return PagesWindow(ClientPages(0, 0), 0, size)


def test_window_is_found_with_the_offset_of_the_address() -> None:
    bus = BusSpace()
    windows = [window_of(size) for size in (1, PAGE_SIZE, 5000, 1 << 21)]
    addresses = [bus.register(window, owner=1) for window in windows]

    for window, address in zip(windows, addresses, strict=True):
        assert bus.find(address, window.size) == (window, 0)
        assert bus.find(address + window.size - 1, 1) == (window, window.size - 1)
    bus.check()


@pytest.mark.parametrize(
    ("size", "alignment"),
    [
        (1, PAGE_SIZE),
        ((1 << 16) - 1, PAGE_SIZE),
        (1 << 16, 1 << 16),
        (3 << 20, 1 << 21),
        (1 << 30, 1 << 30),
    ],
)
def test_large_windows_are_aligned_so_that_large_leaves_fit(size: int, alignment: int) -> None:
    bus = BusSpace()
    bus.register(window_of(1), owner=1)

    address = bus.register(window_of(size), owner=1)

    assert address
    assert address % alignment == 0


def test_windows_never_touch() -> None:
    bus = BusSpace()
    first = bus.register(window_of(PAGE_SIZE), owner=1)
    second = bus.register(window_of(PAGE_SIZE), owner=1)

    assert second >= first + 2 * PAGE_SIZE
    with pytest.raises(MemoryFault) as fault:
        bus.find(first + 4000, 8192, writing=True)
    assert fault.value.reason is FaultReason.BAD_APERTURE
    assert fault.value.aperture is Aperture.BUS
    assert fault.value.address == first + PAGE_SIZE
    assert fault.value.access is Access.WRITE


@pytest.mark.case("D02")
@pytest.mark.parametrize("distance", [-1, 10, PAGE_SIZE])
def test_address_outside_of_every_window_is_no_memory(distance: int) -> None:
    bus = BusSpace()
    address = bus.register(window_of(10), owner=1)
    bus.find(address, 10)

    with pytest.raises(MemoryFault) as fault:
        bus.find(address + distance, 1)

    assert fault.value.address == address + distance
    assert fault.value.access is Access.READ


def test_empty_bus_has_no_memory() -> None:
    with pytest.raises(MemoryFault, match="BAD_APERTURE: READ at BUS address 0x5000"):
        BusSpace().find(0x5000, 1)


def test_window_is_gone_at_once_when_it_is_unregistered() -> None:
    bus = BusSpace()
    window = window_of(PAGE_SIZE)
    address = bus.register(window, owner=1)
    bus.find(address, 1)

    assert bus.unregister(address) is window

    bus.check()
    with pytest.raises(MemoryFault):
        bus.find(address, 1)
    with pytest.raises(InternalError, match="no window begins"):
        bus.unregister(address)


@pytest.mark.parametrize("beside", [0x7F00_0000_3000, 0x7F00_0012_3000, 0x7F00_0000_0000])
def test_a_window_stands_as_its_virtual_addresses_do_where_leaves_begin(beside: int) -> None:
    bus = BusSpace()
    bus.register(window_of(PAGE_SIZE), owner=1)

    small = bus.register(window_of(2 << 16), 1, beside)
    large = bus.register(window_of(4 << 20), 1, beside)

    assert small % (1 << 16) == beside % (1 << 16)
    assert large % (2 << 20) == beside % (2 << 20)
    bus.check()


def test_address_is_not_given_out_again_at_once() -> None:
    bus = BusSpace()
    seen = set[int]()

    for _ in range(100):
        address = bus.register(window_of(PAGE_SIZE), owner=1)
        bus.unregister(address)
        seen.add(address)

    assert len(seen) == 100


def test_space_is_used_again_once_the_search_has_gone_around() -> None:
    bus = BusSpace(start=0x10000, limit=0x18000)
    addresses = [bus.register(window_of(PAGE_SIZE), owner=1) for _ in range(4)]
    assert addresses == [0x10000, 0x12000, 0x14000, 0x16000]
    with pytest.raises(DeviceError) as refusal:
        bus.register(window_of(PAGE_SIZE), owner=1)
    assert refusal.value.status is Status.LIMIT

    bus.unregister(0x12000)
    bus.check()
    assert bus.register(window_of(PAGE_SIZE), owner=1) == 0x12000
    bus.unregister(0x10000)
    bus.unregister(0x12000)
    assert bus.register(window_of(0x3000), owner=1) == 0x10000
    bus.check()


def test_gap_that_is_too_small_is_passed_over() -> None:
    bus = BusSpace(start=0x10000, limit=0x20000)
    small, large, _ = (bus.register(window_of(size), owner=1) for size in (0x1000, 0x6000, 0x5000))
    bus.unregister(small)
    bus.unregister(large)

    # Between the start and the last window: room for 0x8000 with a page to spare.
    assert bus.register(window_of(0x8000), owner=1) == small
    bus.check()


def test_window_without_bytes_is_refused() -> None:
    with pytest.raises(InternalError, match="0 bytes"):
        BusSpace().register(window_of(0), owner=1)


def test_read_only_window_refuses_writes_only() -> None:
    bus = BusSpace()
    window = FileWindow(memoryview(bytearray(64)), read_only=True)
    address = bus.register(window, owner=1)

    assert bus.find(address, 64) == (window, 0)
    with pytest.raises(MemoryFault) as fault:
        bus.find(address + 8, 8, writing=True)
    assert fault.value.reason is FaultReason.RIGHTS
    assert fault.value.address == address + 8


def test_file_that_cannot_be_written_makes_a_read_only_window() -> None:
    assert FileWindow(memoryview(b"constant")).read_only


def test_owner_of_a_window_is_known() -> None:
    bus = BusSpace()
    first = bus.register(window_of(1), owner=7)
    second = bus.register(window_of(1), owner=8)

    assert [bus.owner_of(first), bus.owner_of(second)] == [7, 8]
    with pytest.raises(InternalError):
        bus.owner_of(first + PAGE_SIZE)


def test_statistics_follow_the_windows() -> None:
    bus = BusSpace()
    address = bus.register(window_of(100), owner=1)
    bus.register(window_of(50), owner=1)
    assert (bus.statistics().window_count, bus.statistics().registered_bytes) == (2, 150)

    bus.unregister(address)

    assert (bus.statistics().window_count, bus.statistics().registered_bytes) == (1, 50)


def test_file_can_be_released_once_its_window_is_gone() -> None:
    data = bytearray(PAGE_SIZE)
    view = memoryview(data)
    bus = BusSpace()
    address = bus.register(FileWindow(view), owner=1)
    bus.find(address, 1)

    bus.unregister(address)
    view.release()

    data.extend(b"no view is left that would forbid this")


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("bus._entries.reverse()", "out of its place"),
        ("bus._starts[0] += 1", "search keys"),
        ("bus._bytes += 1", "another sum"),
        ("bus._entries[1].window.size += 1", "changed its size"),
        ("bus._limit = 0", "out of its place"),
    ],
)
def test_check_finds_damage(damage: str, text: str) -> None:
    bus = BusSpace()
    for _ in range(2):
        bus.register(window_of(PAGE_SIZE), owner=1)
    bus.check()

    exec(damage, {"bus": bus})  # noqa: S102 - the damage is the case's parameter

    with pytest.raises(InvariantError, match=text):
        bus.check()
