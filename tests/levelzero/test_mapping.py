"""Mapping physical memory: what the device is told, every refusal, and nothing half done."""

import pytest

from firmware.abi.control import Map, Unmap
from firmware.abi.ids import ALL_RIGHTS
from firmware.abi.status import Status
from hostdriver.api import mapping, physical_memory, virtual_memory
from hostdriver.core.enums import MemoryAccessAttribute as Access
from hostdriver.core.physical import PhysicalObject
from hostdriver.core.questions import MapDescriptor
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import HOST, LARGE, PAGE, fails, map_at, mapped, physical, reserve


def attempt(
    session: FakeSession,
    state: DriverState,
    ptr: int | None,
    source: PhysicalObject | None,
    size: int = PAGE,
    offset: int = 0,
    access: int = Access.READWRITE,
) -> None:
    session.run(mapping.map_memory(state, ptr, size, source, offset, access))


def test_device_is_told_object_offset_and_rights(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 4 * PAGE)
    source = physical(session, state, 2 * PAGE)

    map_at(session, state, va + PAGE, source, PAGE, PAGE)

    (command,) = session.commands(Map)
    assert (command.va, command.size_bytes) == (va + PAGE, PAGE)
    assert (command.object_id, command.object_offset) == (source.object_id, PAGE)
    assert command.rights == ALL_RIGHTS
    assert virtual_memory.get_access(state, va + PAGE, PAGE) == (Access.READWRITE, PAGE)
    state.check()


@pytest.mark.decision("C17")
def test_one_object_may_be_mapped_often(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 2 * PAGE)
    source = physical(session, state, PAGE)

    map_at(session, state, va, source)
    map_at(session, state, va + PAGE, source)

    assert source.mapping_count == 2


@pytest.mark.decision("C17", profile="intel")
def test_intel_maps_a_device_object_once(session: FakeSession, intel: DriverState) -> None:
    va = reserve(session, intel, 4 * PAGE)
    device, host = physical(session, intel, PAGE), physical(session, intel, PAGE, HOST)
    map_at(session, intel, va, device)
    map_at(session, intel, va + PAGE, host)
    map_at(session, intel, va + 2 * PAGE, host)

    with fails("INVALID_ARGUMENT", "mapped already"):
        attempt(session, intel, va + 3 * PAGE, device)


def test_host_memory_is_mapped_for_the_cpu_at_the_same_address(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, 3 * 4096, HOST)
    assert source.descriptor is not None

    map_at(session, state, va, source, 4096, 8192)

    assert session.questions(MapDescriptor) == [MapDescriptor(source.descriptor, 8192, va, 4096)]


def test_device_memory_is_not_mapped_for_the_cpu(session: FakeSession, state: DriverState) -> None:
    mapped(session, state)

    assert session.questions(MapDescriptor) == []


@pytest.mark.error("VirtualMemMap", "NH", "NP", "IE", "US", "UA", "IA")
@pytest.mark.decision("C6", "C30")
def test_handles_pointers_values_are_judged_in_order(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, 4 * LARGE)
    source = physical(session, state, 2 * PAGE)
    gone = physical(session, state, PAGE)
    session.run(physical_memory.destroy(state, gone))
    attempts = [
        (None, None, 0, 1, 9, "INVALID_NULL_HANDLE"),
        (None, gone, 0, 1, 9, "INVALID_ARGUMENT"),
        (None, source, 0, 1, 9, "INVALID_NULL_POINTER"),
        (va + 1, source, 0, 1, 9, "INVALID_ENUMERATION"),
        (va + 1, source, 0, 1, 1, "UNSUPPORTED_SIZE"),
        (va + 1, source, PAGE + 1, 1, 1, "UNSUPPORTED_SIZE"),
        (va + 1, source, 4096, 1, 1, "UNSUPPORTED_SIZE"),
        (va + 1, source, PAGE, 1, 1, "UNSUPPORTED_ALIGNMENT"),
        (va, source, PAGE, 4096, 1, "UNSUPPORTED_ALIGNMENT"),
        (va, source, 2 * PAGE, PAGE, 1, "INVALID_ARGUMENT"),
        (va, source, PAGE, -PAGE, 1, "INVALID_ARGUMENT"),
        (va + 4 * LARGE, source, PAGE, 0, 1, "INVALID_ARGUMENT"),
        (va + 4 * LARGE - PAGE, source, 2 * PAGE, 0, 1, "INVALID_ARGUMENT"),
        (1 << 40, source, PAGE, 0, 1, "INVALID_ARGUMENT"),
    ]
    for ptr, target, size, offset, access, name in attempts:
        with fails(name):
            attempt(session, state, ptr, target, size, offset, access)
    assert len(state.mappings) == 0
    assert session.commands(Map) == []


def test_large_mappings_stand_on_large_pages(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 2 * LARGE)
    source = physical(session, state, LARGE)

    with fails("UNSUPPORTED_ALIGNMENT", hex(LARGE)):
        attempt(session, state, va + PAGE, source, LARGE)
    map_at(session, state, va + LARGE, source, LARGE)


@pytest.mark.error("VirtualMemMap", "IA")
def test_mapped_addresses_are_not_mapped_again(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state, 2)
    source = physical(session, state, 4 * PAGE)

    with fails("INVALID_ARGUMENT", f"mapped at {va:#x}"):
        attempt(session, state, va + PAGE, source)
    assert source.mapping_count == 0


@pytest.mark.error("Any function", "IA")
def test_object_of_another_process_is_stale(session: FakeSession, state: DriverState) -> None:
    stranger = physical(session, session.state(), PAGE)

    with fails("INVALID_ARGUMENT", "another process"):
        attempt(session, state, reserve(session, state, PAGE), stranger)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (Status.OUT_OF_DEVICE_MEMORY, "OUT_OF_DEVICE_MEMORY"),
        (Status.LIMIT, "OUT_OF_DEVICE_MEMORY"),
        (Status.OVERLAP, "INVALID_ARGUMENT"),
        (Status.INTERNAL, "DEVICE_LOST"),
    ],
)
def test_refusal_of_the_device_leaves_nothing_mapped(
    session: FakeSession, state: DriverState, status: Status, name: str
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    session.run(virtual_memory.set_access(state, va, PAGE, Access.READONLY))
    session.refuse(Map, status, detail=va)

    with fails(name, hex(va)):
        attempt(session, state, va, source)

    assert len(state.mappings) == source.mapping_count == 0
    assert virtual_memory.get_access(state, va, PAGE).access is Access.READONLY
    state.check()
    map_at(session, state, va, source)


def test_mapping_that_fails_for_the_cpu_is_undone_on_the_device(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE, HOST)
    session.script(MapDescriptor, "a process may have 65530 mappings")

    with fails("OUT_OF_HOST_MEMORY", "65530"):
        attempt(session, state, va, source)

    assert [(c.va, c.size_bytes) for c in session.commands(Unmap)] == [(va, PAGE)]
    assert source.mapping_count == 0
    state.check()


def test_lost_device_leaves_the_books_as_they_were(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    session.script(Map, ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "the device is gone"))

    with fails("DEVICE_LOST"):
        attempt(session, state, va, source)
    state.check()


def test_coroutine_that_is_dropped_leaves_the_books_as_they_were(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    operation = mapping.map_memory(state, va, PAGE, source, 0, Access.READWRITE)
    operation.send(None)
    assert source.mapping_count == 1

    operation.close()

    assert source.mapping_count == 0
    state.check()
